package archive_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
)

// TestWorks: what an entry says is taken from the cache while the catalogue has it, and
// from nothing but the catalogue where there is no cache of it that is whole.
func TestWorks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := open(t, root, "none")
	cache := filepath.Join(root, "cache", "agents")
	add := func(agent, project string) archive.Entry {
		t.Helper()
		m := meta("of-" + agent)
		m.Agent, m.Project = agent, project
		text := agent + project + "\n"
		e, err := s.Put(context.Background(), m, strings.NewReader(text), int64(len(text)), noon)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	known := func(file string) string {
		t.Helper()
		all := agentset.Directories{}
		if err := s.WorksOf(context.Background(), file, all); err != nil {
			t.Fatal(err)
		}
		var parts []string
		for id, directories := range all {
			parts = append(parts, id.Agent+": "+strings.Join(slices.Sorted(maps.Keys(directories)), ", "))
		}
		slices.Sort(parts)
		return strings.Join(parts, "; ")
	}
	one, two := add("a", "/w/a"), add("a", "/w/a\tb")
	add("odd", "/w/o\ndd")
	const whole = "a: /w/a, /w/a\tb; odd: /w/o\ndd"
	for _, file := range []string{"", cache, cache} { // without one, made, read
		if got := known(file); got != whole {
			t.Fatalf("with %q: %q", file, got)
		}
	}
	truncate(t, filepath.Join(root, "archives", one.ID+".json"))
	if got := known(cache); got != whole {
		t.Errorf("an entry that the cache has was read again: %q", got)
	}
	remove(t, filepath.Join(root, "archives", two.ID+".json"))
	add("new", "")
	if got, want := known(cache), "a: /w/a; new: ; odd: /w/o\ndd"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	overwriteQuietly(t, cache)
	if got, want := known(cache), "new: ; odd: /w/o\ndd"; got != want {
		t.Errorf("of a damaged cache: %q, want %q", got, want)
	}
	other := open(t, t.TempDir(), "none")
	all := agentset.Directories{}
	if err := other.WorksOf(context.Background(), cache, all); err != nil || len(all) > 0 {
		t.Errorf("the cache of another catalogue: %v, %v", all, err)
	}
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := known(filepath.Join(root, "file", "agents")), "new: ; odd: /w/o\ndd"; got != want {
		t.Errorf("where no cache can be written: %q, want %q", got, want)
	}
}
