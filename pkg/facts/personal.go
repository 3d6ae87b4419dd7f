package facts

import (
	"regexp"
	"strings"
	"sync"

	"github.com/sessctl/sessctl/pkg/summarize"
)

// shapes are the patterns by which a person's own words are told from what
// stands among them. They are made when the first log is read.
type shapes struct {
	block, fence, transcript, heading, runtime, code *regexp.Regexp
}

func newShapes() *shapes {
	return &shapes{
		block:      regexp.MustCompile(`(?m)^[ \t]*<([A-Za-z][\w:-]*)(?:\s[^<>\n]*)?>`),
		fence:      regexp.MustCompile("(?s)```.*?(?:```|\\z)|(?m:^[ \t]*~~~)(?s:.*?)(?:(?m:^[ \t]*~~~[ \t]*$)|\\z)"),
		transcript: regexp.MustCompile(`(?mi)^\s*(?:\[?(?:user|human|assistant|agent|system|ai|me)\]?:|\[\d{1,2}:\d\d|\d{1,2}:\d\d(?::\d\d)?\s|from: |to: |subject: )`),
		heading:    regexp.MustCompile(`(?m)^#{1,6} `),
		// Instructions, reminders and jobs that runtimes put in a person's name,
		// and prompts that other programs write (research/complaints.md section 11).
		runtime: regexp.MustCompile(`(?i)^\W*(?:you are (?:a|an|the|now)\b|act as (?:a|an)\b|system:|system note|system event|cron\b|heartbeat\b|read heartbeat\.md|a new session was started|pre-compaction|a subagent|subagent (?:context|task)|caveat:|this session is being continued|the following is|here is (?:a|the) (?:conversation|transcript)|summari[sz]e (?:the|this)\b|extract (?:the )?facts|\[?request interrupted|base directory for this skill|# ?agents\.md|<instructions)`),
		code:    regexp.MustCompile("`[^`]*`"),
	}
}

// known makes the shapes once.
var known = sync.OnceValue(newShapes)

// personal returns what of a user's message a person has typed: without the
// channel's envelope, blocks between tags, fenced code, quoted mail and pasted
// documents. It is "" if nothing is left, or if a program wrote the message.
func personal(text string) string {
	text = string(summarize.Unwrap([]byte(strings.TrimSpace(text))))
	if strings.Contains(text, "HEARTBEAT_OK") || strings.Contains(text, "<conversation>") {
		return ""
	}
	k := known()
	text = withoutBlocks(k, text)
	text = withoutFences(k, text)
	if k.runtime.MatchString(text) || isDocument(k, text) {
		return ""
	}
	return ends(text)
}

// withoutFences leaves a line break for each fenced block.
func withoutFences(k *shapes, text string) string {
	return strings.TrimSpace(k.fence.ReplaceAllString(text, "\n"))
}

// withoutBlocks removes what stands between <tag> and </tag>: memories that
// were recalled, reminders of the runtime, files. A block that is not closed
// goes on to the end.
func withoutBlocks(k *shapes, text string) string {
	for range 64 {
		at := k.block.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		end := "</" + text[at[2]:at[3]] + ">"
		before, after := text[:at[0]], text[at[1]:]
		if i := strings.Index(after, end); i >= 0 {
			text = before + "\n" + after[i+len(end):]
		} else {
			text = before
		}
	}
	return strings.TrimSpace(text)
}

// isDocument tells a file, a prompt or a chat that somebody pasted from what
// somebody says: by its headings and by the names of its speakers.
func isDocument(k *shapes, text string) bool {
	return len(k.heading.FindAllStringIndex(text, 2)) > 1 || len(k.transcript.FindAllStringIndex(text, 2)) > 1
}
