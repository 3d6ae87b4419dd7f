package fleet

import (
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/internal/wording"
)

// RenderInit is what fleet init prints: with hosts nothing but their lines, so that each
// can be handed on as it is.
func RenderInit(doc InitDocument) string {
	if len(doc.Hosts) == 0 {
		return fmt.Sprintf("the shared memory at %s is set up (%s, words by %s)\n", wording.Visible(doc.Server), wording.Visible(doc.Engine), wording.Visible(doc.Words))
	}
	var b strings.Builder
	for _, h := range doc.Hosts {
		fmt.Fprintf(&b, "%s: sessctl fleet join %s\n", wording.Visible(h.Host), h.Line)
	}
	return b.String()
}

// RenderJoin is what fleet join prints.
func RenderJoin(doc JoinDocument) string {
	host := wording.Visible(doc.Host)
	text := fmt.Sprintf("this host is %s of the shared memory at %s, which has %s of it\n", host, wording.Visible(doc.Server), wording.Plural(doc.ThereNow, "record"))
	if doc.Schedule != "" {
		text += fmt.Sprintf("the profile %s pushes: sessctl schedule status\n", doc.Schedule)
	}
	return text
}
