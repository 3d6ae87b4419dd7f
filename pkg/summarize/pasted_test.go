package summarize_test

import (
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/summarize"
)

// What a terminal printed and somebody pasted is nobody's word; what stands around it
// is.
func TestPastedIsNotSaid(t *testing.T) {
	for name, c := range map[string]struct{ pasted, printed string }{
		"a log":      {"[theme] decided: Detected truecolor mode on 3 March 2026", "Detected truecolor"},
		"a prompt":   {"➜  app git:(main) ✗ npm run dev\nwe decided to listen on port 3000 because 80 is taken", "port 3000"},
		"a shell":    {"lea@ada:~/app$ make\nwe will use port 3000 instead of 80", "port 3000"},
		"a diff":     {"+ 16 - **Handling**: we decided that invalid themes must never crash", "must never crash"},
		"a status":   {"↑880 ↓68k must never exceed 3 March 2026", "must never exceed"},
		"a file":     {"'/tmp/we must never/Screenshot 2026-03-01 at 01.39.27.png'", "Screenshot 2026"},
		"of columns": {"  decided: the deadline is 3 March 2026               ", "deadline is 3 March"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sum(t, summarize.Options{}, user("set up the app"), agent("Where?"), user("look at this\n\n"+c.pasted+"\n\nwe must never write to db1"), agent("Yes."))
			for _, section := range s.Sections {
				for _, item := range section.Items {
					if strings.Contains(item.Text, c.printed) && section.Title != "Last exchanges" {
						t.Errorf("%s: %s", section.Title, item.Text)
					}
				}
			}
			if got := section(s, "Constraints and preferences"); len(got) != 1 {
				t.Errorf("%q", got)
			}
		})
	}
}

// A script of package.json is a command of its own: one that works puts no other right.
func TestScriptsAreTheirOwn(t *testing.T) {
	lines := []string{"U: release it", "$ npm run publish", "! error TS2305: no exported member 'EditorTheme'", "$ npm run build", "> ok"}
	if text := talk(t, lines...); !strings.Contains(text, "npm run publish`: `error TS2305: no exported member 'EditorTheme'.` (line 3)") && strings.Contains(text, "worked later") {
		t.Error(text)
	}
	if text := talk(t, append(lines, "$ npm run publish --access public", "> ok")...); !strings.Contains(text, "worked later") {
		t.Error(text)
	}
}

// The agent's last word is told if it says what went wrong, and not that it goes on.
func TestTroubleIsNoNarration(t *testing.T) {
	text := told(t, "U: release it", "A: Perfect! Now tag and push:", "$ git push", "> ok", "A: Oh no! The build is failing because of the types. Let me check what is exported", "$ cat index.ts", "> ok", "A: The exports are there! Let me try again:", "$ npm ci", "> ok")
	if !strings.Contains(text, "**Agent**: Oh no! The build is failing because of the types.") || strings.Contains(text, "Perfect! Now tag") {
		t.Error(text)
	}
}

// What a person denies at once was not done.
func TestDeniedIsNotDone(t *testing.T) {
	lines := []string{"U: set the colour of code to 8abeb7", "$ edit dark.json", "> ok", "A: Done! Now both inline code and code blocks use `#8abeb7`."}
	if text := talk(t, lines...); !strings.Contains(text, "## Done") {
		t.Error(text)
	}
	if text := talk(t, append(lines, "U: no, the block should be as it was", "$ edit dark.json", "> ok", "A: Right.")...); strings.Contains(text, "Now both inline code") {
		t.Error(text)
	}
}

// A file that the agent shows decides nothing, and names no step of this session.
func TestDocumentsDecideNothing(t *testing.T) {
	text := talk(t, "U: read the rules", "A: # Task process\n\n- We decided to document all design decisions.\n- Next steps: ask before each release.\n- **Never ask if the next steps seem obvious.**", "U: good")
	if strings.Contains(text, "## Decisions") || strings.Contains(text, "## Next steps") {
		t.Error(text)
	}
}

// Of what was said last, code is left out but for a few lines; what is nothing else is
// no exchange.
func TestExchangesWithoutCode(t *testing.T) {
	block := "```diff\n" + strings.Repeat("+ a line of code\n", 9) + "     ```\n+ more\n```"
	text := told(t, "U: write it", "A: I write it as you said.\n"+block+"\nIt reads the port from the file.", "U: fine", "A: "+block, "U: and the host?")
	if last := text[strings.Index(text, "## Last exchanges"):]; strings.Contains(last, "a line of code") || !strings.Contains(last, "It reads the port") {
		t.Error(text)
	}
	if text := told(t, "U: how?", "A: Run this:\n```\ngit tag v1\ngit push\n```", "U: ok"); !strings.Contains(text, "git tag v1") {
		t.Error(text)
	}
}

// Names that differ in a number alone do not fill the index.
func TestIndexOfRows(t *testing.T) {
	var names []string
	for i := range 30 {
		names = append(names, "`L1-"+strings.Repeat("1", i%7+1)+string(rune('0'+i%10))+"`")
	}
	text := told(t, "U: where?", "A: In "+strings.Join(names, " and ")+" "+strings.Repeat("of the long file ", 60)+"`src/app.ts`.", "U: a", "A: b", "U: c", "A: d", "U: e", "A: f", "U: g", "A: h")
	at := strings.Index(text, "## Also in the log")
	if at < 0 || strings.Count(text[at:], "`L1-") != 4 || !strings.Contains(text[at:], "src/app.ts") {
		t.Error(text)
	}
}

// A report that is cut is cut behind a sentence.
func TestReportsAreWhole(t *testing.T) {
	text := told(t, "U: test the colours", "$ run", "> ok", "A: "+strings.Repeat("- a list of things that were looked at here\n", 24)+"\nThe cyan of the theme is 00d7ff and works now. The grey of the theme is fixed and shown by both of the terminals of this machine, where it is `#808080`.")
	if strings.Contains(text, "The grey of the theme is fixed and shown by both of the") {
		t.Error(text)
	}
}
