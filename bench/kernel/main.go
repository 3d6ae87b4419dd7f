// Command kernel runs the two loops that every byte of a session goes through,
// alone and on a log that is in memory already: decoding and chunking. Each has
// a counterpart that does the same in the way of a plain Go program. It prints
// the answer, and on a line of its own what the loop itself cost:
//
//	kernel decode|decode-std|cut|cut-runes LOG
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	err := run(out, os.Args[1:])
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kernel:", err)
		os.Exit(1)
	}
}

func run(out *bufio.Writer, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want a loop and a log, got %q", args)
	}
	log, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	loop, err := loopOf(args[0], log)
	if err != nil {
		return err
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := cpuTime()
	answer, err := loop()
	spent := cpuTime() - start
	runtime.ReadMemStats(&after)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\ncpu %d allocs %d bytes %d\n", answer, spent.Nanoseconds(), after.Mallocs-before.Mallocs, len(log))
	return err
}

// loopOf returns a loop, with what it needs made ready.
func loopOf(name string, log []byte) (func() (string, error), error) {
	switch name {
	case "decode":
		return func() (string, error) { return decode(log) }, nil
	case "decode-std":
		return func() (string, error) { return decodeStandard(log) }, nil
	case "cut":
		pieces, err := piecesOf(log)
		return func() (string, error) { return cut(pieces) }, err
	case "cut-runes":
		pieces, err := piecesOf(log)
		return func() (string, error) { return cutRunes(pieces), nil }, err
	}
	return nil, fmt.Errorf("no loop %q", name)
}

// decode reads every message with the product's own decoder.
func decode(log []byte) (string, error) {
	var t tally
	_, err := piformat.Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
		if m.Role != session.RoleUser && m.Role != session.RoleAssistant && m.Role != session.RoleToolResult {
			return nil
		}
		t.messages++
		if m.HasUsage {
			t.tokens += m.Usage.Total
		}
		for i := range m.Parts {
			switch p := &m.Parts[i]; p.Kind {
			case session.PartText:
				t.text(p.Text)
			case session.PartToolCall:
				t.text(p.Name)
				t.text(p.Text)
			}
		}
		return nil
	})
	return t.String(), err
}

// piecesOf returns the texts of a log as the chunker gets them.
func piecesOf(log []byte) ([]chunk.Piece, error) {
	var pieces []chunk.Piece
	_, err := piformat.Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
		if m.Embeddable() {
			pieces = append(pieces, chunk.Piece{Label: m.Label(), Text: bytes.TrimSpace(m.AppendText(nil))})
		}
		return nil
	})
	return pieces, err
}

// cut cuts with the product's chunker.
func cut(pieces []chunk.Piece) (string, error) {
	var t cutTally
	c := chunk.New(chunk.Options{}, func(c *chunk.Chunk) error {
		t.add(len(c.Text), c.Runes)
		return nil
	})
	for _, p := range pieces {
		if err := c.Add(p); err != nil {
			return "", err
		}
	}
	err := c.Flush()
	return t.String(), err
}

// cutRunes cuts as a plain program does: code points in a slice.
func cutRunes(pieces []chunk.Piece) string {
	const size, overlap, block = 3500, 200, 4
	var t cutTally
	for first := 0; first < len(pieces); first += block {
		var text []byte
		for i, p := range pieces[first:min(first+block, len(pieces))] {
			if i > 0 {
				text = append(text, "\n\n"...)
			}
			text = append(append(append(text, p.Label...), ": "...), p.Text...)
		}
		runes := []rune(string(text))
		for start := 0; ; start += size - overlap {
			window := string(runes[start:min(start+size, len(runes))])
			t.add(len(window), min(size, len(runes)-start))
			if start+size >= len(runes) {
				break
			}
		}
	}
	return t.String()
}

// cutTally is what was cut. Whether the very bytes are those of the others is
// checked where the peers read, extract and cut the same log.
type cutTally struct{ chunks, bytes, runes int }

func (t *cutTally) add(bytes, runes int) {
	t.chunks++
	t.bytes += bytes
	t.runes += runes
}

func (t *cutTally) String() string { return fmt.Sprint(t.chunks, t.bytes, t.runes) }
