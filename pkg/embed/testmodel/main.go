// Testmodel writes a small embedding model as a GGUF file that an Ollama server
// loads like any other:
//
//	testmodel -words 4000 pkg/embed/glove40k.bin >model.gguf
//
// It has the architecture, the dimension and the context length of
// nomic-embed-text, and none of its weights. Attention and feed-forward layers
// are zero, so a text's vector is the mean of its words' vectors: those of the
// built-in word table, the frequent ones held back, turned into 768 dimensions
// by a random matrix. That is enough to try everything that a real server does
// (tokens, pooling, limits, batches, digests), and to find texts by their
// meaning. Another seed is another model of the same words.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/sessctl/sessctl/pkg/embed/internal/wordtable"
)

func main() {
	words := flag.Int("words", 4000, "how many words of the table, most frequent first")
	seed := flag.Uint64("seed", 1, "of the random matrix")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: testmodel [-words N] [-seed N] pkg/embed/glove40k.bin >model.gguf")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), options{*words, *seed}, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testmodel:", err)
		os.Exit(1)
	}
}

type options struct {
	words int
	seed  uint64
}

func run(path string, o options, out io.Writer) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read word table: %w", err)
	}
	table, err := wordtable.Open(string(data))
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	buffered := bufio.NewWriterSize(out, 1<<20)
	if err := newModel(&table, o).write(buffered); err != nil {
		return err
	}
	return buffered.Flush()
}
