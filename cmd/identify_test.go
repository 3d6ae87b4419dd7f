package cmd

import (
	"errors"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
)

func TestResolve(t *testing.T) {
	sessions := []selection.Candidate{{ID: "600fa7f5", What: "a"}, {ID: "600fb", What: "b"}, {ID: "600fb", What: "c"}, {ID: "600fbcc", What: "d"}, {ID: "x", What: "e"}}
	receipts := []selection.Candidate{{ID: "01KDAAAAAA11112222AAAABBBB", What: ""}, {ID: "01KDAAAAAA11112222AAAABBBC", What: ""}}
	for _, c := range []struct {
		kind  selection.IdKind
		all   []selection.Candidate
		name  string
		id    string
		code  string
		hints string
	}{
		{selection.SessionIDs(), sessions, "600fa", "600fa7f5", "", ""},
		{selection.SessionIDs(), sessions, "600fb", "600fb", "", ""}, // itself, though another starts so
		{selection.SessionIDs(), sessions, "600", "", "ambiguous", "600fa7f5 (a), 600fb (b), 600fbcc (d)"},
		{selection.SessionIDs(), sessions, "", "", "unknown_session", "sessctl sizes"},
		{selection.SessionIDs(), sessions, "0fa7f5", "", "unknown_session", ""},
		{selection.SessionIDs(), sessions, "600FA", "", "unknown_session", ""},
		{selection.ReceiptIDs(), receipts, "aaaabbbc", "01KDAAAAAA11112222AAAABBBC", "", ""},
		{selection.ReceiptIDs(), receipts, "01kdaaaaaa11112222aaaabbbb", "01KDAAAAAA11112222AAAABBBB", "", ""},
		{selection.ReceiptIDs(), receipts, "01KD", "", "ambiguous", "01KDAAAAAA11112222AAAABBBB, 01KDAAAAAA11112222AAAABBBC"},
	} {
		id, err := c.kind.Resolve(c.name, c.all)
		var f *failure.Error
		if code := ""; errors.As(err, &f) {
			code = f.Code
			if code != c.code || !strings.Contains(f.Hint, c.hints) || f.Exit != failure.ExitUsage {
				t.Errorf("%q: %s, hint %q, want %s and %q", c.name, code, f.Hint, c.code, c.hints)
			}
		} else if c.code != "" || id != c.id {
			t.Errorf("%q: %q, want %q %s", c.name, id, c.id, c.code)
		}
	}
	if short := selection.ShortReceipt(receipts[1].ID); short != "aaaabbbc" {
		t.Errorf("short receipt %q", short)
	}
}
