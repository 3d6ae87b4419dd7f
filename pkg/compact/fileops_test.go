package compact

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
)

// calling is a message with one call of a file tool.
func calling(id, tool, path string) *session.Message {
	return &session.Message{Role: session.RoleAssistant, Parts: []session.Part{{
		Kind: session.PartToolCall, CallID: []byte(id), Name: []byte(tool), Text: fmt.Appendf(nil, `{"path":%q}`, path),
	}}}
}

func answering(id string, failed bool) *session.Message {
	return &session.Message{Role: session.RoleToolResult, CallID: []byte(id), IsError: failed}
}

// earlier is the summary of the compaction before.
func earlier(text string) *session.Message {
	return &session.Message{Role: session.RoleSummary, Compaction: true, Parts: []session.Part{{Kind: session.PartText, Text: []byte(text)}}}
}

// S7.15: the lists of a second compaction include those of the first, also
// after a third; old tags do not pile up in the text.
func TestS7_15CumulativeFiles(t *testing.T) {
	text := "## Goal\nfirst"
	for i, want := range []struct{ read, modified []string }{
		{[]string{"a0.go"}, []string{"m0.go"}},
		{[]string{"a0.go", "a1.go"}, []string{"m0.go", "m1.go"}},
		{[]string{"a0.go", "a1.go", "a2.go"}, []string{"m0.go", "m1.go", "m2.go"}},
	} {
		f := newFileOperations()
		f.add(earlier(text))
		f.add(calling("r", "read_file", fmt.Sprintf("a%d.go", i)))
		f.add(answering("r", false))
		f.add(calling("w", "Write", fmt.Sprintf("m%d.go", i)))
		f.add(answering("w", false))
		// A model may have repeated the tags that it was shown.
		made := f.summed(Summary{Text: text})
		if diff := cmp.Diff(want.read, made.ReadFiles); diff != "" {
			t.Errorf("compaction %d, read (-want +got)\n%s", i, diff)
		}
		if diff := cmp.Diff(want.modified, made.ModifiedFiles); diff != "" {
			t.Errorf("compaction %d, modified (-want +got)\n%s", i, diff)
		}
		text = made.Text
	}
	if want := "## Goal\nfirst\n\n<read-files>\na0.go\na1.go\na2.go\n</read-files>\n\n<modified-files>\nm0.go\nm1.go\nm2.go\n</modified-files>"; text != want {
		t.Errorf("the text is\n%s", text)
	}
}

// S7.16: a file that was read and changed is listed as changed only, in
// whichever order, and also where one of the two was before the last
// compaction. A call that failed changed nothing.
func TestS7_16ModifiedOnly(t *testing.T) {
	f := newFileOperations()
	f.add(earlier("x\n\n<read-files>\nold.go\n</read-files>\n\n<modified-files>\nchanged.go\n</modified-files>"))
	for i, c := range []struct{ tool, path string }{{"read", "both.go"}, {"edit", "both.go"}, {"write", "back.go"}, {"read", "back.go"}, {"edit", "old.go"}, {"read", "changed.go"}} {
		f.add(calling(fmt.Sprint(i), c.tool, c.path))
		f.add(answering(fmt.Sprint(i), false))
	}
	f.add(calling("bad", "write", "never.go"))
	f.add(answering("bad", true))
	made := f.summed(Summary{Text: "x"})
	if diff := cmp.Diff([]string{}, made.ReadFiles); diff != "" {
		t.Errorf("read (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"back.go", "both.go", "changed.go", "old.go"}, made.ModifiedFiles); diff != "" {
		t.Errorf("modified (-want +got)\n%s", diff)
	}
}
