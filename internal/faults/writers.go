//go:build linux && amd64

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/sessctl/sessctl/internal/crashloop"
)

// writers lists how agents and people were seen to write
// (research/reliability.md A2, A4 faults 8 to 11; real-runtimes.md section 3).
func writers() []writer {
	return []writer{
		{name: "a line appended", strike: appends},
		{name: "log opened, written to after the run", strike: opens, after: writesLate},
		{name: "log opened at the switch, written to after the run", strike: opens, after: writesLate, at: atSwitch},
		{name: "log held open from before, written to", before: opens, strike: writesLate},
		{name: "rewritten in place, longer", strike: rewrites(true)},
		{name: "rewritten in place, the same", strike: rewrites(false)},
		{name: "truncated at one call, rewritten at the next", strike: truncates, next: fills},
		{name: "replaced by rename", strike: replaces},
		{name: "removed", strike: removes},
		{name: "a stranger at the old log's new name", strike: squats, at: afterIntent, intent: true},
	}
}

// appends writes a line as pi does: open, one write, close.
func appends(m *meeting) error {
	late := m.layout().late()
	err := quietly(func() error {
		f, err := os.OpenFile(m.Log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString(strings.Join(late, "\n") + "\n")
		return errors.Join(err, f.Close())
	})
	m.lines, m.appended = append(m.lines, late...), true
	return err
}

// opens takes a descriptor as Codex does and keeps it.
func opens(m *meeting) error {
	return quietly(func() (err error) {
		m.file, err = os.OpenFile(m.Log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		return err
	})
}

func writesLate(m *meeting) error {
	late := m.layout().late()
	m.lines, m.appended = append(m.lines, late...), true
	_, err := m.file.WriteString(strings.Join(late, "\n") + "\n")
	return err
}

// rewrites writes the whole log again with the same inode, as OpenClaw 2026.7
// does at the end of a turn.
func rewrites(longer bool) func(*meeting) error {
	return func(m *meeting) error {
		if longer {
			m.lines = append(m.lines, m.layout().late()...)
		}
		return quietly(func() error { return os.WriteFile(m.Log(), m.transcript(), 0o600) })
	}
}

// transcript is the log as the agent has it in its memory.
func (m *meeting) transcript() []byte {
	return []byte(strings.Join(append(append([]string{}, m.Lines...), m.lines...), "\n") + "\n")
}

// truncates is the first half of rewrites, and fills the second.
func truncates(m *meeting) error {
	return quietly(func() (err error) {
		m.file, err = os.OpenFile(m.Log(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		return err
	})
}

func fills(m *meeting) error {
	m.lines = append(m.lines, m.layout().late()...)
	_, err := m.file.Write(m.transcript())
	err = errors.Join(err, quietly(m.file.Close))
	m.file = nil
	return err
}

// replaces writes a new file and renames it over the log.
func replaces(m *meeting) error {
	m.lines = append(m.lines, m.layout().late()...)
	temp := filepath.Join(m.Sessions(), "agent.part")
	return quietly(func() error {
		return errors.Join(os.WriteFile(temp, m.transcript(), 0o600), os.Rename(temp, m.Log()))
	})
}

// removes deletes the log.
func removes(m *meeting) error {
	m.obstructs = true
	archives, err := m.linesIn(m.inArchive)
	m.gone = missing(m.Lines, archives) != nil && !m.switched()
	if removed := os.Remove(m.Log()); !errors.Is(removed, os.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// strangersLine is in no archive: the file is not of this session.
const strangersLine = `{"type":"session","version":3,"id":"5f0c1c2e-0000-4000-8000-000000000000","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/work/a"}`

// squats puts a file at the name that the intent has for the old log: a reset
// by the runtime itself in the same millisecond.
func squats(m *meeting) error {
	m.obstructs = true
	intents, err := filepath.Glob(filepath.Join(m.Data(), "journal", "*.json"))
	if err != nil || len(intents) != 1 {
		return errors.Join(err, errors.New("no intent is written yet"))
	}
	kept, err := keptPath(intents[0])
	if err != nil {
		return err
	}
	f, err := os.OpenFile(kept, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil // the log has its new name already
	}
	if err != nil {
		return err
	}
	m.other = append(m.other, strangersLine)
	_, err = f.WriteString(strangersLine + "\n")
	return errors.Join(err, f.Close())
}

// quietly opens and closes files at moments at which no other program is being
// started by this one: a child that has not come to its exec yet holds a copy
// of every descriptor, and a lease would see it.
func quietly(fn func() error) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return fn()
}

// afterIntent: the new name is known once the intent is in the journal.
func afterIntent(b *Bench, c crashloop.Call) bool {
	calls, err := b.calls(nil, true)
	return err == nil && inSessions(b, c) && slices.ContainsFunc(calls[:c.N-1], func(earlier crashloop.Call) bool {
		return strings.HasPrefix(earlier.Name, "rename") && strings.Contains(earlier.Path, "/journal/")
	})
}

// atSwitch: a log is taken away by a rename. Who opens it there waits for the
// lease, and has the old log then.
func atSwitch(b *Bench, c crashloop.Call) bool {
	return strings.HasPrefix(c.Name, "rename") && inSessions(b, c)
}

// keptPath is the name that an intent has for the old log.
func keptPath(intent string) (string, error) {
	text, err := os.ReadFile(intent)
	if err != nil {
		return "", err
	}
	var doc struct{ Rotation struct{ Kept string } }
	if err := json.Unmarshal(text, &doc); err != nil || doc.Rotation.Kept == "" {
		return "", fmt.Errorf("%s names no old log: %w", intent, err)
	}
	return doc.Rotation.Kept, nil
}
