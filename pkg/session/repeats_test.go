package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRepeats(t *testing.T) {
	type line struct {
		entry string
		text  string
		role  Role
	}
	scan := func(log []line) []string {
		b := NewTreeBuilder()
		for i, l := range log {
			b.Add(parseEntry(l.entry))
			b.Said(i, &Message{Role: l.role, Parts: []Part{{Kind: PartText, Text: []byte(l.text)}}})
		}
		tree := b.Tree()
		repeats := tree.Repeats()
		var out []string
		for i, l := range log {
			m := &Message{Role: l.role, Branch: tree.Branch(i), Parts: []Part{{Kind: PartText, Text: []byte(l.text)}}}
			if !repeats.Repeated(i, m, []byte(l.entry+l.text)) {
				out = append(out, l.text+" "+m.Branch.String())
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		log  []line
		want []string
	}{
		"turns appended again after a cut result": {
			[]line{{"a^", "list", 1}, {"b<a", "call", 2}, {"c<b", "long result", 3}, {"d<c", "4000", 2}, {"e<b", "cut result", 3}, {"f<e", "4000", 2}},
			[]string{"list active", "call active", "long result abandoned", "cut result active", "4000 active"},
		},
		"the copies were abandoned, not the original": {
			[]line{{"a^", "list", 1}, {"b<a", "one", 2}, {"c<a", "one", 2}, {"d<c", "two", 1}, {"e<b", "three", 1}},
			[]string{"list active", "one active", "two abandoned", "three active"},
		},
		"the same words by somebody else": {
			[]line{{"a^", "go", 1}, {"b<a", "yes", 1}, {"c<a", "yes", 2}},
			[]string{"go active", "yes abandoned", "yes active"},
		},
		"the same words before the branches part": {
			[]line{{"z^", "go on", 1}, {"a<z", "ok", 2}, {"b<a", "go on", 1}, {"c<a", "stop", 1}},
			[]string{"go on active", "ok active", "go on abandoned", "stop active"},
		},
		"and after a lost line": {
			[]line{{"z^", "hello", 1}, {"y<lost", "go on", 1}, {"x<y", "ok", 2}, {"b<x", "go on", 1}, {"c<x", "stop", 1}},
			[]string{"hello active", "go on active", "ok active", "go on abandoned", "stop active"},
		},
		"exact copies and another body": {
			[]line{{"a^", "one", 1}, {"b<a", "two", 2}, {"c<b", "three", 1}, {"b<a", "two", 2}, {"b<a", "other two", 2}, {"b<a", "other two", 2}},
			[]string{"one active", "two active", "three active", "other two active"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, scan(c.log)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
