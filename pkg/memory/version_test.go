package memory_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/memory"
)

// A memory of a later version is refused and left alone, also by what sets a
// damaged one aside. One of the formats before version 1 is refused too, and is set
// aside: it can be made again from the archives.
func TestOtherVersions(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name, change, says string
		want               error
		setAside           bool
	}{
		{"of version 2", "PRAGMA user_version=2", "schema 2, this one knows 1", memory.ErrNewerSchema, false},
		{"unreleased", "PRAGMA user_version=6; PRAGMA application_id=1936028531", "before the first release", memory.ErrCorrupt, true},
	} {
		s, dir := newStore(t)
		put(t, s, record(0, "the heron is codenamed xylograph"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		alter(t, dir, c.change)
		before, err := os.ReadFile(filepath.Join(dir, "memory.db"))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []memory.Options{{}, {ReadOnly: true}, {NoTrace: true}} {
			s, err := memory.Open(ctx, dir, o)
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s, %+v: %v", c.name, o, err)
			}
		}
		moved, problems, err := memory.SetAsideDamaged(ctx, nil, dir, time.Now())
		if c.setAside != (moved != "") || c.setAside != (len(problems) > 0) || c.setAside != (err == nil) {
			t.Errorf("%s: set aside: %q, %v, %v", c.name, moved, problems, err)
		}
		after, err := os.ReadFile(filepath.Join(strings.TrimSpace(dir+moved[min(len(dir), len(moved)):]), "memory.db"))
		if err != nil || string(before) != string(after) {
			t.Errorf("%s: the file was changed (%v)", c.name, err)
		}
	}
}
