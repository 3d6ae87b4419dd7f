package summarize_test

import (
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/summarize"
)

// What a terminal printed and somebody pasted is nobody's word; what stands around it
// is.
func TestPastedIsNotSaid(t *testing.T) {
	const trace = "Traceback (most recent call last):\n  File \"/srv/app/orm.py\", line 12, in execute\n    res = self.execute(query)\nTypeError: must never be NoneType"
	for name, c := range map[string]struct{ pasted, printed string }{
		"a trace":    {trace, "NoneType"},
		"a log":      {"[theme] decided: Detected truecolor mode on 3 March 2026", "Detected truecolor"},
		"a prompt":   {"➜  app git:(main) ✗ npm run dev\nwe decided to listen on port 3000 because 80 is taken", "port 3000"},
		"a shell":    {"lea@ada:~/app$ make\nwe will use port 3000 instead of 80", "port 3000"},
		"a diff":     {"+ 16 - **Handling**: we decided that invalid themes must never crash", "must never crash"},
		"a status":   {"↑880 ↓68k must never exceed 3 March 2026", "must never exceed"},
		"a file":     {"'/tmp/we must never/Screenshot 2026-03-01 at 01.39.27.png'", "Screenshot 2026"},
		"of columns": {"  decided: the deadline is 3 March 2026               ", "deadline is 3 March"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sum(t, summarize.Options{}, user("set up the app"), agent("Where?"), user(trace), agent("I see. Which port?"), user("look at this\n\n"+c.pasted+"\n\nwe must never write to db1"), agent("Yes."))
			for _, section := range s.Sections {
				for _, item := range section.Items {
					if strings.Contains(item.Text, c.printed) && section.Title != "Last messages" && section.Title != "Where it stands" {
						t.Errorf("%s: %s", section.Title, item.Text)
					}
				}
			}
			if got := section(s, "Rules people set"); len(got) != 1 {
				t.Errorf("%q", got)
			}
		})
	}
}
