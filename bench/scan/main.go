// Command scan is the limit that recall is held to: it reads every vector of a
// memory and compares it with a query, and does nothing else. It also makes the
// memories that are searched.
//
//	scan fill HOME N   a memory of N records with vectors, as the product keeps it
//	scan run HOME      prints the ids of the five nearest records
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/viterin/vek/vek32"

	"github.com/sessctl/sessctl/pkg/embed"
)

// question is what is asked of every memory.
const question = "which port did the importer get, and who chose it"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "scan:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "fill":
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		return fill(context.Background(), args[1], n)
	case len(args) == 2 && args[0] == "run":
		ids, err := nearest(args[1])
		fmt.Println(strings.Join(ids, " "))
		return err
	}
	return errors.New("want fill HOME N or run HOME")
}

// memoryDir is where the product keeps the memory of a home directory.
func memoryDir(home string) string {
	return filepath.Join(home, ".local", "share", "sessctl", "memory")
}

// nearest compares all vectors with the question, 1024 at a time. Row i is that
// of record i.
func nearest(home string) ([]string, error) {
	builtin, err := embed.NewBuiltin()
	if err != nil {
		return nil, err
	}
	query, err := builtin.EmbedQuery(context.Background(), question)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(floatsOf(home))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	best, err := scan(f, query)
	ids := make([]string, len(best))
	for i, s := range best {
		ids[i] = idOf(s.row)
	}
	return ids, err
}

type scored struct {
	row    int
	cosine float32
}

func scan(f io.Reader, query []float32) ([]scored, error) {
	const rows, keep = 1024, 5
	block := make([]float32, rows*len(query))
	raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(block))), 4*len(block))
	var best []scored
	for first := 0; ; first += rows {
		n, err := io.ReadFull(f, raw)
		for i := range n / (4 * len(query)) {
			cosine := vek32.Dot(query, block[i*len(query):][:len(query)])
			if len(best) < keep || cosine > best[len(best)-1].cosine {
				best = append(best, scored{first + i, cosine})
				slices.SortFunc(best, func(x, y scored) int { return cmp.Compare(y.cosine, x.cosine) })
				best = best[:min(keep, len(best))]
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return best, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
