package cmd

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// manualOptions are the flags of manual.
type manualOptions struct {
	DryRun bool
}

// manualDocument is `manual --json`.
type manualDocument struct {
	Schema int      `json:"schema"`
	DryRun bool     `json:"dry_run"`
	Dir    string   `json:"dir"`
	Files  []string `json:"files"` // below dir, with slashes
}

// manualFile is one file of the manual.
type manualFile struct {
	path string // below the directory, with slashes
	text []byte
}

func newManualCommand(a *app) *cobra.Command {
	var o manualOptions
	c := &cobra.Command{
		Use:   "manual DIR",
		Short: "Write the man pages and the completions of the shells",
		Long: `Write a man page for every command and every topic, and the completions of
bash, zsh, fish and PowerShell, into a directory such as /usr/share or
~/.local/share, each where it is looked for:

  man/man1, man/man7                      man sessctl-compact, man 7 sessctl-files
  bash-completion/completions/sessctl     bash, with bash-completion
  zsh/site-functions/_sessctl             zsh, if the directory is in fpath
  fish/vendor_completions.d/sessctl.fish  fish
  powershell/sessctl.ps1                  PowerShell: run it from $PROFILE

Files of an earlier version are replaced. The same build writes the same bytes:
the date is that of the commit, or of SOURCE_DATE_EPOCH.
` + exitHelp,
		Example: `  sessctl manual ~/.local/share --dry-run
  sessctl manual ~/.local/share`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return runManual(a, o, args[0])
		},
	}
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "print what would be written and change nothing")
	return c
}

func runManual(a *app, o manualOptions, dir string) error {
	date, err := buildDate(a.getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	files, err := manualFiles(date)
	if err != nil {
		return fmt.Errorf("make the manual: %w", err)
	}
	written := manualDocument{Schema: 1, DryRun: o.DryRun, Dir: dir}
	for _, f := range files {
		if !o.DryRun {
			if err := f.write(dir); err != nil {
				return err
			}
		}
		written.Files = append(written.Files, f.path)
		if !a.JSON {
			if _, err := fmt.Fprintln(a.Out, filepath.Join(dir, filepath.FromSlash(f.path))); err != nil {
				return err
			}
		}
	}
	if a.JSON {
		return a.printJSON(written)
	}
	return nil
}

func (f manualFile) write(dir string) error {
	path := filepath.Join(dir, filepath.FromSlash(f.path))
	if err := durable.MakeDir(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return durable.ReplaceFile(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(f.text)
		return err
	})
}

// buildDate is the day that the pages bear: epoch in seconds, as builds that are
// to be reproducible give it, or else that of the commit. It is zero where nobody
// knows: the clock would make every build another one.
func buildDate(epoch string) (time.Time, error) {
	if epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return time.Time{}, usageError("give it seconds since 1970, or unset it", "SOURCE_DATE_EPOCH: %q is not a whole number", epoch)
		}
		return time.Unix(seconds, 0).UTC(), nil
	}
	info, _ := debug.ReadBuildInfo()
	date, err := time.Parse(time.RFC3339, resolveVersion(version, info).Date)
	if err != nil {
		return time.Time{}, nil //nolint:nilerr // a build that does not know its commit
	}
	return date.UTC(), nil
}

// manualFiles makes all of the manual.
func manualFiles(date time.Time) ([]manualFile, error) {
	root := newRootCommand(&app{invocation: &invocation{}})
	files, err := commandPages(root, date)
	if err != nil {
		return nil, err
	}
	for _, t := range topics() {
		files = append(files, topicPage(t, date))
	}
	completions, err := completionFiles(newRootCommand(&app{invocation: &invocation{}}))
	return append(files, completions...), err
}

// commandPages are the man pages of a command and of those below it.
func commandPages(c *cobra.Command, date time.Time) (files []manualFile, err error) {
	for _, below := range c.Commands() {
		if !below.IsAvailableCommand() || below.Name() == "help" {
			continue
		}
		more, err := commandPages(below, date)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	page, err := commandPage(c, date)
	return append(files, page), err
}

// unknownDate is what the library prints of a zero time.
const unknownDate = `"Jan 0001"`

func commandPage(c *cobra.Command, date time.Time) (manualFile, error) {
	c.DisableAutoGenTag = true
	c.InitDefaultHelpFlag()
	c.Long = markdown(cmp.Or(c.Long, c.Short))
	c.Short = escapeMarkdown(c.Short)
	c.LocalFlags().VisitAll(escapeUsage)
	if !c.HasParent() {
		c.Long += topicsMarkdown()
	}
	var text bytes.Buffer
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "sessctl " + programVersion(), Manual: "sessctl"}
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
	for _, t := range topics() {
		text += "**sessctl-" + t.name + "(7)**\n\t" + escapeMarkdown(t.short) + "\n\n"
	}
	return text
}

func topicPage(t topic, date time.Time) manualFile {
	day := ""
	if !date.IsZero() {
		day = date.Format("Jan 2006")
	}
	name := "sessctl-" + t.name
	text := fmt.Sprintf("%% %q \"7\" %q %q \"sessctl\"\n# NAME\n%s \\- %s\n\n# DESCRIPTION\n%s\n\n# SEE ALSO\n**sessctl(1)**\n",
		strings.ToUpper(name), day, "sessctl "+programVersion(), name, escapeMarkdown(t.short), markdown(t.text()))
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
