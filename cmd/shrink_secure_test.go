package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/session"
)

// rows are a session of a database. closed is called when they were read.
type rows struct {
	session.Store
	text   string
	closed func()
}

func (r rows) Capabilities() session.Capabilities { return session.Capabilities{Source: r} }

func (r rows) OpenLog(context.Context, session.Ref) (io.ReadCloser, error) {
	return struct {
		io.Reader
		io.Closer
	}{strings.NewReader(r.text), closer(r.closed)}, nil
}

type closer func()

func (c closer) Close() error {
	c()
	return nil
}

// Rows are not taken out of a database because the cache has them: an archive that
// was gone when it was to be read once more is none.
func TestSecureRowsBelievesNoCache(t *testing.T) {
	dir := t.TempDir()
	fetched := filepath.Join(dir, "fetched")
	store, err := archive.Open(filepath.Join(dir, "catalogue"), archive.Options{
		Dir:   func(archive.Meta) string { return filepath.Join(dir, "archives") },
		Fetch: func(context.Context, archive.Entry) (*os.File, error) { return os.Open(fetched) },
	})
	if err != nil {
		t.Fatal(err)
	}
	a, w := testApp(&streams{}, workspace.Run{Settings: workspace.Settings{Now: time.Now}}), &workspace.Workspace{Archives: store}
	ref := session.Ref{Runtime: "opencode", Agent: "main", ID: "s", Path: "/db#s", Kind: session.KindStored}
	from := rows{text: "{\"text\":\"a line\"}\n", closed: func() {}}
	e, err := removal.SecureRows(t.Context(), a.Run, w, workspace.Found{Ref: ref, Adapter: from})
	if err == nil {
		err = os.Rename(e.Path, fetched)
	}
	if err == nil {
		_, err = store.NoteRemote(t.Context(), e, archive.Remote{URL: "s3://bucket/log"})
	}
	if err != nil {
		t.Fatal(err)
	}
	from.closed = func() {
		if err := os.RemoveAll(filepath.Join(dir, "archives")); err != nil {
			t.Error(err)
		}
	}
	if _, err := removal.SecureRows(t.Context(), a.Run, w, workspace.Found{Ref: ref, Adapter: from}); !errors.Is(err, archive.ErrMissing) {
		t.Errorf("%v, not %v", err, archive.ErrMissing)
	}
}
