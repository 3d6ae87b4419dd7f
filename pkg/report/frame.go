package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	"github.com/sessctl/sessctl/pkg/printable"
)

//go:embed base.css
var baseStyle string

// Mark is how every document begins: by it a file is known as one of ours.
const Mark = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="sessctl">
`

// frame is what stands around every document: its head, with our style and the
// policy that forbids all but that and our script.
type frame struct{ style, script string }

// policy allows the style and the script by their hashes, and nothing else: no
// request, no other script, no frame, no form.
func (f frame) policy() string {
	return fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", hashOf(f.style), hashOf(f.script))
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// open writes the head. Style and policy are our own text, without a part that
// comes from elsewhere; the title is escaped with the rest of the document.
func (f frame) open(w io.Writer) error {
	_, err := io.WriteString(w, Mark+`<meta http-equiv="Content-Security-Policy" content="`+f.policy()+`">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>`+f.style+`</style>
`)
	return err
}

// close writes the script and the end.
func (f frame) close(w io.Writer) error {
	_, err := io.WriteString(w, "<script>"+f.script+"</script>\n</body>\n</html>\n")
	return err
}

// renderPart renders one template and makes what came of it printable: whatever a
// value holds, no control character and no broken byte gets out.
func renderPart(w io.Writer, t *template.Template, name string, data any) error {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, data); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	_, err := io.WriteString(w, printable.Text(b.String()))
	return err
}
