package session

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// entries is a log in short: "a" follows, "b<a" has the parent a, "c^" is a
// root, "#h" a header with the id h.
func buildTree(b *TreeBuilder, entries []string) *Tree {
	for _, s := range entries {
		if s[0] == '#' {
			b.Header([]byte(s[1:]))
			continue
		}
		b.Add(parseEntry(s))
	}
	return b.Tree()
}

func parseEntry(s string) TreeEntry {
	for i := range s {
		switch s[i] {
		case '<':
			return TreeEntry{ID: []byte(s[:i]), Parent: []byte(s[i+1:])}
		case '^':
			return TreeEntry{ID: []byte(s[:i]), Root: true}
		}
	}
	return TreeEntry{ID: []byte(s)}
}

// branches renders a tree: one letter for each entry, A active, x abandoned.
func branches(t *Tree) string {
	out := make([]byte, t.count)
	for i := range out {
		out[i] = 'A'
		if t.Branch(i) == Abandoned {
			out[i] = 'x'
		}
	}
	return string(out)
}

func TestTreeBranches(t *testing.T) {
	for name, c := range map[string]struct {
		log    []string
		want   string
		forked bool
	}{
		"empty":                  {nil, "", false},
		"one root":               {[]string{"#h", "a^"}, "A", false},
		"linear":                 {[]string{"#h", "a^", "b<a", "c<b"}, "AAA", false},
		"two leaves":             {[]string{"#h", "a^", "b<a", "c<b", "d<c", "e<a", "f<e"}, "AxxxAA", true},
		"leaf is the trunk":      {[]string{"a^", "b<a", "c<a", "d<b"}, "AAxA", true},
		"fork of a fork":         {[]string{"a^", "b<a", "c<a", "d<c", "e<c"}, "AxAxA", true},
		"start over":             {[]string{"#h", "a^", "b<a", "c^", "d<c"}, "xxAA", true},
		"header as parent":       {[]string{"#h", "a<h", "b<a", "c<h"}, "xxA", true},
		"dangling parent":        {[]string{"#h", "a^", "c<lost", "d<c"}, "AAA", false},
		"lost line":              {[]string{"a^", "b<a", "d<c", "e<d"}, "AAAA", false},
		"fragment":               {[]string{"c<b", "d<c"}, "AA", false},
		"fragment, then a root":  {[]string{"c<b", "d<c", "#h", "a^"}, "AAA", false},
		"two writers":            {[]string{"a^", "x<lost", "b<a", "y<x"}, "AAAA", false},
		"two writers, one fork":  {[]string{"a^", "x<lost", "b<a", "y<x", "c<a"}, "AAxAA", true},
		"two headers":            {[]string{"#h", "a^", "b<a", "#i", "c^", "d<c"}, "AAAA", false},
		"two headers, one fork":  {[]string{"#h", "a^", "b<a", "c<a", "#i", "d^"}, "AxAA", true},
		"header comes late":      {[]string{"a^", "#h", "b<a"}, "AA", false},
		"cycle":                  {[]string{"a<b", "b<a"}, "AA", false},
		"own parent":             {[]string{"a<a", "b<a"}, "AA", false},
		"parent comes later":     {[]string{"a^", "d<c", "b<a", "c<b"}, "AAAA", false},
		"exact copy at the end":  {[]string{"a^", "b<a", "c<b", "d<c", "b<a"}, "AAAAA", true},
		"copy, then on":          {[]string{"a^", "b<a", "c<b", "b<a", "d<c"}, "AAAAA", true},
		"copy at once":           {[]string{"a^", "b<a", "b<a", "c<b"}, "AAAA", true},
		"copy of an abandoned":   {[]string{"a^", "b<a", "c<a", "b<a", "d<c"}, "AxAxA", true},
		"the log twice":          {[]string{"#h", "a^", "b<a", "c<a", "#h", "a^", "b<a", "c<a"}, "AxAAxA", true},
		"no parents":             {[]string{"a", "b", "c"}, "AAA", false},
		"no parent after a copy": {[]string{"a^", "b<a", "c<a", "b<a", "d"}, "AAxAA", true},
		"many roots":             {[]string{"#h", "a^", "b^", "c^"}, "xxA", true},
	} {
		t.Run(name, func(t *testing.T) {
			tree := buildTree(NewTreeBuilder(), c.log)
			if got := branches(tree); got != c.want {
				t.Errorf("branches of %v are %s, want %s", c.log, got, c.want)
			}
			if tree.Forked() != c.forked {
				t.Errorf("Forked is %v, want %v", tree.Forked(), c.forked)
			}
		})
	}
}

func TestTreeUnknownOrdinalsAreActive(t *testing.T) {
	tree := buildTree(NewTreeBuilder(), []string{"a^", "b<a", "c<a"})
	for _, ordinal := range []int{-1, 3, 1 << 40} {
		if tree.Branch(ordinal) != Active {
			t.Errorf("entry %d is not active", ordinal)
		}
	}
}

// naiveEntry is an entry of the oracle: parents by number, one step at a time.
type naiveEntry struct {
	id     string
	parent int // -1 none, below: the root of session -2-n
	same   int // the entry it repeats, or itself
}

