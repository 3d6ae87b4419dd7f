//go:build linux && amd64

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// rotated is what exit 0 of compact promises where a session starts fresh: the
// log is archived, nothing of it is at its place any more, the runtime's index
// names another session, and one receipt says so.
func rotated(h *Home) error {
	if log, err := os.ReadFile(h.Log()); err == nil && len(log) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the log was not moved away: %v", err)
	}
	if h.index() != "" {
		index, err := os.ReadFile(h.index())
		if err != nil || strings.Contains(string(index), Session) {
			return fmt.Errorf("the index still names the old session (%v): %s", err, index)
		}
	}
	return errors.Join(h.hasReceipts(1), h.inArchives(h.Lines))
}

// overlaid is what exit 0 of compact promises where a record is appended:
// every byte that was there is where it was.
func overlaid(h *Home) error {
	log, err := os.ReadFile(h.Log())
	if err != nil {
		return err
	}
	record, ok := strings.CutPrefix(string(log), h.source())
	if !ok || strings.Count(record, "\n") != 1 || !strings.Contains(record, `"compaction"`) {
		return fmt.Errorf("the log does not end in one compaction: %.200q", record)
	}
	return errors.Join(h.hasReceipts(1), h.inArchives(h.Lines))
}

// rewritten is what exit 0 of compact promises where a shorter log takes the
// place of the old one: header, summary, and the recent end byte for byte.
func rewritten(h *Home) error {
	log, err := os.ReadFile(h.Log())
	if err != nil {
		return err
	}
	tail := strings.Join(h.Lines[len(h.Lines)-h.layout().tail:], "\n") + "\n"
	rest, ok := strings.CutPrefix(string(log), h.layout().header+"\n")
	rest, kept := strings.CutSuffix(rest, tail)
	if !ok || !kept || strings.Count(rest, "\n") != 1 || !strings.Contains(rest, `"compaction"`) {
		return fmt.Errorf("the log is not header, summary and end: %.300q", log)
	}
	return errors.Join(h.hasReceipts(1), h.inArchives(h.Lines))
}

// cleared is what exit 0 of compact promises for a session of mac-stats that
// nobody uses: what was learned is in memory.md, and the session is gone.
func cleared(h *Home) error { return errors.Join(learned(h), rotated(h)) }

// replaced is the same for one in use: its summary has taken its place.
func replaced(h *Home) error {
	log, err := os.ReadFile(h.Log())
	if err != nil || !strings.HasPrefix(string(log), "## Assistant\n\n") || len(log) > len(h.source())/2 {
		return fmt.Errorf("the log is not its summary (%v): %.200q", err, log)
	}
	return errors.Join(learned(h), h.hasReceipts(1), h.inArchives(h.Lines))
}

// learned checks that every lesson is in memory.md once.
func learned(h *Home) error {
	lessons, err := os.ReadFile(filepath.Join(h.Dir, "home/.mac-stats/agents/memory.md"))
	if n := strings.Count(string(lessons), "never forget rule 4."); err != nil || n != 1 {
		return fmt.Errorf("a lesson is there %d times (%v): %.300q", n, err, lessons)
	}
	return nil
}

// carried is what exit 0 of any run promises where a line came late.
func carried(h *Home) error {
	return errors.Join(h.wasCarried(h.next), h.hasReceipts(1), h.inArchives(h.Lines))
}

// archived is what exit 0 of archive promises: one copy, and the log as it was.
func archived(h *Home) error {
	if n, err := count(filepath.Join(h.Data(), "archives")); err != nil || n != 1 {
		return fmt.Errorf("%d archives, want 1 (%v)", n, err)
	}
	return errors.Join(h.logIs(h.source()), h.inArchives(h.Lines))
}

// pruned is what exit 0 of archive prune promises: the old archive is gone
// from the catalogue, the one that has its bytes is not.
func pruned(h *Home) error {
	if n, err := count(filepath.Join(h.Data(), "archives")); err != nil || n != 1 {
		return fmt.Errorf("%d archives, want 1 (%v)", n, err)
	}
	return errors.Join(h.logIs(h.source()), h.inArchives(h.Lines))
}

// logIs checks the live log byte for byte.
func (h *Home) logIs(want string) error {
	log, err := os.ReadFile(h.Log())
	if err != nil || string(log) != want {
		return fmt.Errorf("the log is not as it should be (%v): %.80q", err, log)
	}
	return nil
}

func (h *Home) hasReceipts(want int) error {
	if n, err := count(filepath.Join(h.Data(), "receipts")); err != nil || n != want {
		return fmt.Errorf("%d receipts, want %d (%v)", n, want, err)
	}
	return nil
}

// inArchives checks that archives alone hold these lines.
func (h *Home) inArchives(lines []string) error {
	have, err := h.linesIn(h.inArchive)
	if err != nil {
		return err
	}
	if err := missing(lines, have); err != nil {
		return fmt.Errorf("not in an archive: %w", err)
	}
	return nil
}

// count is the number of JSON documents in a directory.
func count(dir string) (int, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	return len(names), err
}

// remembers checks that memory has the session's chunks once each, with one
// file of vectors.
func remembers(chunks int) func(*Home) error {
	return func(h *Home) error {
		files, err := filepath.Glob(filepath.Join(h.Data(), "memory/vectors/*/*"))
		if len(files) != min(chunks, 1) || err != nil {
			return fmt.Errorf("memory has the vector files %v", files)
		}
		return h.recalls(chunks)
	}
}

// recalls checks that memory has so many chunks, once each.
func (h *Home) recalls(chunks int) error {
	code, out, err := h.Run("recall", "--json", "--rank", "text", "--limit", "100", "importer port")
	if err != nil || code != 0 {
		return fmt.Errorf("recall: exit %d, %v: %s", code, err, out)
	}
	var doc struct {
		Hits []struct{ Category, ID string }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		return fmt.Errorf("recall: %w", err)
	}
	seen := map[string]bool{}
	for _, hit := range doc.Hits {
		if hit.Category == "session_history" {
			seen[hit.ID] = true
		}
	}
	if len(seen) != chunks {
		return fmt.Errorf("memory has %d chunks, want %d", len(seen), chunks)
	}
	return nil
}
