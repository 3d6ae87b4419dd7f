package memory

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/philippgille/chromem-go"
	"github.com/viterin/vek/vek32"
)

// chromemLimit is how many rows chromem-go is asked to search; above it the
// exact scan is faster (research/memory-store.md section 0).
const chromemLimit = 20_000

// scanBlock is how many rows the scan reads at a time.
const scanBlock = 256

// place names one vector: the record it belongs to, its file and row.
type place struct {
	record int64
	file   string
	slot   int64
	crc    uint32
}

// scored is a record and its cosine with the query.
type scored struct {
	record int64
	cosine float64
}

// engine finds the nearest vectors among places. All engines give the same
// answer: exact, best first, equal cosines by record.
type engine interface {
	nearest(ctx context.Context, query []float32, places []place, n int) ([]scored, error)
}

func engineFor(rows int) engine {
	if rows <= chromemLimit {
		return chromemEngine{}
	}
	return scanEngine{}
}

// eachRow hands out the rows of places that verify, file by file in order of
// slots. The row is valid until fn returns. A row that is lost or damaged is
// passed over: its record is found by its text.
func eachRow(ctx context.Context, places []place, dim int, fn func(p place, row []float32) error) error {
	byFile := slices.Clone(places)
	slices.SortFunc(byFile, func(x, y place) int { return cmp.Or(cmp.Compare(x.file, y.file), cmp.Compare(x.slot, y.slot)) })
	for len(byFile) > 0 {
		n := 1
		for n < len(byFile) && byFile[n].file == byFile[0].file {
			n++
		}
		if err := eachRowOf(ctx, byFile[:n], dim, fn); err != nil {
			return err
		}
		byFile = byFile[n:]
	}
	return nil
}

func eachRowOf(ctx context.Context, places []place, dim int, fn func(p place, row []float32) error) error {
	f, err := os.Open(places[0].file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open vectors: %w", err)
	}
	defer f.Close()
	size := int(rowBytes(dim))
	block, row := make([]byte, scanBlock*size), make([]float32, dim)
	for len(places) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		first := places[0].slot
		n := 0
		for n < len(places) && places[n].slot < first+scanBlock {
			n++
		}
		span := int(places[n-1].slot-first+1) * size
		got, _ := f.ReadAt(block[:span], first*int64(size)) // what is missing does not verify
		clear(block[got:span])
		for _, p := range places[:n] {
			raw := block[int(p.slot-first)*size:][:size]
			if crc32.Checksum(raw, castagnoli()) != p.crc {
				continue
			}
			decodeRow(row, raw)
			if err := fn(p, row); err != nil {
				return err
			}
		}
		places = places[n:]
	}
	return nil
}

func decodeRow(row []float32, raw []byte) {
	for i := range row {
		row[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
}

// scanEngine compares the query with every row, reading the files in blocks:
// its memory does not grow with them.
type scanEngine struct{}

func (scanEngine) nearest(ctx context.Context, query []float32, places []place, n int) ([]scored, error) {
	var best []scored
	err := eachRow(ctx, places, len(query), func(p place, row []float32) error {
		best = append(best, scored{p.record, float64(vek32.Dot(query, row))})
		if len(best) >= 4*n+1024 {
			best = top(best, n)
		}
		return nil
	})
	return top(best, n), err
}

// top keeps the n best, best first, equal ones by record.
func top(list []scored, n int) []scored {
	slices.SortFunc(list, func(x, y scored) int { return cmp.Or(cmp.Compare(y.cosine, x.cosine), cmp.Compare(x.record, y.record)) })
	return list[:min(n, len(list))]
}

// chromemEngine fills an in-memory chromem-go collection with just the rows
// that passed the filters. Its own persistence is never used: it is not safe
// (research/memory-store.md section 1).
type chromemEngine struct{}

// tieRoom is how many more results are asked for than wanted: chromem-go
// returns equal ones in any order and cuts anywhere among them.
const tieRoom = 64

func (chromemEngine) nearest(ctx context.Context, query []float32, places []place, n int) ([]scored, error) {
	documents := make([]chromem.Document, 0, len(places))
	err := eachRow(ctx, places, len(query), func(p place, row []float32) error {
		documents = append(documents, chromem.Document{ID: strconv.FormatInt(p.record, 10), Embedding: slices.Clone(row)})
		return nil
	})
	if err != nil || len(documents) == 0 {
		return nil, err
	}
	collection, err := chromem.NewDB().CreateCollection("recall", nil, neverEmbed)
	if err != nil {
		return nil, fmt.Errorf("make collection: %w", err)
	}
	if err := collection.AddDocuments(ctx, documents, 1); err != nil {
		return nil, fmt.Errorf("fill collection: %w", err)
	}
	found, err := collection.QueryEmbedding(ctx, query, min(n+tieRoom, len(documents)), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("query collection: %w", err)
	}
	list := make([]scored, 0, len(found))
	for _, f := range found {
		record, err := strconv.ParseInt(f.ID, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read the collection's answer: %w", err)
		}
		list = append(list, scored{record, float64(f.Similarity)})
	}
	return top(list, n), nil
}

// neverEmbed stands where chromem-go wants to embed texts itself.
func neverEmbed(context.Context, string) ([]float32, error) {
	return nil, errors.New("vectors are given, not made")
}
