package smallpackages_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/chunk"
)

// chunkFailer is a test or a property test.
type chunkFailer interface{ Fatal(args ...any) }

// cut runs the chunker and copies what it emits.
func chunksOf(t chunkFailer, o chunk.Options, pieces []chunk.Piece) []chunk.Chunk {
	var out []chunk.Chunk
	c := chunk.New(o, func(c *chunk.Chunk) error {
		kept := *c
		kept.Text, kept.Label = bytes.Clone(c.Text), bytes.Clone(c.Label)
		out = append(out, kept)
		return nil
	})
	for _, p := range pieces {
		text := bytes.Clone(p.Text)
		p.Text = text
		if err := c.Add(p); err != nil {
			t.Fatal(err)
		}
		clear(text) // the caller may reuse it
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	return out
}

func chunkPiece(i int, label, text string) chunk.Piece {
	return chunk.Piece{
		Label: label, Text: []byte(text), Message: i, Line: 2*i + 2,
		Offset: int64(1000 * i), End: int64(1000*i + 900), Time: int64(1_770_000_000_000 + i),
	}
}

func TestChunkBlockLayout(t *testing.T) {
	got := chunksOf(t, chunk.Options{}, []chunk.Piece{
		chunkPiece(0, "[Human]", "  Why does it hang?\n"),
		chunkPiece(1, "[Agent]", "Let me look.\n\nOne moment."),
		chunkPiece(2, "[Tool]", "\t \n"), // no text: no message
		chunkPiece(3, "[Tool]", "line 4812"),
		chunkPiece(4, "[Agent]", "Found it."),
		chunkPiece(5, "[Human]", "Good."),
	})
	want := []chunk.Chunk{
		{
			Text:  []byte("[Human]: Why does it hang?\n\n[Agent]: Let me look.\n\nOne moment.\n\n[Tool]: line 4812\n\n[Agent]: Found it."),
			Runes: 101, LastMessage: 4, FirstLine: 2, LastLine: 10, EndByte: 4900, Time: 1_770_000_000_000,
		},
		{
			Text: []byte("[Human]: Good."), Runes: 14, FirstMessage: 5, LastMessage: 5, FirstLine: 12, LastLine: 12,
			FirstByte: 5000, EndByte: 5900, Time: 1_770_000_000_005, Position: 1,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestChunkNothing(t *testing.T) {
	for _, pieces := range [][]chunk.Piece{nil, {chunkPiece(0, "[Human]", "")}, {chunkPiece(0, "[Human]", " \n"), chunkPiece(1, "[Agent]", "\u2003")}} {
		if got := chunksOf(t, chunk.Options{}, pieces); len(got) != 0 {
			t.Errorf("%d chunks of nothing", len(got))
		}
	}
}

// TestChunkBoundaries pins the number of windows around every length at which it
// changes, and their bounds, for one message a block and for code points of
// every width.
func TestChunkBoundaries(t *testing.T) {
	const label = "[Human]"
	tests := []struct {
		runes int // of the block
		ends  []int
	}{
		{10, []int{10}},
		{3299, []int{3299}}, {3300, []int{3300}}, {3301, []int{3301}},
		{3499, []int{3499}}, {3500, []int{3500}}, {3501, []int{3500, 3501}},
		{3699, []int{3500, 3699}}, {3700, []int{3500, 3700}}, {3701, []int{3500, 3701}},
		{6599, []int{3500, 6599}}, {6600, []int{3500, 6600}}, {6601, []int{3500, 6601}},
		{6799, []int{3500, 6799}}, {6800, []int{3500, 6800}}, {6801, []int{3500, 6800, 6801}},
		{7000, []int{3500, 6800, 7000}}, {10100, []int{3500, 6800, 10100}}, {10101, []int{3500, 6800, 10100, 10101}},
	}
	for _, unit := range []string{"a", "é", "語", "🐟", "\x80", "\xf0\x9f"} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%d of %q", tt.runes, unit), func(t *testing.T) {
				body := tt.runes - len(label+": ")
				text := strings.Repeat(unit, body)
				if unit == "\xf0\x9f" { // two code points
					text = text[:body]
				}
				whole := splitRunes(label + ": " + text)
				got := chunksOf(t, chunk.Options{}, []chunk.Piece{chunkPiece(0, label, text)})
				if len(got) != len(tt.ends) {
					t.Fatalf("%d chunks, want %d", len(got), len(tt.ends))
				}
				for i, end := range tt.ends {
					from := i * 3300
					if want := strings.Join(whole[from:end], ""); string(got[i].Text) != want || got[i].Runes != end-from {
						t.Errorf("chunk %d: %d code points, want [%d:%d]", i, got[i].Runes, from, end)
					}
				}
			})
		}
	}
}

