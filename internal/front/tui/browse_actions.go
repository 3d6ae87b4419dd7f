package tui

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/compact"
)

// DescribeCompact says what became of a session.
func DescribeCompact(doc selection.CompactDocument) string {
	var b strings.Builder
	for _, r := range doc.Sessions {
		b.WriteString(selection.DescribeResult(r))
	}
	return b.String() + doc.LeftAlone()
}

// DescribeArchive says in lines what renderArchives has in a table: first what
// went wrong, and then one line a session.
func DescribeArchive(doc steps.ArchiveDocument) string {
	var failed, planned, kept, sessions strings.Builder
	unchanged, count, size := 0, 0, int64(0)
	for _, r := range doc.Archives {
		name := wording.Visible(r.Agent + "  " + cmp.Or(r.Key, r.Session))
		switch {
		case r.Unchanged:
			unchanged++
			continue
		case r.Outcome == string(compact.Planned):
			fmt.Fprintf(&planned, "  %s  %s\n", name, wording.Bytes(r.Bytes))
		case r.Outcome == "archived":
			fmt.Fprintf(&kept, "  %s  archive %s\n", name, r.ID)
		default:
			fmt.Fprintf(&failed, "%s: %s\n", name, wording.Visible(strings.TrimSuffix(r.Outcome+": "+r.Reason, ": ")))
			continue
		}
		count, size = count+1, size+r.Bytes
	}
	what := wording.Plural(count, "session") + ", " + wording.Bytes(size) + ": "
	switch {
	case planned.Len() > 0:
		sessions.WriteString(what + "would be archived and remembered; what is there stays as it is\n" + planned.String())
	case kept.Len() > 0:
		sessions.WriteString(what + "archived, read back, and remembered\n" + kept.String())
	}
	if unchanged > 0 {
		fmt.Fprintf(&sessions, "%s archived and remembered already\n", wording.Plural(unchanged, "session"))
	}
	return failed.String() + sessions.String()
}

// ForgottenIn counts what was forgotten.
func ForgottenIn(doc any) string {
	d, _ := doc.(recall.ForgetDocument)
	return recall.ForgottenOf(d.Records, d.Actions)
}
