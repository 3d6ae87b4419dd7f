package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
)

// idOf is the id of a record. It is as long as a real one.
func idOf(row int) string { return fmt.Sprintf("%032x", row) }

// fill makes a memory. Texts are short and their words drawn from a small
// vocabulary; vectors are drawn at random, because a scan costs the same
// whatever they say, and have the built-in embedder's model and dimension.
func fill(ctx context.Context, home string, n int) error {
	store, err := memory.Open(ctx, memoryDir(home), memory.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	builtin, err := embed.NewBuiltin()
	if err != nil {
		return err
	}
	model := builtin.Model()
	model.Chunker = chunk.Version // as the product's own vectors have it
	r := rand.New(rand.NewPCG(uint64(n), 1))
	const page = 5000
	for first := 0; first < n; first += page {
		count := min(page, n-first)
		source := memory.Source{Runtime: "pi", Agent: "bench", Session: fmt.Sprintf("session-%d", first/page)}
		if _, err := store.Put(ctx, source, records(r, first, count)); err != nil {
			return err
		}
		if err := store.PutVectors(ctx, model, "bench", vectors(r, first, count, model.Dim), nil); err != nil {
			return err
		}
	}
	return writeFloats(ctx, store, floatsOf(home))
}

// floatsOf is where the vectors of a memory lie as float32, which is what the
// programs beside the product read.
func floatsOf(home string) string { return filepath.Join(home, "vectors.f32") }

// writeFloats writes the vectors of a memory as it has them. Row i is that of
// record i.
func writeFloats(ctx context.Context, store *memory.Store, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	_, err = store.Export(ctx, memory.ExportOptions{Vectors: true}, func(page []memory.Exported) error {
		for _, e := range page {
			if err := binary.Write(w, binary.LittleEndian, e.Vector); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, w.Flush(), f.Close())
}

func records(r *rand.Rand, first, n int) iter.Seq2[memory.Record, error] {
	return func(yield func(memory.Record, error) bool) {
		for row := first; row < first+n; row++ {
			text := fmt.Sprintf("record %d", row)
			for range 20 {
				text += fmt.Sprintf(" word%d", int(5000*r.Float64()*r.Float64()))
			}
			if r.IntN(200) == 0 {
				text += " the importer has a port"
			}
			ok := yield(memory.Record{
				ID: idOf(row), Text: text, Category: "session_history", Importance: 0.5,
				CreatedAt: 1_777_600_000_000 + int64(row)*1000, FirstLine: row, LastLine: row, Branch: "active", Position: row,
			}, nil)
			if !ok {
				return
			}
		}
	}
}

func vectors(r *rand.Rand, first, n, dim int) []memory.Vector {
	list := make([]memory.Vector, n)
	for i := range list {
		values := make([]float32, dim)
		for k := range values {
			values[k] = r.Float32() - 0.5
		}
		list[i] = memory.Vector{ID: idOf(first + i), Values: values}
	}
	return list
}
