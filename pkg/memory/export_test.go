package memory_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/memory"
)

// Every record comes out as it went in, over several pages, with the vector
// that it has, or with none.
func TestExport(t *testing.T) {
	s, _ := newStore(t)
	var records []memory.Record
	for i := range 1300 {
		r := record(i, fmt.Sprintf("text number %d about herons", i))
		if i%3 == 0 {
			r.Agent = "b"
		}
		records = append(records, r)
	}
	put(t, s, records...)
	embedAll(t, s, "a")
	b, _ := builtin(t)
	var got []memory.Record
	_, err := s.Export(context.Background(), memory.ExportOptions{Vectors: true}, func(page []memory.Exported) error {
		for _, e := range page {
			got = append(got, e.Record)
			if e.Agent == "b" {
				if e.Vector != nil {
					t.Fatalf("record %d has a vector", e.Position)
				}
				continue
			}
			want, err := b.EmbedDocuments(context.Background(), []string{e.Text})
			if err != nil {
				t.Fatal(err)
			}
			if len(e.Vector) != len(want[0]) {
				t.Fatalf("record %d has %d numbers", e.Position, len(e.Vector))
			}
			for i, x := range e.Vector {
				if math.Abs(float64(x-want[0][i])) > 1e-3 { // rows have 8 bits a number
					t.Fatalf("record %d: number %d is %v, want %v", e.Position, i, x, want[0][i])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(records, got); diff != "" {
		t.Fatal(diff)
	}
}

// The filters of a query hold, an error of the receiver ends it, and a model
// that is not there is refused.
func TestExportOptions(t *testing.T) {
	s, _ := newStore(t)
	other := record(1, "two")
	other.Agent = "b"
	put(t, s, record(0, "one"), other)
	embedAll(t, s, "a")
	count := 0
	_, err := s.Export(context.Background(), memory.ExportOptions{Query: memory.Query{Agent: "b"}}, func(page []memory.Exported) error {
		count += len(page)
		if page[0].Agent != "b" || page[0].Vector != nil {
			t.Errorf("got %+v", page[0])
		}
		return nil
	})
	if err != nil || count != 1 {
		t.Errorf("%d records, %v", count, err)
	}
	stop := errors.New("stop")
	if _, err := s.Export(context.Background(), memory.ExportOptions{}, func([]memory.Exported) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error of the receiver: %v", err)
	}
	if _, err := s.Export(context.Background(), memory.ExportOptions{Vectors: true, Model: "no such"}, nil); !errors.Is(err, memory.ErrOtherModel) {
		t.Errorf("unknown model: %v", err)
	}
}
