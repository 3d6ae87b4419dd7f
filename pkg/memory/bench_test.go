package memory_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
)

// chunkText makes a text of about 3,500 characters whose words are as unevenly
// common as those of real texts.
func chunkText(random *rand.Rand, words []string) string {
	text := make([]byte, 0, 3600)
	for len(text) < 3500 {
		f := random.Float64()
		text = append(append(text, words[int(float64(len(words))*f*f*f)]...), ' ')
	}
	return string(text[:3500])
}

// Storing 3,500-character chunks: one operation is one record of a session of
// b.N.
func BenchmarkPut(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	words := vocabulary(random, 20_000)
	texts := make([]string, 256)
	for i := range texts {
		texts[i] = chunkText(random, words)
	}
	s, err := memory.Open(context.Background(), b.TempDir(), memory.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	b.SetBytes(3500)
	b.ReportAllocs()
	_, err = s.Put(context.Background(), memory.Source{}, func(yield func(memory.Record, error) bool) {
		for i := 0; b.Loop(); i++ {
			if !yield(record(i, texts[i%len(texts)]), nil) {
				return
			}
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}

// Recall among chunks with a query of common words.
func BenchmarkRecall(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			words := vocabulary(random, 20_000)
			s, _ := newStore(b)
			var records []memory.Record
			for i := range n {
				records = append(records, record(i, chunkText(random, words)))
			}
			put(b, s, records...)
			embedAll(b, s, "a")
			for i := 0; b.Loop(); i++ {
				recall(b, s, memory.Query{Text: words[i%10] + " " + words[100+i%100] + " " + words[5000+i%1000], Agent: "a"})
			}
		})
	}
}