// naiveTree decides branches with maps and nothing else. It keeps the rules
// that the documentation of Tree and TreeBuilder.Add states.
func naiveTree(log []string, window int) string {
	var all []naiveEntry
	session, header, last := 0, "\x00", "\x00"
	find := func(id string) int {
		for i := len(all) - 1; i >= max(0, len(all)-window); i-- {
			if all[i].id == id && all[i].same == i {
				return i
			}
		}
		// A copy stands for its original, as long as that is in the window.
		return -1
	}
	for _, s := range log {
		if s[0] == '#' {
			if len(all) > 0 {
				session++
			}
			header = s[1:]
			continue
		}
		e, n := parseEntry(s), len(all)
		entry := naiveEntry{id: string(e.ID), parent: -1, same: n}
		follows := last != "\x00" && !e.Root && (len(e.Parent) == 0 || string(e.Parent) == last)
		same := -1
		if !follows {
			same = find(entry.id)
		}
		switch {
		case follows:
			entry.parent = n - 1
		case same >= 0:
			entry.same = same
		case e.Root, len(e.Parent) == 0 && n == 0, string(e.Parent) == header:
			entry.parent = -2 - session
		case len(e.Parent) == 0:
			entry.parent = all[n-1].same
		default:
			entry.parent = find(string(e.Parent))
		}
		all = append(all, entry)
		last = entry.id
		if entry.same != n {
			last = "\x00"
		}
	}
	return naiveBranches(all)
}

func naiveBranches(all []naiveEntry) string {
	root := func(i int) int {
		for all[i].parent >= 0 {
			i = all[i].parent
		}
		if all[i].parent == -1 {
			return i
		}
		return all[i].parent
	}
	leaf := map[int]int{}
	for i := range all {
		if all[i].same == i {
			leaf[root(i)] = i
		}
	}
	active := map[int]bool{}
	for _, i := range leaf {
		for ; i >= 0; i = all[i].parent {
			active[i] = true
		}
	}
	out := make([]byte, len(all))
	for i := range all {
		out[i] = 'x'
		if active[all[i].same] {
			out[i] = 'A'
		}
	}
	return string(out)
}

func TestTreeAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.SampledFrom([]int{1, 2, 3, 7, treeWindow}).Draw(t, "window")
		ids := rapid.SampledFrom([]int{3, 12, 1000}).Draw(t, "ids")
		name := rapid.Custom(func(t *rapid.T) string {
			n := rapid.IntRange(0, ids-1).Draw(t, "id")
			if n%5 == 4 {
				return fmt.Sprintf("%08x", n)
			}
			return fmt.Sprint("e", n)
		})
		var log []string
		last := "e0"
		for range rapid.IntRange(0, 60).Draw(t, "length") {
			id := name.Draw(t, "entry")
			switch rapid.IntRange(0, 9).Draw(t, "link") {
			case 0:
				log = append(log, "#"+name.Draw(t, "header"))
				continue
			case 1:
				log = append(log, id+"^")
			case 2:
				log = append(log, id)
			case 3, 4, 5:
				log = append(log, id+"<"+name.Draw(t, "parent"))
			default:
				log = append(log, id+"<"+last)
			}
			last = id
		}
		b := NewTreeBuilder()
		b.window = window
		if diff := cmp.Diff(naiveTree(log, window), branches(buildTree(b, log))); diff != "" {
			t.Fatalf("log %q, window %d: %s", log, window, diff)
		}
	})
}

// The ids of a log with forks, and of one whose writers alternate.
func TestTreeOfManyEntries(t *testing.T) {
	const n = 3 * treeWindow
	b := NewTreeBuilder()
	random := rand.New(rand.NewPCG(1, 2))
	id := func(i int) []byte { return fmt.Appendf(nil, "%08x", i) }
	b.Add(TreeEntry{ID: id(0), Root: true})
	for i := 1; i < n; i++ {
		parent := i - 1
		if i > 1 && i%2 == 0 {
			parent = i - 2 // two writers
		}
		if random.IntN(1000) == 0 {
			parent = max(0, i-random.IntN(treeWindow-1)-1)
		}
		b.Add(TreeEntry{ID: id(i), Parent: id(parent)})
	}
	tree := b.Tree()
	if len(b.byID) > treeWindow {
		t.Errorf("the index holds %d ids, more than the window of %d", len(b.byID), treeWindow)
	}
	if tree.Branch(n-1) != Active || !tree.Forked() {
		t.Error("the last entry is not active or no fork was seen")
	}
}

// A gigabyte of log is about 420,000 entries. The tree of a log without forks
// must not grow with it.
func TestTreeMemoryOfLinearLog(t *testing.T) {
	b := NewTreeBuilder()
	id, parent := make([]byte, 8), make([]byte, 8)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 420_000 {
		copy(parent, id)
		copy(id, fmt.Appendf(id[:0], "%08x", i))
		b.Add(TreeEntry{ID: id, Parent: parent, Root: i == 0})
		b.Said(i, &Message{Parts: []Part{{Kind: PartText, Text: id}}})
	}
	tree := b.Tree()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 600<<10 {
		t.Errorf("the tree of 420,000 entries takes %d bytes", grown)
	}
	if len(tree.runs) != 1 || tree.Forked() {
		t.Errorf("%d runs, forked %v", len(tree.runs), tree.Forked())
	}
	runtime.KeepAlive(b)
}
