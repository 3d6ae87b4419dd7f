package mcptool

import (
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/session"
)

// WorkInput is what work_history is asked.
type WorkInput struct {
	File    string `json:"file,omitempty" jsonschema:"a file: its path, the end of it, or words of its name"`
	Command string `json:"command,omitempty" jsonschema:"words of a command line"`
	Error   string `json:"error,omitempty" jsonschema:"an error message, or words of it"`
	Query   string `json:"query,omitempty" jsonschema:"words of a command, a path or an error, where it is not known which"`
	Agent   string `json:"agent,omitempty" jsonschema:"only sessions of this agent"`
	Since   string `json:"since,omitempty" jsonschema:"only what was done from then on: 30d, 12h, 2026-03-01"`
	Until   string `json:"until,omitempty" jsonschema:"only what was done before then"`
	Limit   int    `json:"limit,omitempty" jsonschema:"how many, 1 to 10 (default 5)"`
}

// WorkText is what work_history returns, in at most RecallBytes: in lines of
// recall's shape, so that no later recall finds them in a session.
func WorkText(doc recall.Document) string {
	notice := ""
	if doc.Notice != "" {
		notice = "\nnote: " + wording.Visible(doc.Notice)
	}
	if len(doc.Work) == 0 {
		return "nothing found that fits" + notice
	}
	p := recall.WorkPrinter{PassagePrinter: &recall.PassagePrinter{Terms: recall.QueryTerms(doc.Query), Mark: func(word string) string { return word }}, Source: workReading, Clean: steps.PlainText}
	var b strings.Builder
	b.WriteString(session.RecallBegin + "\n\n")
	room := recall.RecallBytes - len(session.RecallBegin) - len(session.RecallEnd) - len(notice) - 100
	for i, h := range doc.Work {
		text := fmt.Sprintf("%d. %s\n", i+1, p.Hit(h))
		if i > 0 && len(text) > room {
			fmt.Fprintf(&b, "   %d more are not shown\n\n", len(doc.Work)-i)
			break
		}
		text = session.CutText(text, max(room, 0), " …\n\n")
		room -= len(text)
		b.WriteString(text)
	}
	b.WriteString(session.RecallEnd)
	return b.String() + notice
}

// workReading says how the lines of an action are read with memory_read.
func workReading(x audit.WorkAction) string {
	if x.Source.Archive == "" {
		return "not archived"
	}
	first, last := recall.WorkLines(x)
	return Call("memory_read", ReadInput{Archive: x.Source.Archive, FirstLine: first, LastLine: last})
}
