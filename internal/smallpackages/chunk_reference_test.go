package smallpackages_test

import (
	"strings"

	"github.com/sessctl/sessctl/pkg/chunk"
)

// The rule written down as plainly as possible: build the whole block, turn it
// into a slice of code points, slice that as Python slices a string.

type chunkReferenceOptions struct{ size, overlap, block int }

// reference returns the chunks of messages that all have text.
func referenceChunks(o chunkReferenceOptions, pieces []chunk.Piece) []chunk.Chunk {
	var out []chunk.Chunk
	for _, block := range chunkBlocks(o.block, pieces) {
		for _, c := range chunkWindows(o, block) {
			c.Position = len(out)
			out = append(out, c)
		}
	}
	return out
}

func chunkBlocks(size int, pieces []chunk.Piece) [][]chunk.Piece {
	var out [][]chunk.Piece
	for _, p := range pieces {
		last := len(out) - 1
		if last < 0 || len(out[last]) == size || out[last][0].Abandoned != p.Abandoned {
			out = append(out, nil)
			last++
		}
		out[last] = append(out[last], p)
	}
	return out
}

func chunkWindows(o chunkReferenceOptions, block []chunk.Piece) []chunk.Chunk {
	var runes []string
	var owner []int // of each code point: index in block, or -1 between messages
	add := func(text string, who int) {
		for _, r := range splitRunes(text) {
			runes, owner = append(runes, r), append(owner, who)
		}
	}
	for i, p := range block {
		if i > 0 {
			add("\n\n", -1)
		}
		add(p.Label+": "+strings.TrimSpace(string(p.Text)), i)
	}
	if len(runes) <= o.size {
		return []chunk.Chunk{chunkCover(block, runes, owner)}
	}
	var out []chunk.Chunk
	for at := 0; ; at += o.size - o.overlap {
		end := min(at+o.size, len(runes))
		c := chunkCover(block, runes[at:end], owner[at:end])
		if at > 0 && owner[at] >= 0 && owner[at-1] == owner[at] { // it begins inside a message
			c.Label = []byte(block[owner[at]].Label + ": ")
		}
		out = append(out, c)
		if end == len(runes) {
			return out
		}
	}
}

func chunkCover(block []chunk.Piece, runes []string, owner []int) chunk.Chunk {
	c := chunk.Chunk{Text: []byte(strings.Join(runes, "")), Runes: len(runes), Abandoned: block[0].Abandoned}
	first := true
	for _, who := range owner {
		if who < 0 {
			continue
		}
		p := block[who]
		if first {
			c.FirstMessage, c.FirstLine, c.FirstByte, c.Time = p.Message, p.Line, p.Offset, p.Time
			first = false
		}
		c.LastMessage, c.LastLine, c.EndByte = p.Message, p.Line, p.End
	}
	return c
}

// split cuts a text into its code points, and bytes that belong to none.
func splitRunes(text string) []string {
	var out []string
	for len(text) > 0 {
		n := 1
		for _, lead := range []struct {
			mask, bits byte
			length     int
		}{{0xE0, 0xC0, 2}, {0xF0, 0xE0, 3}, {0xF8, 0xF0, 4}} {
			if text[0]&lead.mask == lead.bits && followedBy(text, lead.length) {
				n = lead.length
			}
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

func followedBy(text string, n int) bool {
	if len(text) < n {
		return false
	}
	for i := 1; i < n; i++ {
		if text[i]>>6 != 2 {
			return false
		}
	}
	return true
}