// TestChunkCoverage puts message boundaries exactly at, before and after window
// boundaries.
func TestChunkCoverage(t *testing.T) {
	for _, first := range []int{3297, 3298, 3299, 3300, 3301, 3495, 3496, 3497, 3498, 3499, 3500, 3501} {
		text := strings.Repeat("x", first-len("[Human]: "))
		pieces := []chunk.Piece{chunkPiece(0, "[Human]", text), chunkPiece(1, "[Agent]", strings.Repeat("y", 4000))}
		got, want := chunksOf(t, chunk.Options{}, pieces), referenceChunks(chunkReferenceOptions{3500, 200, 4}, pieces)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("first message %d code points: %s", first, diff)
		}
		// The label of the second message begins at first+2.
		if last := got[0].LastMessage; (last == 1) != (first+2 < 3500) {
			t.Errorf("first message %d code points: the first window ends in message %d", first, last)
		}
		// The second window begins at 3300.
		if m := got[1].FirstMessage; (m == 0) != (first > 3300) {
			t.Errorf("first message %d code points: the second window begins in message %d", first, m)
		}
	}
}

func TestChunkAbandonedApart(t *testing.T) {
	var pieces []chunk.Piece
	for i := range 7 {
		p := chunkPiece(i, "[Human]", fmt.Sprintf("message %d", i))
		p.Abandoned = i == 2 || i == 3
		pieces = append(pieces, p)
	}
	got := chunksOf(t, chunk.Options{}, pieces)
	var ranges []string
	for _, c := range got {
		ranges = append(ranges, fmt.Sprint(c.FirstMessage, "-", c.LastMessage, " ", c.Abandoned))
	}
	if diff := cmp.Diff([]string{"0-1 false", "2-3 true", "4-6 false"}, ranges); diff != "" {
		t.Error(diff)
	}
}

func TestChunkEmitError(t *testing.T) {
	full := errors.New("disk full")
	calls := 0
	c := chunk.New(chunk.Options{}, func(*chunk.Chunk) error { calls++; return full })
	long := chunkPiece(0, "[Human]", strings.Repeat("word ", 5000))
	if err := c.Add(long); !errors.Is(err, full) {
		t.Errorf("Add: %v", err)
	}
	if err := c.Add(long); !errors.Is(err, full) {
		t.Errorf("second Add: %v", err)
	}
	if err := c.Flush(); !errors.Is(err, full) || calls != 1 {
		t.Errorf("Flush: %v after %d calls, want the error and one call", err, calls)
	}
}

// anyText draws text of mixed scripts, sometimes long, sometimes not UTF-8.
func anyChunkText(t *rapid.T, broken bool) string {
	kinds := []*rapid.Generator[string]{
		rapid.String(),
		rapid.StringMatching(`[a-z .\n]{0,60}`),
		rapid.StringOf(rapid.RuneFrom([]rune("日本語の文字列🐟é–\u00a0"))),
		rapid.StringOf(rapid.RuneFrom([]rune("日本語字"))),
		rapid.Map(rapid.IntRange(1, 300), func(n int) string { return strings.Repeat("aé語🐟", n) }),
	}
	if broken {
		kinds = append(kinds,
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.SliceOf(rapid.SampledFrom([]byte{0x80, 0xBF, 0xC3, 0xE4, 0xB8, 0xF0, 0x9F, 0xFF, 'a'})), func(b []byte) string { return string(b) }),
		)
	}
	return strings.Join(rapid.SliceOfN(rapid.OneOf(kinds...), 0, 4).Draw(t, "text"), "")
}

func anyChunkPieces(t *rapid.T, broken bool) []chunk.Piece {
	var pieces []chunk.Piece
	for i := range rapid.IntRange(0, 12).Draw(t, "messages") {
		text := anyChunkText(t, broken)
		if strings.TrimSpace(text) == "" {
			continue
		}
		p := chunkPiece(i, rapid.SampledFrom([]string{"[Human]", "[Agent]", "[Tool]", "", "[Être]"}).Draw(t, "label"), text)
		p.Abandoned = rapid.IntRange(0, 5).Draw(t, "branch") == 0
		pieces = append(pieces, p)
	}
	return pieces
}

func TestChunkEqualsReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(16, 60), rapid.IntRange(61, 4000)).Draw(t, "size")
		overlap := rapid.IntRange(1, size/2).Draw(t, "overlap")
		if rapid.IntRange(0, 9).Draw(t, "none") == 0 {
			overlap = 0
		}
		o := chunkReferenceOptions{size, overlap, rapid.IntRange(1, 6).Draw(t, "block")}
		pieces := anyChunkPieces(t, rapid.Bool().Draw(t, "broken"))
		asked := chunk.Options{Size: o.size, Overlap: o.overlap, Block: o.block}
		if overlap == 0 {
			asked.Overlap = -1
		}
		if diff := cmp.Diff(referenceChunks(o, pieces), chunksOf(t, asked, pieces)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestChunkWindowRule checks what recall relies on, without the reference: within a
// block, neighbours share exactly the overlap, and joined without it they are
// the block, so every message's text is there.
func TestChunkWindowRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := anyChunkPieces(t, false)
		o := chunk.Options{Size: rapid.IntRange(16, 400).Draw(t, "size"), Overlap: 8}
		chunks := chunksOf(t, o, pieces)
		joined := ""
		for i, c := range chunks {
			text := string(c.Text)
			if !utf8.ValidString(text) || utf8.RuneCountInString(text) != c.Runes || c.Runes > o.Size {
				t.Fatalf("chunk %d: %d code points claimed, %d found, limit %d", i, c.Runes, utf8.RuneCountInString(text), o.Size)
			}
			if i > 0 && chunks[i-1].Runes == o.Size && chunks[i-1].LastMessage >= c.FirstMessage {
				before, after := []rune(string(chunks[i-1].Text)), []rune(text)
				if string(before[len(before)-8:]) != string(after[:8]) || len(after) <= 8 {
					t.Fatalf("chunks %d and %d do not overlap by 8", i-1, i)
				}
				text = string(after[8:])
			} else if i > 0 {
				joined += "|"
			}
			joined += text
		}
		for _, p := range pieces {
			if !strings.Contains(joined, strings.TrimSpace(string(p.Text))) {
				t.Fatalf("the text of message %d is in no chunk", p.Message)
			}
		}
	})
}

func TestChunkOptions(t *testing.T) {
	text := strings.Repeat("x", 100)
	for name, tt := range map[string]struct {
		options chunk.Options
		same    chunkReferenceOptions
	}{
		"size at least 16":        {chunk.Options{Size: 3, Overlap: 2}, chunkReferenceOptions{16, 2, 4}},
		"overlap at most half":    {chunk.Options{Size: 20, Overlap: 19}, chunkReferenceOptions{20, 10, 4}},
		"default overlap is half": {chunk.Options{Size: 20}, chunkReferenceOptions{20, 10, 4}},
		"negative block":          {chunk.Options{Block: -1}, chunkReferenceOptions{3500, 200, 1}},
	} {
		pieces := []chunk.Piece{chunkPiece(0, "[Human]", text), chunkPiece(1, "[Agent]", text)}
		if diff := cmp.Diff(referenceChunks(tt.same, pieces), chunksOf(t, tt.options, pieces)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestChunkNoAllocationPerChunk(t *testing.T) {
	text := []byte(strings.Repeat("word é 語 ", 100_000))
	c := chunk.New(chunk.Options{}, func(*chunk.Chunk) error { return nil })
	work := func() {
		if err := errors.Join(c.Add(chunk.Piece{Label: "[Human]", Text: text}), c.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	work()
	if n := testing.AllocsPerRun(5, work); n != 0 {
		t.Errorf("%v allocations for 273 chunks, want none", n)
	}
}

// A window that begins inside a message says who speaks; the others say it in
// their text.
func TestChunkWindowsNameTheirSpeaker(t *testing.T) {
	var got []string
	c := chunk.New(chunk.Options{Size: 40, Overlap: -1}, func(c *chunk.Chunk) error {
		got = append(got, string(c.Label)+"|"+string(c.Text))
		return nil
	})
	for _, p := range []chunk.Piece{{Label: "[Human]", Text: []byte("why does it hang")}, {Label: "[Tool]", Text: []byte("a long output that goes on and on and on")}} {
		if err := c.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	want := []string{"|[Human]: why does it hang\n\n[Tool]: a lon", "[Tool]: |g output that goes on and on and on"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
