package claude

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
)

const (
	first  = "11111111-1111-4111-8111-111111111111"
	second = "22222222-2222-4222-8222-222222222222"
)

func TestListFindsFamilies(t *testing.T) {
	h := newHome(t)
	one := logOf(rec("user", "u1", "", text("", "one")))
	h.write("projects/-home-lea-api/"+first+".jsonl", one)
	h.write("projects/-home-lea-api/"+second+".jsonl", one)
	h.write("projects/-home-lea-api/"+first+"/subagents/agent-a1.jsonl", one)
	h.write("projects/-home-lea-api/"+first+"/subagents/agent-a1.meta.json", []byte("{}"))
	h.write("projects/-home-lea-api/"+first+"/subagents/notes.jsonl", one)
	h.write("projects/-home-lea-api/"+first+"/tool-results/toolu_1.txt", []byte("long"))
	h.write("projects/-home-lea-api/agent-old.jsonl", []byte(`{"type":"user","uuid":"u","isSidechain":true,"sessionId":"`+second+`","message":{"content":"x"}}`+"\n"))
	h.write("projects/-home-lea-api/memory/MEMORY.md", []byte("x"))
	h.write("projects/-home-lea-api/sessions-index.json", []byte("{}"))
	h.write("projects/-home-lea-api/"+first+".jsonl.bak", one)
	h.write("projects/C--Users-lea/"+first+".jsonl", one)
	h.write("history.jsonl", []byte(`{"display":"x","timestamp":1770109200000,"project":"/home/lea/api","sessionId":"`+first+`"}`))
	type row struct {
		Agent, ID, Key, Parent string
		Kind                   session.Kind
		Primary                bool
	}
	listing := h.list(h.store())
	var got []row
	for _, r := range listing.Refs {
		got = append(got, row{r.Agent, r.ID, r.Key, r.Parent, r.Kind, r.Primary})
	}
	want := []row{
		{"home-lea-api", first, "", "", session.KindLive, true},
		{"home-lea-api", "agent-a1", first + "/agent-a1", first, session.KindSubagent, false},
		{"home-lea-api", first + ".agent-a1.meta.json", first + "/subagents/agent-a1.meta.json", first, session.KindOutput, false},
		{"home-lea-api", first + ".toolu_1.txt", first + "/tool-results/toolu_1.txt", first, session.KindOutput, false},
		{"home-lea-api", second, "", "", session.KindLive, true},
		{"home-lea-api", "agent-old", second + "/agent-old", second, session.KindSubagent, false},
		{"C--Users-lea", first, "", "", session.KindLive, true},
	}
	less := func(rows []row) map[row]bool {
		set := map[row]bool{}
		for _, r := range rows {
			set[r] = true
		}
		return set
	}
	if diff := cmp.Diff(less(want), less(got)); diff != "" || len(got) != len(want) {
		t.Errorf("refs (-want +got):\n%s", diff)
	}
	if len(listing.Notices) != 0 || len(listing.Agents) != 2 {
		t.Errorf("agents %v, notices %v", listing.Agents, listing.Notices)
	}
}

// Names that lead out of the store, links and directories in the place of logs
// are told and never followed.
func TestListRefusesHostileFiles(t *testing.T) {
	h := newHome(t)
	outside := h.write("outside.jsonl", logOf(rec("user", "u1", "", text("", "secret"))))
	log := h.write("projects/-w/"+first+".jsonl", logOf(rec("user", "u1", "", text("", "one"))))
	h.write("projects/-w/a\x1b[31mred.jsonl", nil)
	h.write("projects/-w/dir.jsonl/x", nil)
	for name, link := range map[string]func(string) error{
		"soft.jsonl": func(path string) error { return os.Symlink(outside, path) },
		"hard.jsonl": func(path string) error { return os.Link(outside, path) },
	} {
		if err := link(h.path("projects/-w/" + name)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	if err := os.Symlink(h.dir, h.path("projects/-out")); err != nil {
		t.Skip("no links here: ", err)
	}
	s := h.store()
	listing := h.list(s)
	if len(listing.Refs) != 1 || listing.Refs[0].Path != log {
		t.Fatalf("refs %+v", listing.Refs)
	}
	var told []string
	for _, n := range listing.Notices {
		told = append(told, n.Message)
	}
	for _, want := range []string{"symbolic link", "hard links", "not safe in a path", "a directory with the name"} {
		if !strings.Contains(strings.Join(told, "\n"), want) {
			t.Errorf("nothing is said of %q: %q", want, told)
		}
	}
	ref := listing.Refs[0]
	for _, path := range []string{outside, h.path("projects/-w/../../outside.jsonl"), h.path("projects/-w/soft.jsonl")} {
		ref.Path = path
		if _, err := s.Tail(context.Background(), ref); err == nil {
			t.Errorf("%s was read", path)
		}
	}
}

func TestTailOfSomethingElse(t *testing.T) {
	h := newHome(t)
	h.write("projects/-w/s.jsonl", []byte(strings.Repeat("<html>\n", 40)))
	s := h.store()
	if _, err := s.Tail(context.Background(), h.ref(s, "s")); !errors.Is(err, session.ErrUnknownFormat) {
		t.Errorf("error %v", err)
	}
	h.write("projects/-w/s/tool-results/x.txt", []byte("long"))
	if _, err := s.Tail(context.Background(), h.ref(s, "s.x.txt")); !errors.Is(err, session.ErrUnknownFormat) {
		t.Errorf("an output: %v", err)
	}
}
