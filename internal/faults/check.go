//go:build linux && amd64

package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// linesKept is promise 1: each line of the source, as often as the source has
// it, stands in one file that people can find: the live log, an old log that
// was moved aside or into the trash, or an archive. extra lines count too.
func (h *Home) linesKept(extra ...string) error {
	have, err := h.linesIn(func(string) bool { return true })
	if err != nil {
		return err
	}
	return missing(append(append([]string{}, h.Lines...), extra...), have)
}

func missing(want []string, have map[string]int) error {
	count := map[string]int{}
	for _, line := range want {
		if line == "" {
			continue // of Markdown; a late one may be in another file than the rest
		}
		if count[line]++; have[line] < count[line] {
			return fmt.Errorf("lost (%d of %d): %s", have[line], count[line], line)
		}
	}
	return nil
}

// linesIn counts, for each line, how often it is in the one file that has it
// most often, among the visible logs and archives that choose picks.
func (h *Home) linesIn(choose func(path string) bool) (map[string]int, error) {
	most := map[string]int{}
	err := h.eachFile(func(path string) error {
		name := filepath.Base(path)
		if !isLog(name) || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".tmp") || !choose(path) {
			return nil
		}
		data, err := readLog(path)
		if err != nil {
			return nil // a damaged archive holds no line
		}
		count := map[string]int{}
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			count[string(line)]++
			most[string(line)] = max(most[string(line)], count[string(line)])
		}
		return nil
	})
	return most, err
}

// isLog picks logs, old logs and archives: a session of mac-stats is Markdown.
func isLog(name string) bool {
	return strings.Contains(name, ".jsonl") || strings.Contains(name, ".md")
}

func readLog(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(path, ".zst") {
		return data, err
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	return decoder.DecodeAll(data, nil)
}

// inArchive picks the archives.
func (h *Home) inArchive(path string) bool {
	return strings.Contains(path, "/session_archive/") || strings.HasPrefix(path, filepath.Join(h.Data(), "archive")+"/")
}

// liveIsWhole checks that a log at its place begins with its header and that
// the runtime's index can be read and has the other session's entry as it was.
func (h *Home) liveIsWhole() error {
	data, err := os.ReadFile(h.Log())
	if err == nil && len(data) > 0 && h.layout().header != "" && !strings.HasPrefix(string(data), h.layout().header+"\n") {
		return fmt.Errorf("the live log has no header: %.80q", data)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return h.indexIsWhole()
}

func (h *Home) indexIsWhole() error {
	if h.index() == "" {
		return nil
	}
	data, err := os.ReadFile(h.index())
	if err != nil {
		return err
	}
	var index map[string]map[string]any
	if err := json.Unmarshal(data, &index); err != nil {
		return fmt.Errorf("sessions.json: %w", err)
	}
	if !bytes.Contains(data, []byte(otherEntry)) {
		return fmt.Errorf("the entry of another session was changed: %s", data)
	}
	if index["agent:a:main"]["label"] != "desk" {
		return fmt.Errorf("the session's label is gone: %s", data)
	}
	return nil
}

// again runs the command once more. It ends with one of these codes, or says
// that it has nothing left to do.
func (h *Home) again(codes ...int) error {
	code, out, err := h.Run(h.args()...)
	if err != nil {
		return err
	}
	if h.refused(out) || slices.Contains(codes, code) {
		return nil
	}
	return fmt.Errorf("the next run: exit %d: %s", code, strings.TrimSpace(out))
}

// refused says whether the command says that there is nothing it may do.
func (h *Home) refused(out string) bool {
	return slices.ContainsFunc(h.Command.Refusals, func(said string) bool { return strings.Contains(out, said) })
}

// settles runs the command again, twice, and checks the end state.
func (h *Home) settles() error {
	for range 2 {
		if h.next.log != "" { // nothing is carried into a session that has just changed
			if err := h.ageLogs(); err != nil {
				return err
			}
		}
		if err := errors.Join(h.dayLater(), h.again(0)); err != nil {
			return err
		}
	}
	problem := errors.Join(h.linesKept(), h.liveIsWhole(), h.Command.Done(h), h.verifies())
	if h.Command.Settled != nil {
		problem = errors.Join(problem, h.Command.Settled(h))
	}
	if problem != nil {
		return fmt.Errorf("after the next runs: %w", problem)
	}
	return h.nothingLeft(true)
}

// verifies asks the program itself about its archives and its memory.
func (h *Home) verifies() error {
	if err := h.must([]int{0}, "archive", "verify"); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(h.Data(), "memory/memory.db")); err != nil {
		return nil
	}
	return h.must([]int{0}, "memory", "verify")
}

// nothingLeft checks that no temporary file is left and, if the journal should
// be empty, no entry of it.
func (h *Home) nothingLeft(journal bool) error {
	return h.eachFile(func(path string) error {
		if slices.Contains([]string{".tmp", ".next", ".moved"}, filepath.Ext(path)) || journal && strings.Contains(path, "/journal/") {
			return fmt.Errorf("left behind: %s", path)
		}
		return nil
	})
}
