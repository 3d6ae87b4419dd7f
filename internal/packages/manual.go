package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/sessctl/sessctl/cmd"
)

// manual is what is said of the program: for whom, and when it was built.
type manual struct {
	version string
	date    time.Time // zero where nobody knows: the clock would make every build another one
}

// manualFile is one file of the manual.
type manualFile struct {
	path string // below the directory, with slashes
	text []byte
}

// writeManual writes a man page for every command and every topic, and the
// completions of the shells, below a directory such as /usr/share, each where it is
// looked for. The same commit gives the same bytes: the date is epoch, in seconds,
// as SOURCE_DATE_EPOCH has it.
func writeManual(dir, version, epoch string) error {
	m := manual{version: version}
	if epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a whole number of seconds", epoch)
		}
		m.date = time.Unix(seconds, 0).UTC()
	}
	files, err := m.files()
	if err != nil {
		return fmt.Errorf("make the manual: %w", err)
	}
	for _, f := range files {
		if err := f.write(dir); err != nil {
			return err
		}
	}
	return nil
}

func (f manualFile) write(dir string) error {
	path := filepath.Join(dir, filepath.FromSlash(f.path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, f.text, 0o644); err != nil {
		return err
	}
	return os.Chmod(path, 0o644) // whatever the umask: the packages have the mode of this file
}

// files makes all of the manual.
func (m manual) files() ([]manualFile, error) {
	files, err := m.commandPages(cmd.CommandTree())
	if err != nil {
		return nil, err
	}
	for _, t := range cmd.Topics() {
		files = append(files, m.topicPage(t))
	}
	completions, err := completionFiles(cmd.CommandTree())
	return append(files, completions...), err
}

// commandPages are the man pages of a command and of those below it.
func (m manual) commandPages(c *cobra.Command) (files []manualFile, err error) {
	for _, below := range c.Commands() {
		if !below.IsAvailableCommand() || below.Name() == "help" {
			continue
		}
		more, err := m.commandPages(below)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	page, err := m.commandPage(c)
	return append(files, page), err
}

// unknownDate is what the library prints of a zero time.
const unknownDate = `"Jan 0001"`

func (m manual) commandPage(c *cobra.Command) (manualFile, error) {
	c.DisableAutoGenTag = true
	c.InitDefaultHelpFlag()
	c.Long = markdown(cmp.Or(c.Long, c.Short))
	c.Short = escapeMarkdown(c.Short)
	c.LocalFlags().VisitAll(escapeUsage)
	if !c.HasParent() {
		c.Long += topicsMarkdown()
	}
	var text bytes.Buffer
	header := &doc.GenManHeader{Section: "1", Date: &m.date, Source: "sessctl " + m.version, Manual: "sessctl"}
	err := doc.GenMan(c, header, &text)
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	return manualFile{path: "man/man1/" + name + ".1", text: bytes.Replace(text.Bytes(), []byte(unknownDate), []byte(`""`), 1)}, err
}

// escapeUsage makes the text of a flag Markdown, once: flags that commands share
// are met with each of them. Code in a usage names the flag's value.
func escapeUsage(f *pflag.Flag) {
	const escaped = "markdown"
	if f.Annotations[escaped] != nil {
		return
	}
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[escaped] = []string{}
	parts := strings.Split(f.Usage, "`")
	for i := range parts {
		parts[i] = escapeMarkdown(parts[i])
	}
	f.Usage = strings.Join(parts, "**")
	if len(parts)%2 == 0 { // a backquote that nothing closes
		f.Usage = strings.Join(parts, "")
	}
}

// topicsMarkdown names the pages of the topics, for the page of the program.
func topicsMarkdown() string {
	text := "\n\n# TOPICS\n"
	for _, t := range cmd.Topics() {
		text += "**sessctl-" + t.Name + "(7)**\n\t" + escapeMarkdown(t.Short) + "\n\n"
	}
	return text
}

func (m manual) topicPage(t cmd.Topic) manualFile {
	day := ""
	if !m.date.IsZero() {
		day = m.date.Format("Jan 2006")
	}
	name := "sessctl-" + t.Name
	text := fmt.Sprintf("%% %q \"7\" %q %q \"sessctl\"\n# NAME\n%s \\- %s\n\n# DESCRIPTION\n%s\n\n# SEE ALSO\n**sessctl(1)**\n",
		strings.ToUpper(name), day, "sessctl "+m.version, name, escapeMarkdown(t.Short), markdown(t.Text))
	return manualFile{path: "man/man7/" + name + ".7", text: md2man.Render([]byte(text))}
}

// markdown makes plain text, as help prints it, Markdown that reads the same:
// what is indented stays as it stands, the rest are paragraphs.
func markdown(plain string) string {
	var blocks []string
	for block := range strings.SplitSeq(strings.Trim(plain, "\n"), "\n\n") {
		if strings.HasPrefix(block, "  ") {
			blocks = append(blocks, "```\n"+block+"\n```")
			continue
		}
		blocks = append(blocks, escapeMarkdown(block))
	}
	return strings.Join(blocks, "\n\n")
}

func escapeMarkdown(text string) string {
	return markdownSigns.Replace(text)
}

var markdownSigns = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, ">", `\>`, "[", `\[`, "]", `\]`, "#", `\#`, "`", "\\`", "~", `\~`)

// completionFiles are the scripts of the shells, where each looks for them.
func completionFiles(root *cobra.Command) (files []manualFile, err error) {
	for _, shell := range []struct {
		path  string
		write func(io.Writer) error
	}{
		{"bash-completion/completions/sessctl", func(w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
		{"zsh/site-functions/_sessctl", root.GenZshCompletion},
		{"fish/vendor_completions.d/sessctl.fish", func(w io.Writer) error { return root.GenFishCompletion(w, true) }},
		{"powershell/sessctl.ps1", root.GenPowerShellCompletionWithDesc},
	} {
		var text bytes.Buffer
		if err := shell.write(&text); err != nil {
			return nil, err
		}
		files = append(files, manualFile{path: shell.path, text: text.Bytes()})
	}
	return files, nil
}
