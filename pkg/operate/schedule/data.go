package schedule

import (
	"html"
	"strings"
)

// dataOption is the option of the command line of every job that names its data
// directory.
const dataOption = "--data-dir"

// dataDirectory is the data directory that the command in a file of ours names, ""
// if it names none.
func dataDirectory(text string, m Manager) string {
	switch m {
	case Launchd:
		_, rest, _ := strings.Cut(text, "<string>"+dataOption+"</string>")
		_, rest, _ = strings.Cut(rest, "<string>")
		word, _, _ := strings.Cut(rest, "</string>")
		return html.UnescapeString(word)
	case Cron:
		_, rest, _ := strings.Cut(strings.ReplaceAll(text, `\%`, "%"), " "+dataOption+" ")
		return shellUnquoted(rest)
	}
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "ExecStart="); ok {
			_, rest, _ := strings.Cut(command, " "+dataOption+" ")
			return strings.NewReplacer("%%", "%", "$$", "$").Replace(unitUnquoted(rest))
		}
	}
	return ""
}

// unitUnquoted is the first word of a list that [unitWord] has written.
func unitUnquoted(text string) string {
	if !strings.HasPrefix(text, `"`) {
		word, _, _ := strings.Cut(strings.TrimSuffix(text, "\n"), " ")
		return word
	}
	var word strings.Builder
	for i := 1; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		word.WriteByte(text[i])
	}
	return word.String()
}

// shellUnquoted is the first word of a command that [ShellWord] has quoted.
func shellUnquoted(text string) string {
	var word strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'':
			quoted = !quoted
		case c == '\\' && !quoted && i+1 < len(text):
			i++
			word.WriteByte(text[i])
		case !quoted && (c == ' ' || c == '\n'):
			return word.String()
		default:
			word.WriteByte(c)
		}
	}
	return word.String()
}
