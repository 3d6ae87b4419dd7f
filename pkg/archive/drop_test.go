package archive_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
)

// An entry that was dropped comes back once its file verifies.
func TestDropAndReadmit(t *testing.T) {
	ctx := context.Background()
	for _, compression := range []string{archive.CompressionNone, archive.CompressionZstd} {
		s, err := archive.Open(t.TempDir(), archive.Options{Dir: func(archive.Meta) string { return t.TempDir() }, Compression: compression})
		if err != nil {
			t.Fatal(err)
		}
		put := func(text string) archive.Entry {
			e, err := s.Put(ctx, archive.Meta{Runtime: "pi", Agent: "a", Session: "s"}, strings.NewReader(text), int64(len(text)), time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		short, long, other := put("one\n"), put("one\ntwo\n"), put("three\nfour\n")
		for _, c := range []struct {
			e, with archive.Entry
			want    bool
		}{{long, short, true}, {short, long, false}, {other, short, false}, {long, long, true}} {
			if got, err := s.Begins(ctx, c.e, c.with); err != nil || got != c.want {
				t.Errorf("%v, %v", got, err)
			}
		}
		if err := s.Look(short); err != nil {
			t.Error(err)
		}
		if err := s.Drop(ctx, short); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(ctx, short.ID); !errors.Is(err, archive.ErrNotFound) {
			t.Error(err)
		}
		for range 2 {
			if err := s.Readmit(ctx, short); err != nil {
				t.Fatal(err)
			}
		}
		if e, err := s.Get(ctx, short.ID); err != nil || e.Path != short.Path {
			t.Error(e, err)
		}
		if err := s.Drop(ctx, short); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(short.Path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Look(short); !errors.Is(err, archive.ErrCorrupt) {
			t.Error(err)
		}
		if err := s.Readmit(ctx, short); !errors.Is(err, archive.ErrCorrupt) {
			t.Error(err)
		}
		if err := s.Drop(ctx, archive.Entry{ID: "../../x"}); err == nil {
			t.Error("an odd id was taken")
		}
	}
}
