package jsonl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/samples"
)

// benchmarkSize is how long a corpus is at least, in bytes: more than fits
// into the processor's caches.
const benchmarkSize = 20 << 20

// eachCorpus runs f on a made log and, where it is, on a real one.
func eachCorpus(b *testing.B, f func(b *testing.B, log []byte)) {
	run := func(name string, log []byte) {
		log = bytes.Repeat(log, 1+benchmarkSize/len(log))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			f(b, log)
		})
	}
	run("made", madeLog())
	if len(samples.Matching(b, "samples/pi/large-session.jsonl")) > 0 {
		run("pi", samples.Read(b, "pi/large-session.jsonl"))
	}
}

// madeLog makes about a megabyte of a log with the proportions of pi's: a third
// of the bytes is text, an escape comes every seventeen bytes, most strings are
// short.
func madeLog() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields(`the file error return "name" func := if err != nil { } session log line // comment 42 path/to/file.go \d+ agent`)
	prose := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(words[r.IntN(len(words))])
			b.WriteString([]string{" ", " ", " ", "\n", "\n\t"}[r.IntN(5)])
		}
		return string(AppendQuoted(nil, b.String()))
	}
	var b bytes.Buffer
	for i := 0; b.Len() < 1<<20; i++ {
		id, stamp := fmt.Sprintf("%08x", r.Uint32()), fmt.Sprintf("2026-01-10T09:%02d:%02d.%03dZ", i/60%60, i%60, i%1000)
		fmt.Fprintf(&b, `{"type":"message","id":%q,"parentId":"%08x","timestamp":%q,"message":{`, id, r.Uint32(), stamp)
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, `"role":"user","content":[{"type":"text","text":%s}],"timestamp":%d}}`, prose(10+r.IntN(60)), 1768035600000+i)
		case 2:
			fmt.Fprintf(&b, `"role":"toolResult","toolCallId":"toolu_%s","toolName":"read","content":[{"type":"text","text":%s}],"details":{"diff":%s,"lines":%d},"isError":false,"timestamp":%d}}`,
				id, prose(20+r.IntN(400)), prose(r.IntN(100)), i, 1768035600000+i)
		default:
			fmt.Fprintf(&b, `"role":"assistant","content":[{"type":"thinking","thinking":%s,"thinkingSignature":"%s"},{"type":"text","text":%s},{"type":"toolCall","id":"toolu_%s","name":"bash","arguments":{"command":%s}}],`,
				prose(r.IntN(40)), strings.Repeat("QUJDREVG", 20), prose(r.IntN(60)), id, prose(r.IntN(20)))
			fmt.Fprintf(&b, `"api":"anthropic-messages","provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":%d,"output":%d,"cacheRead":%d,"cacheWrite":0,"totalTokens":%d,"cost":{"input":0.000009,"output":0.002865,"cacheRead":0,"cacheWrite":0.006315,"total":0.009189}},"stopReason":"toolUse","timestamp":%d}}`,
				r.IntN(100), r.IntN(5000), r.IntN(200000), r.IntN(200000), 1768035600000+i)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func BenchmarkReader(b *testing.B) {
	eachCorpus(b, func(b *testing.B, log []byte) {
		for b.Loop() {
			r := NewReader(bytes.NewReader(log), Options{})
			for {
				if _, err := r.Next(); err != nil {
					break
				}
			}
		}
	})
}

func BenchmarkBackwardReader(b *testing.B) {
	eachCorpus(b, func(b *testing.B, log []byte) {
		for b.Loop() {
			r := NewBackwardReader(bytes.NewReader(log), int64(len(log)), Options{})
			for {
				if _, err := r.Prev(); err != nil {
					break
				}
			}
		}
	})
}

// BenchmarkWalk goes to every key and value and reads no string.
func BenchmarkWalk(b *testing.B) {
	benchmarkScan(b, func(c *Cursor, _ *extract) error {
		walk(c)
		return c.End()
	})
}

// BenchmarkSkip only checks that every line is JSON.
func BenchmarkSkip(b *testing.B) {
	benchmarkScan(b, func(c *Cursor, _ *extract) error { return c.End() })
}

