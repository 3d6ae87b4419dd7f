package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/sessctl/sessctl/pkg/embed/internal/wordtable"
)

// The file is as long as its head says, has every tensor at a multiple of 32
// bytes, and the same words and seed make the same bytes.
func TestModelFile(t *testing.T) {
	data, err := wordtable.Build([]string{"the", "boat", "green"}, [][]float64{{1, 0}, {0, 1}, {0.5, 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	table, err := wordtable.Open(string(data))
	if err != nil {
		t.Fatal(err)
	}
	write := func(seed uint64) []byte {
		var b bytes.Buffer
		if err := newModel(&table, options{100, seed}).write(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	file := write(1)
	if !bytes.Equal(file, write(1)) || bytes.Equal(file, write(2)) {
		t.Error("the bytes do not follow from words and seed")
	}
	m := newModel(&table, options{100, 1})
	if n := binary.LittleEndian.Uint64(file[8:]); string(file[:4]) != "GGUF" || n != uint64(len(m.tensors())) {
		t.Errorf("%q, %d tensors", file[:4], n)
	}
	tail := int64(0)
	for _, x := range m.tensors() {
		tail += x.bytes() + padding(x.bytes())
	}
	if at := int64(len(file)) - tail; at%ggufAlignment != 0 || at < 1000 {
		t.Errorf("the tensors begin at %d", at)
	}
	if n := len(m.tokens); n != 5+6+2*94 {
		t.Errorf("%d tokens", n)
	}
}

func TestFloat16(t *testing.T) {
	for x, want := range map[float32]uint16{0: 0, 1: 0x3c00, -2: 0xc000, 100: 0x5640, 65504: 0x7bff, 1e9: 0x7bff, 1e-9: 0, 0.1: 0x2e66} {
		if got := float16(x); got != want {
			t.Errorf("%v is %#x, want %#x", x, got, want)
		}
	}
	if float16(float32(math.Copysign(0, -1))) != 0x8000 {
		t.Error("minus zero")
	}
}
