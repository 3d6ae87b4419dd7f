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
	"strings"
)

const (
	freshSession = "6f0c1c2e-6d0a-4f57-9d2b-0c8e1f1a2b3c"
	freshLog     = "2099-01-01T10-00-00-000Z_" + freshSession + ".jsonl"
	// lateID is in the record of layout.late for pi and OpenClaw.
	lateID = `"id":"a0000019"`
)

// begun is in the header of the session that followed, and in no other line.
const begun = `"timestamp":"2099-01-01T10:00:00.000Z"`

// nextTurn lets the agent begin the session that follows a rotated one, as its
// runtime would: a late line can be carried only into a session that has begun.
// It reports false where the session was not rotated.
func (h *Home) nextTurn() (bool, error) {
	path, err := h.freshLog()
	if err != nil || path == "" {
		return false, err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	header := strings.Replace(piHeader, Session, strings.TrimSuffix(filepath.Base(path), ".jsonl"), 1)
	said := []string{
		strings.Replace(header, "2026-03-01", "2099-01-01", 1),
		`{"type":"message","id":"f0000001","parentId":null,"timestamp":"2099-01-01T10:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"Hello again"}]}}`,
		`{"type":"message","id":"f0000002","parentId":"f0000001","timestamp":"2099-01-01T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Hello."}],"stopReason":"stop"}}`,
	}
	return true, writeAged(path, strings.Join(said, "\n")+"\n")
}

// freshLog is where the runtime would begin the session that follows, "" if
// the old one goes on or nothing can be carried.
func (h *Home) freshLog() (string, error) {
	switch h.Command.Runtime {
	case "pi":
		if _, err := os.Lstat(h.Log()); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		return filepath.Join(h.Sessions(), freshLog), nil
	case "openclaw":
		data, err := os.ReadFile(h.index())
		if err != nil {
			return "", err
		}
		var index map[string]struct{ SessionID string }
		if err := json.Unmarshal(data, &index); err != nil {
			return "", err
		}
		if id := index["agent:a:main"].SessionID; id != "" && id != Session {
			return filepath.Join(h.Sessions(), id+".jsonl"), nil
		}
	}
	return "", nil
}

// carriedOnce checks that a line which reached the old log after it was moved
// aside is in the session that followed, once.
// It reports whether there was such a line.
func (h *Home) carriedOnce() (old bool, err error) {
	most := 0
	err = h.eachFile(func(path string) error {
		if !isLog(filepath.Base(path)) {
			return nil
		}
		data, err := readLog(path)
		n := bytes.Count(data, []byte(lateID))
		switch {
		case err != nil:
			return nil // a damaged archive
		case bytes.Contains(data, []byte(begun)):
			most = max(most, n)
		case bytes.HasPrefix(data, []byte(h.source())) && n > 0:
			old = true
		}
		return nil
	})
	if err == nil && old && most != 1 {
		err = fmt.Errorf("the session that followed has the late line %d times", most)
	}
	return old, err
}
