package cmd

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/front/mcptool"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/pkg/memory"
)

const askedOfMemory = "/api/v1/recall?q=which+port+does+the+label+printer+use"

// hits are the ids of what a recall over HTTP finds, and its notice.
func (s *serving) hits() (ids, notice string) {
	s.Helper()
	var doc recall.Document
	if err := json.Unmarshal(s.get(askedOfMemory), &doc); err != nil {
		s.Fatal(err)
	}
	for _, h := range doc.Hits {
		ids += h.ID + " "
	}
	return ids, doc.Notice
}

// What other commands do to the memory, a server that runs sees with the next
// question, and so does the one of an agent that is connected all the while, also where another memory has taken the place of the one that it read.
func TestServeSeesAnotherMemory(t *testing.T) {
	s := newServing(t)
	before, _ := s.hits()
	if before == "" {
		t.Fatal("nothing is found")
	}
	agent := askMCP(t, s.app, mcptool.MCPOptions{})
	said := func() string {
		text, _ := call(t, agent, "memory_recall", map[string]any{"query": "which port does the label printer use"})
		return text
	}
	first := said()
	s.command("memory", "reindex")
	if ids, notice := s.hits(); ids != before || notice != "" || said() != first {
		t.Errorf("after a reindex: %q %q", ids, notice)
	}
	if err := os.RemoveAll(s.MemoryDir()); err != nil {
		t.Fatal(err)
	}
	s.command("memory", "reindex", "--from-archives")
	if ids, notice := s.hits(); ids != before || notice != "" || said() != first {
		t.Errorf("after the memory was made again: %q %q", ids, notice)
	}
	s.command("memory", "forget", "--id", strings.Fields(before)[0], "--yes")
	if ids, _ := s.hits(); ids == before || ids == "" || said() == first {
		t.Errorf("after a forget: %q", ids)
	}
}

// A memory that is being made from the archives is not asked: what it has not got
// yet would look like what was never said. One whose making was cut off says so
// with every answer, until it is complete.
func TestServeMemoryBeingMade(t *testing.T) {
	s := newServing(t)
	before, _ := s.hits()
	if err := os.RemoveAll(s.MemoryDir()); err != nil {
		t.Fatal(err)
	}
	lock, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refused := func(when string) {
		t.Helper()
		w := s.ask(http.MethodGet, askedOfMemory, "", nil)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "memory_being_made") {
			t.Errorf("%s: %d %s", when, w.Code, w.Body)
		}
	}
	refused("there is none yet")
	store, err := memory.Open(t.Context(), s.MemoryDir(), memory.Options{Rebuild: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	refused("it is empty")
	lock.Unlock()
	if ids, notice := s.hits(); ids != "" || !strings.Contains(notice, "not all of them") {
		t.Errorf("cut off: %q %q", ids, notice)
	}
	s.command("memory", "reindex", "--from-archives")
	if ids, notice := s.hits(); ids != before || notice != "" {
		t.Errorf("complete: %q %q", ids, notice)
	}
}