// BenchmarkDecode reads text, role, names, times, raw arguments and usage, as
// an adapter does.
func BenchmarkDecode(b *testing.B) {
	benchmarkScan(b, func(c *Cursor, e *extract) error { return e.record(c) })
}

func benchmarkScan(b *testing.B, decode func(*Cursor, *extract) error) {
	eachCorpus(b, func(b *testing.B, log []byte) {
		var c Cursor
		var e extract
		for b.Loop() {
			counts, err := Scan(context.Background(), bytes.NewReader(log), Options{}, func(r *Record) error {
				c.Reset(r.Raw)
				return decode(&c, &e)
			})
			if err != nil || counts.Bad > 0 {
				b.Fatal(counts, err)
			}
		}
	})
}

// BenchmarkDecodeEncodingJSON reads the same fields with encoding/json.
func BenchmarkDecodeEncodingJSON(b *testing.B) {
	eachCorpus(b, func(b *testing.B, log []byte) {
		log = log[:bytes.LastIndexByte(log[:len(log)/10], '\n')+1]
		b.SetBytes(int64(len(log)))
		for b.Loop() {
			var e extract
			_, err := Scan(context.Background(), bytes.NewReader(log), Options{}, func(r *Record) error { return e.recordByEncodingJSON(r.Raw) })
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestBenchmarksDoTheSame checks that both decoders see the same, or comparing
// their speed means nothing.
func TestBenchmarksDoTheSame(t *testing.T) {
	var own, std extract
	var c Cursor
	_, err := Scan(context.Background(), bytes.NewReader(madeLog()), Options{}, func(r *Record) error {
		c.Reset(r.Raw)
		return errors.Join(own.record(&c), std.recordByEncodingJSON(r.Raw))
	})
	if err != nil || own != std || own.text == 0 || own.tokens == 0 {
		t.Errorf("the cursor read %+v, encoding/json %+v, %v", own, std, err)
	}
}

// extract adds up what was read.
type extract struct{ text, tokens int64 }

func (e *extract) bytes(c *Cursor) {
	b, _ := c.Bytes()
	e.text += int64(len(b))
}

func (e *extract) record(c *Cursor) error {
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "type", "timestamp":
			e.bytes(c)
		case "message":
			e.message(c)
		}
	}
	return c.End()
}

func (e *extract) message(c *Cursor) {
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "role", "toolName":
			e.bytes(c)
		case "content":
			e.content(c)
		case "usage":
			e.usage(c)
		}
	}
}

func (e *extract) content(c *Cursor) {
	for ok := c.EnterArray(); ok && c.NextElement(); {
		for ok := c.EnterObject(); ok && c.NextKey(); {
			switch string(c.Key()) {
			case "type", "text", "thinking", "name":
				e.bytes(c)
			case "arguments":
				e.text += int64(len(c.Raw()))
			}
		}
	}
}

func (e *extract) usage(c *Cursor) {
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "input", "output", "cacheRead", "cacheWrite", "totalTokens":
			n, _ := c.Int64()
			e.tokens += n
		}
	}
}

func (e *extract) recordByEncodingJSON(raw []byte) error {
	var r struct {
		Type, Timestamp string
		Message         struct {
			Role, ToolName string
			Content        []struct {
				Type, Text, Thinking, Name string
				Arguments                  json.RawMessage
			}
			Usage struct{ Input, Output, CacheRead, CacheWrite, TotalTokens int64 }
		}
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	m := &r.Message
	e.text += int64(len(r.Type) + len(r.Timestamp) + len(m.Role) + len(m.ToolName))
	for _, part := range m.Content {
		e.text += int64(len(part.Type) + len(part.Text) + len(part.Thinking) + len(part.Name) + len(part.Arguments))
	}
	e.tokens += m.Usage.Input + m.Usage.Output + m.Usage.CacheRead + m.Usage.CacheWrite + m.Usage.TotalTokens
	return nil
}

// walk goes to every value and returns how many bytes of keys and values there
// are.
func walk(c *Cursor) int {
	n := 1
	switch c.Kind() {
	case Object:
		for c.EnterObject(); c.NextKey(); {
			n += len(c.Key()) + walk(c)
		}
	case Array:
		for c.EnterArray(); c.NextElement(); {
			n += walk(c)
		}
	default:
		c.Skip()
	}
	return n
}
