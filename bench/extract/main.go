// Command extract is the product's side of the benchmark "read, extract and
// chunk": it does with one pi log what a compaction does with it before
// anything is stored, in one process and with the product's own packages. It
// prints how many messages, chunks and code points there were.
//
//	extract LOG            without looking for secrets, as the peers do
//	extract --check LOG    the same, and a hash of all chunks
//	extract --redact LOG   redacted, as a compaction stores it
package main

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

func main() {
	var e extractor
	if len(os.Args) > 2 {
		e.check, e.redact = os.Args[1] == "--check", os.Args[1] == "--redact"
	}
	if err := e.run(os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "extract:", err)
		os.Exit(1)
	}
	fmt.Print(e.messages, " ", e.chunks, " ", e.runes)
	if e.check {
		fmt.Print(" ", e.crc)
	}
	fmt.Println()
}

// extractor counts, and with check hashes, what is cut from one log.
type extractor struct {
	check    bool
	redact   bool
	text     []byte
	messages int
	chunks   int
	runes    int
	crc      uint32
}

func (e *extractor) run(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	cut := chunk.New(chunk.Options{}, func(c *chunk.Chunk) error {
		e.chunks++
		e.runes += c.Runes
		if e.check {
			e.crc = crc32.Update(e.crc, crc32.IEEETable, c.Text)
		}
		return nil
	})
	scan, err := piformat.Scan(context.Background(), file, session.ScanOptions{}, func(m *session.Message) error {
		return e.add(cut, m)
	})
	if err != nil {
		return err
	}
	if scan.Tree.Forked() {
		return errors.New("the log has forks: a second pass would be needed")
	}
	return cut.Flush()
}

// add hands a message to the chunker as compact does.
func (e *extractor) add(cut *chunk.Chunker, m *session.Message) error {
	if !m.Embeddable() {
		return nil
	}
	e.messages++
	e.text = m.AppendText(e.text[:0])
	clean, _ := session.Clean(e.text)
	if e.redact {
		clean, _ = secrets.RedactBytes(clean)
	}
	return cut.Add(chunk.Piece{
		Label: m.Label(), Text: clean, Message: m.Ordinal, Line: m.Line,
		Offset: m.Offset, End: m.Offset + m.Length, Time: m.Time, Abandoned: m.Branch == session.Abandoned,
	})
}
