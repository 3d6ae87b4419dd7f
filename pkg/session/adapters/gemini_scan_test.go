package adapters_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/gemini"
)

// geminiReporter is what tests, fuzzing and properties have in common.
type geminiReporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// geminiLine is a message as plain values.
type geminiLine struct {
	Line   int
	ID     string
	Role   string
	Custom string
	Text   string
	CallID string
	Exit   string
	Error  bool
	Branch string
}

func geminiLineOf(m *session.Message) geminiLine {
	l := geminiLine{
		Line: m.Line, ID: string(m.ID), Role: m.Role.String(), Custom: string(m.CustomType), Text: string(m.AppendText(nil)),
		CallID: string(m.CallID), Error: m.IsError, Branch: m.Branch.String(),
	}
	if m.HasExit {
		l.Exit = strconv.Itoa(m.ExitCode)
	}
	return l
}

// geminiScanned is what both passes over a chat say; the branches are those of the
// second, "repeated" for what it leaves out.
func geminiScanned(t geminiReporter, log []byte) (first session.Scan, lines []geminiLine) {
	t.Helper()
	read := func(o session.ScanOptions) (session.Scan, map[int]geminiLine) {
		byOrdinal := map[int]geminiLine{}
		scan, err := new(gemini.Store).Scan(context.Background(), bytes.NewReader(log), o, func(m *session.Message) error {
			if place := log[m.Offset : m.Offset+m.Length]; !json.Valid(place) || place[0] != '{' {
				t.Errorf("message %d: its place holds %q", m.Ordinal, place)
			}
			if at := bytes.Count(log[:m.Offset], []byte("\n")) + 1; at != m.Line {
				t.Errorf("message %d: line %d, its place is in line %d", m.Ordinal, m.Line, at)
			}
			byOrdinal[m.Ordinal] = geminiLineOf(m)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return scan, byOrdinal
	}
	first, active := read(session.ScanOptions{})
	_, branched := read(session.ScanOptions{Tree: first.Tree})
	var ordinals []int
	for n := range active {
		ordinals = append(ordinals, n)
	}
	slices.Sort(ordinals)
	for _, n := range ordinals {
		l := active[n]
		l.Branch = "repeated"
		if b, ok := branched[n]; ok {
			l.Branch = b.Branch
		}
		lines = append(lines, l)
	}
	return first, lines
}
