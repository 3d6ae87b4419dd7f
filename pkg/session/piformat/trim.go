package piformat

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// What a resume of oh-my-pi needs was read in its source and compared with the
// program (docs/dev/formats.md, "omp"): the entries from the first one that the last
// compaction keeps, and of those before it whatever says how things stand. A line
// goes only if it is named here; every other one stays, and a log with a line that
// is not understood stays as it is.

// plainTools are the tools of which nothing but what they said is ever looked for in
// an old result. Others leave there how things stand, a list of what is to be done
// say.
var plainTools = map[string]bool{
	"bash": true, "read": true, "grep": true, "glob": true, "find": true, "ls": true, "edit": true,
	"ast_edit": true, "ast_grep": true, "web_search": true, "fetch": true, "browser": true, "lsp": true,
}

// plainCustom are the notes of a run that nobody looks at once it is over.
var plainCustom = map[string]bool{"session_exit": true, "tool_execution_start": true}

// trimming is what is to be left out of a log.
type trimming struct {
	lineage *session.Lineage
	nodes   []int  // of records, their place in the lineage; -1 for the first lines
	plain   []bool // of entries, whether a compaction takes their place
	asked   []bool // of entries, whether a person said it
	goes    []bool // of entries
	last    squeeze
	models  bool // a change of the model was seen
	torn    bool // the last line is not whole
}

// squeeze is a compaction.
type squeeze struct {
	at        int // its entry; -1 for none
	firstKept string
	odd       bool // more may be sent than what it keeps
}

// lookToTrim reads a log and decides what goes. It returns an error that wraps
// [session.ErrUnsupported] for a log that is not understood.
func lookToTrim(ctx context.Context, log io.Reader) (*trimming, error) {
	t := &trimming{lineage: session.NewLineage()}
	var d decoder
	squeezes := map[int]squeeze{}
	err := jsonl.NewReader(log, jsonl.Options{}).Each(ctx, func(l jsonl.Line) error {
		if len(bytes.TrimSpace(l.Raw)) == 0 && l.NULBytes == 0 {
			return nil
		}
		err := d.decode(l.Raw)
		if err != nil && !l.Complete {
			t.torn = true
			return nil // the last line: it stays as it is
		}
		if err != nil || !l.Complete || l.NULBytes > 0 || d.entry.kind == unknown || d.entry.kind == contextEdit {
			return fmt.Errorf("%w: its line %d is no record that is known", session.ErrUnsupported, l.Number)
		}
		if d.entry.kind == compaction {
			squeezes[t.lineage.Len()] = squeezeOf(&d, l.Raw)
		}
		return t.take(&d, l.Number)
	})
	if err != nil {
		return nil, err
	}
	path := t.lineage.Path()
	t.last.at = -1
	for _, i := range path {
		if s, is := squeezes[i]; is {
			t.last = s
			t.last.at = i
		}
	}
	return t, t.decide(path)
}

// take notes one record.
func (t *trimming) take(d *decoder, line int) error {
	e := &d.entry
	if e.kind == header || string(e.name) == "title" {
		if len(t.nodes) > 1 {
			return fmt.Errorf("%w: its line %d belongs to its beginning", session.ErrUnsupported, line)
		}
		t.nodes = append(t.nodes, -1)
		return nil
	}
	t.nodes = append(t.nodes, t.lineage.Len())
	if err := t.lineage.Add(string(e.id), string(e.parent)); err != nil {
		return err
	}
	plain := e.kind == compaction
	switch string(d.role) {
	case "user", "assistant", "bashExecution":
		plain = e.kind == message
	case "toolResult":
		plain = e.kind == message && plainTools[string(d.message.ToolName)]
	}
	t.models = t.models || string(e.name) == "model_change"
	t.plain = append(t.plain, plain || string(e.name) == "custom" && plainCustom[string(d.message.CustomType)])
	t.asked = append(t.asked, e.kind == message && string(d.role) == "user")
	return nil
}

// squeezeOf reads a compaction.
func squeezeOf(d *decoder, raw []byte) squeeze {
	s := squeeze{firstKept: string(d.entry.firstKept)}
	top, err := jsonl.Members(raw, 0, len(raw))
	s.odd = err != nil
	for _, m := range top {
		s.odd = s.odd || m.Key == "providerReplayThroughEntryId" || m.Key == "preserveData"
	}
	for _, m := range jsonl.Within(raw, top, "details") {
		s.odd = s.odd || m.Key == "kind"
	}
	return s
}

// decide says what goes: on the way to the last entry, what stands before the first
// entry that the last compaction keeps. The first question stays, by which the
// session is listed.
func (t *trimming) decide(path []int) error {
	t.goes = make([]bool, t.lineage.Len())
	if t.last.at < 0 {
		return nil
	}
	first, found := t.lineage.Find(t.last.firstKept)
	switch {
	case t.last.odd:
		return fmt.Errorf("%w: its last compaction keeps more than its entries", session.ErrUnsupported)
	case !t.models:
		return fmt.Errorf("%w: it names its model in its messages only", session.ErrUnsupported)
	}
	question, before := true, true
	for _, i := range path {
		if i == first && found && i != t.last.at {
			before = false
		}
		if i == t.last.at && before {
			return fmt.Errorf("%w: what its last compaction keeps is not before it", session.ErrUnsupported)
		}
		if !before {
			continue
		}
		if t.asked[i] && question {
			question = false
			continue
		}
		t.goes[i] = t.plain[i]
	}
	return nil
}

// Trim writes what oh-my-pi needs of a log to go on: every entry hangs on the nearest
// one that stays, and every other byte of it is what it was. log must have size bytes.
//
// It returns an error that wraps [session.ErrUnsupported] for a log with a line that
// is not known, and for one whose compaction was not compared with the program.
func Trim(ctx context.Context, w io.Writer, log io.ReaderAt, size int64) error {
	if err := takesOverlay(io.NewSectionReader(log, 0, size)); err != nil {
		return err
	}
	t, err := lookToTrim(ctx, io.NewSectionReader(log, 0, size))
	if err != nil {
		return err
	}
	return session.Records{Log: log, Size: size, Number: len(t.nodes), Torn: t.torn}.Write(ctx, w, func(whole *io.SectionReader, record int) error {
		return t.line(w, whole, t.nodes[record])
	})
}

// line writes one line, if it stays.
func (t *trimming) line(w io.Writer, whole *io.SectionReader, node int) error {
	parent, moved := "", false
	if node >= 0 {
		if t.goes[node] {
			return nil
		}
		parent, moved = t.lineage.Parent(node, func(i int) bool { return t.goes[i] })
	}
	if !moved {
		_, err := io.Copy(w, whole)
		return err
	}
	return session.WriteChanged(w, whole, func(_ []byte, top []jsonl.Member) []jsonl.Edit {
		return session.HangOn(top, "parentId", parent)
	})
}
