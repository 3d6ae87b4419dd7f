// Command vectordb is what one would use instead of the product's own memory:
// sqlite-vec's table vec0 and chromem-go's own files, each as it comes, holding
// the vectors of a memory that bench/scan has made.
//
//	vectordb fill KIND HOME   copies the vectors of a memory to vec0 or chromem
//	vectordb ask KIND HOME    prints the ids of the five nearest records
package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/philippgille/chromem-go"
	_ "modernc.org/sqlite"     // the driver
	_ "modernc.org/sqlite/vec" // and its table vec0

	"github.com/sessctl/sessctl/pkg/embed"
)

// question is what bench/scan asks too, and nearest is how many it wants.
const (
	question = "which port did the importer get, and who chose it"
	nearest  = 5
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "vectordb:", err)
		os.Exit(1)
	}
}

// store is one way to keep vectors.
type store interface {
	fill(ctx context.Context, vectors iter.Seq2[int, []float32], dim int) error
	ask(ctx context.Context, query []float32) ([]int, error)
}

func run(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return errors.New("want fill or ask, vec0 or chromem, and a home; or fill fts5 and a home")
	}
	if args[0] == "fill" && args[1] == "fts5" {
		return fillTexts(ctx, args[2])
	}
	stores := map[string]store{"vec0": vec0(filepath.Join(args[2], "vec0.db")), "chromem": files(filepath.Join(args[2], "chromem"))}
	s := stores[args[1]]
	builtin, err := embed.NewBuiltin()
	switch {
	case err != nil:
		return err
	case s == nil:
		return fmt.Errorf("unknown kind %q", args[1])
	case args[0] == "fill":
		return fillFrom(ctx, s, args[2], builtin.Model().Dim)
	}
	query, err := builtin.EmbedQuery(ctx, question)
	if err != nil {
		return err
	}
	rows, err := s.ask(ctx, query)
	for i, row := range rows {
		fmt.Printf("%s%032x", strings.Repeat(" ", min(i, 1)), row)
	}
	fmt.Println()
	return err
}

// fillFrom gives a store the vectors of a memory, of which row i is record i.
func fillFrom(ctx context.Context, s store, home string, dim int) error {
	f, err := os.Open(filepath.Join(home, "vectors.f32")) // that bench/scan wrote
	if err != nil {
		return err
	}
	defer f.Close()
	r, raw := bufio.NewReaderSize(f, 1<<20), make([]byte, 4*dim)
	return s.fill(ctx, func(yield func(int, []float32) bool) {
		for row := 0; ; row++ {
			if _, err = io.ReadFull(r, raw); err != nil || !yield(row, floats(raw)) {
				return
			}
		}
	}, dim)
}

func floats(raw []byte) []float32 {
	v := make([]float32, len(raw)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return v
}

func bytesOf(v []float32) []byte {
	var raw []byte
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return raw
}

// vec0 is a database with one table of sqlite-vec. Rows count from 1.
type vec0 string

func (path vec0) fill(ctx context.Context, vectors iter.Seq2[int, []float32], dim int) error {
	db, err := sql.Open("sqlite", string(path))
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("CREATE VIRTUAL TABLE vectors USING vec0(embedding float[%d] distance_metric=cosine)", dim)); err != nil {
		return err
	}
	for row, v := range vectors {
		if _, err := tx.ExecContext(ctx, "INSERT INTO vectors (rowid, embedding) VALUES (?, ?)", row+1, bytesOf(v)); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (path vec0) ask(ctx context.Context, query []float32) (found []int, err error) {
	db, err := sql.Open("sqlite", string(path))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, "SELECT rowid FROM vectors WHERE embedding MATCH ? AND k = ? ORDER BY distance", bytesOf(query), nearest)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var row int
		if err := rows.Scan(&row); err != nil {
			return nil, err
		}
		found = append(found, row-1)
	}
	return found, rows.Err()
}

// files is a directory that chromem-go keeps, one file a vector.
type files string

func noEmbedder(context.Context, string) ([]float32, error) {
	return nil, errors.New("vectors are given, not made")
}

func (dir files) collection() (*chromem.Collection, error) {
	db, err := chromem.NewPersistentDB(string(dir), false)
	if err != nil {
		return nil, err
	}
	return db.GetOrCreateCollection("vectors", nil, noEmbedder)
}

func (dir files) fill(ctx context.Context, vectors iter.Seq2[int, []float32], _ int) error {
	c, err := dir.collection()
	if err != nil {
		return err
	}
	for row, v := range vectors {
		if err := c.AddDocument(ctx, chromem.Document{ID: strconv.Itoa(row), Embedding: v}); err != nil {
			return err
		}
	}
	return nil
}

func (dir files) ask(ctx context.Context, query []float32) (found []int, err error) {
	c, err := dir.collection()
	if err != nil {
		return nil, err
	}
	results, err := c.QueryEmbedding(ctx, query, nearest, nil, nil)
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		row, err := strconv.Atoi(r.ID)
		if err != nil {
			return nil, err
		}
		found = append(found, row)
	}
	return found, nil
}
