package cmd

import (
	"errors"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	sessions := []candidate{{"600fa7f5", "a"}, {"600fb", "b"}, {"600fb", "c"}, {"600fbcc", "d"}, {"x", "e"}}
	receipts := []candidate{{"01KDAAAAAA11112222AAAABBBB", ""}, {"01KDAAAAAA11112222AAAABBBC", ""}}
	for _, c := range []struct {
		kind  idKind
		all   []candidate
		name  string
		id    string
		code  string
		hints string
	}{
		{sessionIDs(), sessions, "600fa", "600fa7f5", "", ""},
		{sessionIDs(), sessions, "600fb", "600fb", "", ""}, // itself, though another starts so
		{sessionIDs(), sessions, "600", "", "ambiguous", "600fa7f5 (a), 600fb (b), 600fbcc (d)"},
		{sessionIDs(), sessions, "", "", "unknown_session", "sessctl sizes"},
		{sessionIDs(), sessions, "0fa7f5", "", "unknown_session", ""},
		{sessionIDs(), sessions, "600FA", "", "unknown_session", ""},
		{receiptIDs(), receipts, "aaaabbbc", "01KDAAAAAA11112222AAAABBBC", "", ""},
		{receiptIDs(), receipts, "01kdaaaaaa11112222aaaabbbb", "01KDAAAAAA11112222AAAABBBB", "", ""},
		{receiptIDs(), receipts, "01KD", "", "ambiguous", "01KDAAAAAA11112222AAAABBBB, 01KDAAAAAA11112222AAAABBBC"},
	} {
		id, err := c.kind.resolve(c.name, c.all)
		var f *failure
		if code := ""; errors.As(err, &f) {
			code = f.code
			if code != c.code || !strings.Contains(f.hint, c.hints) || f.exit != exitUsage {
				t.Errorf("%q: %s, hint %q, want %s and %q", c.name, code, f.hint, c.code, c.hints)
			}
		} else if c.code != "" || id != c.id {
			t.Errorf("%q: %q, want %q %s", c.name, id, c.id, c.code)
		}
	}
	if short := shortReceipt(receipts[1].id); short != "aaaabbbc" {
		t.Errorf("short receipt %q", short)
	}
}
