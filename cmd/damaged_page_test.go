package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/storetest"
	"github.com/sessctl/sessctl/internal/tier"
)

const pageSize = 4096

// One damaged page of a database hides what lies on it and nothing else, and the
// database is archived as the file that it is.
func TestDamagedPage(t *testing.T) {
	tier.SkipSmoke(t, "it embeds hundreds of messages of five runtimes")
	for _, runtime := range storetest.PagedRuntimes() {
		t.Run(runtime, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("HOME", home)
			for _, variable := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "HERMES_HOME"} {
				t.Setenv(variable, "")
			}
			path, err := storetest.Paged{Sessions: 8, Messages: 40}.Write(runtime, home)
			if err != nil {
				t.Fatal(err)
			}
			whole := sizesOf(t, runtime, 0)
			damagePage(t, path)
			left := sizesOf(t, runtime, 3)
			same := 0
			for id, messages := range whole {
				if left[id] == messages {
					same++
				}
			}
			if same < len(whole)-2 || same == len(whole) {
				t.Errorf("%d of %d sessions are read whole", same, len(whole))
			}
			archived := archiveDamaged(t, runtime)
			if n := len(whole) - archived.sessions; n < 1 || n > 2 {
				t.Errorf("%d of %d sessions are archived", archived.sessions, len(whole))
			}
			if again := archiveDamaged(t, runtime); again.file != archived.file || !again.unchanged || archived.unchanged || archived.file == "" {
				t.Errorf("the file is archived as %+v, and then as %+v", archived, again)
			}
			copied := filepath.Join(home, "copy")
			wantExit(t, 0, "restore", archived.file, "--to", copied)
			here, err := os.ReadFile(path)
			there, errThere := os.ReadFile(copied)
			if err := errors.Join(err, errThere); err != nil || !bytes.Equal(here, there) {
				t.Errorf("what was archived of the file is another: %v", err)
			}
			wantExit(t, 0, "archives", "verify")
			wantExit(t, 0, "memory", "reindex", "--from-archives")
		})
	}
}

// archivedDamaged is what was archived of a damaged database.
type archivedDamaged struct {
	sessions  int
	file      string // the archive of the file
	unchanged bool
}

func archiveDamaged(t *testing.T, runtime string) (all archivedDamaged) {
	t.Helper()
	var doc struct {
		Archives []struct {
			ID, Session, Outcome string
			Unchanged            bool
		}
	}
	if err := json.Unmarshal(wantExit(t, 3, "archive", "--all", "--remember", "--json", "--runtime", runtime), &doc); err != nil {
		t.Fatal(err)
	}
	for _, row := range doc.Archives {
		switch ext := filepath.Ext(row.Session); {
		case row.Outcome != "archived":
		case ext == ".db" || ext == ".sqlite":
			all.file, all.unchanged = row.ID, row.Unchanged
		default:
			all.sessions++
		}
	}
	return all
}

// wantExit runs a command and returns what it prints.
func wantExit(t *testing.T, want int, args ...string) []byte {
	t.Helper()
	var out, errOut bytes.Buffer
	if exit := Main(args, strings.NewReader(""), &out, &errOut); exit != want {
		t.Fatalf("%v ends with %d: %.2000s%.2000s", args, exit, out.String(), errOut.String())
	}
	return out.Bytes()
}

// sizesOf are the numbers of messages of all sessions.
func sizesOf(t *testing.T, runtime string, want int) map[string]int {
	t.Helper()
	var doc struct {
		Sessions []struct {
			Session  string
			Messages int
		}
	}
	if err := json.Unmarshal(wantExit(t, want, "sizes", "--all", "--json", "--no-cache", "--runtime", runtime), &doc); err != nil {
		t.Fatal(err)
	}
	of := map[string]int{}
	for _, s := range doc.Sessions {
		of[s.Session] = s.Messages
	}
	return of
}

// damagePage overwrites a page on which messages of the sixth session lie, and no other
// session's.
func damagePage(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const leafOfTable = 13
	for page := pageSize; page+pageSize <= len(text); page += pageSize {
		rows := text[page : page+pageSize]
		journal := bytes.Contains(rows, []byte(`"sessionID"`)) // of OpenCode, which no session is read from
		if rows[0] == leafOfTable && !journal && bytes.Contains(rows, []byte("heron05 message")) && !bytes.Contains(rows, []byte("heron04")) && !bytes.Contains(rows, []byte("heron06")) {
			copy(rows, bytes.Repeat([]byte{0xa5}, pageSize))
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("no such page")
}
