package adapters_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/fakestatedb"
	"github.com/sessctl/sessctl/internal/storetest"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/hermes"
)

// TestHermesDamagedPage: a damaged page hides the session that lies on it, and no
// other.
func TestHermesDamagedPage(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "state.db")
	d := fakestatedb.Told(path, 30)
	for i := range 12 {
		d.Do(fmt.Sprintf("INSERT INTO sessions (id, source, started_at) VALUES ('20260901_1012%02d_abc%03d', 'cli', %d)", i, i, 1788250000+i))
		for j := range 8 {
			text := strings.Repeat(fmt.Sprintf("session %d message %d, ", i, j), 60)
			d.Do(fmt.Sprintf("INSERT INTO messages (session_id, role, content, timestamp) VALUES ('20260901_1012%02d_abc%03d', 'user', '%s', %d)", i, i, text, 1788250000+i+j))
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	damagePage(t, path, "session 7 message 3,")
	storetest.Age(t, root)
	s := storetest.Opened(t, hermes.Open(root))
	listing, err := s.List(t.Context())
	if err != nil || len(listing.Notices) != 1 || listing.Notices[0].Cause != session.CauseDamaged || !listing.Notices[0].Unread {
		t.Fatalf("%v, %+v", err, listing.Notices)
	}
	read := 0
	for _, ref := range listing.Refs {
		if !strings.Contains(ref.ID, "_abc0") {
			continue
		}
		tail, err := s.Tail(t.Context(), ref)
		lost := strings.HasSuffix(ref.ID, "_abc007")
		if (err != nil) != lost || !lost && tail.Messages != 8 {
			t.Errorf("%s: %d messages, %v", ref.ID, tail.Messages, err)
		}
		if !lost {
			read++
		}
	}
	if read != 11 {
		t.Errorf("%d of 12 sessions were read", read)
	}
}

// damagePage overwrites the page of a database that has a text.
func damagePage(t *testing.T, path, text string) {
	t.Helper()
	const page = 4096
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte(text))
	if at < page {
		t.Fatalf("%q is at %d", text, at)
	}
	at -= at % page
	copy(data[at:at+page], bytes.Repeat([]byte{0xA5}, page))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
