package archive_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
)

func TestList(t *testing.T) {
	s := open(t, t.TempDir(), "none")
	if got := entries(t, s); len(got) != 0 {
		t.Errorf("an empty catalogue lists %v", got)
	}
	for i, session := range []string{"s2", "s1", "s3"} {
		m := meta(session)
		if session == "s3" {
			m.Agent = "other"
		}
		if _, err := s.Put(context.Background(), m, strings.NewReader(session), 2, noon.Add(time.Duration(i)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		filter archive.Filter
		want   []string
	}{
		"all, oldest first": {archive.Filter{}, []string{"s2", "s1", "s3"}},
		"agent":             {archive.Filter{Agent: "coordinator"}, []string{"s2", "s1"}},
		"session":           {archive.Filter{Session: "s1", Agent: "coordinator"}, []string{"s1"}},
		"runtime":           {archive.Filter{Runtime: "openclaw"}, []string{"s2", "s1", "s3"}},
		"nothing":           {archive.Filter{Runtime: "pi"}, nil},
	}
	for name, test := range tests {
		got, err := s.List(context.Background(), test.filter)
		if err != nil {
			t.Fatal(err)
		}
		var sessions []string
		for _, e := range got {
			sessions = append(sessions, e.Session)
		}
		if !slices.Equal(sessions, test.want) {
			t.Errorf("%s: %v, want %v", name, sessions, test.want)
		}
	}
}

func TestGet(t *testing.T) {
	s := open(t, t.TempDir(), "none")
	ctx := context.Background()
	byDigit := map[string][]archive.Entry{}
	for i := range 17 { // by then two ids start with the same digit
		e := put(t, s, fmt.Sprint("s", i), "x")
		byDigit[e.ID[:1]] = append(byDigit[e.ID[:1]], e)
	}
	for digit, all := range byDigit {
		e, err := s.Get(ctx, digit)
		if len(all) == 1 && (err != nil || e.ID != all[0].ID) {
			t.Errorf("%s: %v, %v", digit, e.ID, err)
		}
		if len(all) > 1 && (!errors.Is(err, archive.ErrAmbiguous) || !strings.Contains(err.Error(), all[1].ID)) {
			t.Errorf("%s: %v, want ErrAmbiguous naming them", digit, err)
		}
		if e, err := s.Get(ctx, all[0].ID); err != nil || e.ID != all[0].ID {
			t.Errorf("%s: %v", all[0].ID, err)
		}
	}
	for _, id := range []string{"", "zz", "../x", "0123456789abcdef", "0123456789abcdef0", "*"} {
		if _, err := s.Get(ctx, id); !errors.Is(err, archive.ErrNotFound) {
			t.Errorf("%q: %v, want ErrNotFound", id, err)
		}
	}
}

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
