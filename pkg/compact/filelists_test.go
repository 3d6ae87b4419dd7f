package compact

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/session"
)

func calls(name, path, id string) *session.Message {
	return &session.Message{Role: session.RoleAssistant, Parts: []session.Part{{
		Kind: session.PartToolCall, Name: []byte(name), CallID: []byte(id), Text: fmt.Appendf(nil, `{"path":%q}`, path),
	}}}
}

func filesOf(messages ...*session.Message) session.Summed {
	f := newFileOperations()
	for _, m := range messages {
		f.add(m)
	}
	return f.summed(Summary{Text: "## Goal\nx"})
}

// summaryOf is the compaction that a log has after one was made.
func summaryOf(s session.Summed) *session.Message {
	return &session.Message{
		Role: session.RoleSummary, Compaction: true, ReadFiles: s.ReadFiles, ModifiedFiles: s.ModifiedFiles,
		Parts: []session.Part{{Kind: session.PartText, Text: []byte(s.Text)}},
	}
}

// The second compaction's lists have the files of the first one, whether its
// record has them as lists, or its text as tags.
func TestFilesOfEarlierCompactions(t *testing.T) {
	once := filesOf(calls("read_file", "a.go", "1"), calls("write", "b.go", "2"))
	lists := &session.Message{Role: session.RoleSummary, Compaction: true, ReadFiles: once.ReadFiles, ModifiedFiles: once.ModifiedFiles, Parts: []session.Part{{Kind: session.PartText, Text: []byte("no tags")}}}
	tags := &session.Message{Role: session.RoleSummary, Compaction: true, Parts: []session.Part{{Kind: session.PartText, Text: []byte(once.Text)}}}
	for name, earlier := range map[string]*session.Message{"lists": lists, "tags": tags} {
		twice := filesOf(earlier, calls("read", "c.go", "3"), calls("edit", "d.go", "4"))
		if !slices.Equal(twice.ReadFiles, []string{"a.go", "c.go"}) || !slices.Equal(twice.ModifiedFiles, []string{"b.go", "d.go"}) {
			t.Errorf("%s: read %v, modified %v", name, twice.ReadFiles, twice.ModifiedFiles)
		}
	}
}

// A file that was read and changed is listed as changed only, in whatever order
// and in however many compactions.
func TestModifiedIsNotRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log []*session.Message
		read, modified := map[string]bool{}, map[string]bool{}
		for i := range rapid.IntRange(1, 20).Draw(t, "calls") {
			path := rapid.SampledFrom([]string{"a", "b", "c/d", "e f"}).Draw(t, "path")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				log, read[path] = append(log, calls(rapid.SampledFrom([]string{"read", "read_file", "Read"}).Draw(t, "name"), path, fmt.Sprint(i))), true
			case 1:
				log, modified[path] = append(log, calls(rapid.SampledFrom([]string{"write", "edit", "write_file"}).Draw(t, "name"), path, fmt.Sprint(i))), true
			case 2:
				log = append(log, calls(rapid.SampledFrom([]string{"ls", "list_directory", "bash"}).Draw(t, "name"), path, fmt.Sprint(i)))
			case 3:
				log = []*session.Message{summaryOf(filesOf(log...))}
			}
		}
		got := filesOf(log...)
		for path := range read {
			if in := slices.Contains(got.ReadFiles, path); in == modified[path] {
				t.Fatalf("%s is among the files read: %v, and it was changed: %v", path, in, modified[path])
			}
		}
		if len(got.ModifiedFiles) != len(modified) || !slices.IsSorted(got.ReadFiles) || !slices.IsSorted(got.ModifiedFiles) {
			t.Fatalf("read %v, modified %v; want %v changed", got.ReadFiles, got.ModifiedFiles, modified)
		}
	})
}
