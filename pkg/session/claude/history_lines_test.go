package claude_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// promptsOf is a history of n prompts of as many sessions, typed long ago.
func promptsOf(n int, text string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"display":"%s %03d","pastedContents":{},"timestamp":%d,"project":"/repo/mill","sessionId":"%08d-1111-4222-8333-444455556666"}`+"\n", text, i, 1770000000000+i*60000, i)
	}
	return b.String()
}

// TestHistoryWrittenAnew: what is known of a history's lines never gives the prompts
// of one session to another, even if the file has the size and the time it had.
func TestHistoryWrittenAnew(t *testing.T) {
	const n = 20
	before, after := promptsOf(n, "before"), promptsOf(n, "later.")
	lines := strings.SplitAfter(after, "\n")[:n]
	turned := strings.Join(append(lines[n/2:n:n], lines[:n/2]...), "")
	for _, anew := range []string{after, turned, after + promptsOf(1, "one more prompt in the first session")} {
		store := historyHome(t, before)
		path := filepath.Join(store.Root(), "history.jsonl")
		old := time.UnixMilli(1770000000000 + n*60000)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		listing, err := store.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(listing.Refs) != n {
			t.Fatalf("%d sessions, want %d", len(listing.Refs), n)
		}
		readAll(t, store, listing.Refs[0])
		write(t, path, anew)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		for _, ref := range listing.Refs {
			id, _ := session.PromptsOf(ref.ID)
			var want string
			for line := range strings.SplitAfterSeq(anew, "\n") {
				if strings.Contains(line, id) {
					want += line
				}
			}
			if got := readAll(t, store, ref); got != want {
				t.Errorf("%s: %q, want %q", ref.ID, got, want)
			}
		}
	}
}

func readAll(t *testing.T, source session.LogSource, ref session.Ref) string {
	t.Helper()
	log, err := source.OpenLog(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	text, err := io.ReadAll(log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
