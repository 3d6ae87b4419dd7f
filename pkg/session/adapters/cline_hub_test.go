package adapters_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/fakehubdb"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/cline"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// A hub takes its lock before it opens a database, and says that it runs only when it
// listens: between the two nothing is removed. Its lock stays as it was.
func TestClineAHubThatIsBeingStarted(t *testing.T) {
	root := clineCopied(t)
	databases, locks := filepath.Join(root, "data", "db"), filepath.Join(root, "data", "locks", "hub")
	for _, dir := range []string{databases, filepath.Join(locks, "owners")} {
		clineMust(t, os.MkdirAll(dir, 0o700))
	}
	clineMust(t, fakehubdb.Fill(databases))
	order := session.Shrink{Database: filepath.Join(databases, "session-search.db"), Vacuum: true}
	for _, place := range []string{"production.json.instance.lock", filepath.Join("owners", "hub-1.json.instance.lock")} {
		lock := filepath.Join(locks, place)
		clineMust(t, os.WriteFile(lock, nil, 0o600))
		hub, err := rowlog.HoldLock(t.Context(), sqlitefile.File{Base: filepath.Dir(lock), Name: filepath.Base(lock)})
		clineMust(t, err)
		_, err = cline.Open(root).Shrink(t.Context(), order)
		if !errors.Is(err, session.ErrBusy) || !strings.Contains(err.Error(), "is being started") {
			t.Errorf("%s: %v", place, err)
		}
		clineMust(t, hub.Close())
		done, err := cline.Open(root).Shrink(t.Context(), order)
		if err != nil || !done.Vacuumed {
			t.Errorf("%s without its hub: %+v %v", place, done, err)
		}
		if left, err := os.ReadFile(lock); err != nil || len(left) > 0 {
			t.Errorf("%s: %v, %d bytes", place, err, len(left))
		}
		if names, err := filepath.Glob(lock + "-*"); err != nil || len(names) > 0 {
			t.Errorf("beside it: %v %v", names, err)
		}
	}
}
