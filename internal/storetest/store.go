package storetest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// T is what of a test is used here.
type T interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	Error(args ...any)
	Fatal(args ...any)
}

// Age makes everything below root look untouched for two hours.
func Age(t T, root string) {
	t.Helper()
	when := time.Now().Add(-2 * time.Hour)
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, when, when))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Opened is a store that is closed when the test ends.
func Opened[S io.Closer](t T, s S) S {
	t.Helper()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Listed are the sessions of a store by their ids. A notice fails the test.
func Listed(t T, s session.Store) map[string]session.Ref {
	t.Helper()
	listing, err := s.List(t.Context())
	if err != nil || len(listing.Notices) > 0 {
		t.Fatal(err, listing.Notices)
	}
	refs := map[string]session.Ref{}
	for _, ref := range listing.Refs {
		refs[ref.ID] = ref
	}
	return refs
}

// LogOf is the log of a session as it is written out.
func LogOf(t T, s session.LogSource, ref session.Ref) []byte {
	t.Helper()
	log, err := s.OpenLog(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	data, err := io.ReadAll(log)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
