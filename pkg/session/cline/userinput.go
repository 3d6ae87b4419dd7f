package cline

import (
	"regexp"
	"strings"
	"sync"
)

// userTags are the tags that Cline puts around what a person typed.
var userTags = [...]userTag{newUserTag("user_input"), newUserTag("user_command")}

// userTag finds a tag.
type userTag struct{ around, opening *regexp.Regexp }

func newUserTag(name string) userTag {
	return userTag{
		around:  regexp.MustCompile(`<` + name + `\b[^>]*>((?s:.*?))</` + name + `>`),
		opening: regexp.MustCompile(`<` + name + `[^>]*>`),
	}
}

var (
	wholeCommand = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?is)\A<user_command\b([^>]*)>(.*?)</user_command>\z`)
	})
	slashIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)slash="([^"]+)"`) })
)

const (
	noticeBegins = "<mode_notice>"
	noticeEnds   = "</mode_notice>"
	teamBegins   = "spawn a team of agents for the following task:"
)

// shownInput is a person's text as Cline shows it, and as it goes into the hash of
// a compaction: formatDisplayUserInput of @cline/shared 0.0.86.
func shownInput(text string) string {
	shown := trimmed(text)
	for _, tag := range userTags {
		without := tag.around.ReplaceAllString(shown, "${1}")
		if without == shown {
			without = tag.opening.ReplaceAllString(shown, "")
		}
		shown = trimmed(without)
	}
	shown = trimmed(withoutNotices(shown))
	command := wholeCommand().FindStringSubmatch(trimmed(text))
	if command == nil {
		return shown
	}
	named := slashIn().FindStringSubmatch(command[1])
	if named == nil || trimmed(named[1]) == "" {
		return shown
	}
	slash := trimmed(named[1])
	if strings.EqualFold(slash, "team") && len(shown) >= len(teamBegins) && strings.EqualFold(shown[:len(teamBegins)], teamBegins) {
		shown = trimmed(shown[len(teamBegins):])
	}
	if strings.EqualFold(slash, "team") {
		slash = "team"
	}
	return strings.TrimSuffix("/"+slash+" "+shown, " ")
}

// withoutNotices removes the notes on a change of mode.
func withoutNotices(text string) string {
	for from := 0; ; {
		begin := strings.Index(text[from:], noticeBegins)
		if begin < 0 {
			return text
		}
		begin += from
		end := strings.Index(text[begin+len(noticeBegins):], noticeEnds)
		if end < 0 {
			return text
		}
		text = text[:begin] + text[begin+len(noticeBegins)+end+len(noticeEnds):]
		from = begin
	}
}

// trimmed is a text without white space around it, as JavaScript understands that.
func trimmed(text string) string { return strings.TrimFunc(text, isSpace) }

func isSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return r >= 0x2000 && r <= 0x200A
}
