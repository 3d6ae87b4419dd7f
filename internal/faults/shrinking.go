//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/fakehubdb"
	"github.com/sessctl/sessctl/internal/fakesessiondb"
	"github.com/sessctl/sessctl/internal/fakestatedb"
)

// shrinkings are the commands that change a database of OpenCode or Hermes, which
// lies beside the session of pi.
func shrinkings() []Command {
	shrink := "shrink --runtime opencode "
	return []Command{
		{
			Name: "shrink sessions", Runtime: "pi", Args: strings.Fields(shrink + "sessions --quiet-period 0s"),
			Prepare: withRows, Done: rowsArchived, Whole: noRowLost, Settled: both(noRowLost, noIntent), Slow: true,
		},
		{
			Name: "shrink journal vacuum", Runtime: "pi", Args: strings.Fields(shrink + "journal vacuum --quiet-period 0s"),
			Prepare: withRows, Done: journalTrimmed, Whole: noRowLost, Settled: both(noRowLost, noIntent),
		},
		{
			Name: "restore, opencode", Runtime: "pi", Args: []string{"restore", "--runtime", "opencode", fakesessiondb.Plan},
			Prepare: rowsGone, Done: rowsBack, Whole: noRowLost, Settled: noRowLost, Slow: true,
		},
		{
			Name: "restore, opencode, two databases", Runtime: "pi", Args: []string{"restore", "--runtime", "opencode", fakesessiondb.Plan},
			Prepare: rowsGoneOfTwo, Done: both(rowsBack, rowsBackInSecond), Whole: noRowLost, Settled: both(noRowLost, rowsBackInSecond), Slow: true,
		},
		{
			Name: "restore, hermes", Runtime: "pi", Args: []string{"restore", "--runtime", "hermes", fakestatedb.Second},
			Prepare: statePruned, Done: stateBack, Whole: noStateLost, Settled: noStateLost, Slow: true,
		},
		{
			Name: "shrink sessions vacuum, hermes", Runtime: "pi", Args: strings.Fields("shrink sessions vacuum --runtime hermes --quiet-period 0s"),
			Env:     []string{"PATH=$DIR/home/bin"},
			Prepare: withState, Done: stateShrunk, Whole: noStateLost, Settled: both(noStateLost, noIntent), Slow: true,
		},
		{
			Name: "shrink deleted vacuum", Runtime: "pi", Args: strings.Fields("shrink deleted vacuum --runtime cline --quiet-period 0s"),
			Prepare: withHub, Done: deletedRemoved, Whole: noHubRowLost, Settled: both(noHubRowLost, noIntent), Slow: true,
		},
		{
			Name: "shrink deleted", Runtime: "pi", Args: strings.Fields("shrink deleted --runtime cline --quiet-period 0s"),
			Prepare: withHub, Done: deletedRemoved, Whole: noHubRowLost, Settled: both(noHubRowLost, noIntent), Slow: true,
		},
		{
			Name: "restore, cline", Runtime: "pi", Args: []string{"restore", "--runtime", "cline", fakehubdb.Deleted + ".events"},
			Prepare: hubRowsGone, Done: hubRowsBack, Whole: noHubRowLost, Settled: noHubRowLost, Slow: true,
		},
	}
}

// state is the database of Hermes, and originalState a copy of it as it was, which
// no command finds.
func (h *Home) state() string         { return filepath.Join(h.Dir, "home/.hermes/state.db") }
func (h *Home) originalState() string { return filepath.Join(h.Dir, "home/original/state.db") }

// hermesProgram is the name of Hermes' own program, whose part is played by the
// program that tries faults ([PlayManager]).
const hermesProgram = "hermes"

// tellState makes a database of Hermes, and a copy of it.
func (h *Home) tellState() error {
	return errors.Join(fakestatedb.Told(h.state(), 30).Close(), fakestatedb.Told(h.originalState(), 30).Close(), age(h.state()))
}

// withState is a home with a database of Hermes, and with its program.
func withState(h *Home) error {
	program, err := os.Executable()
	bin := filepath.Join(h.Dir, "home/bin")
	return errors.Join(err, h.tellState(), os.MkdirAll(bin, 0o700), os.Symlink(program, filepath.Join(bin, hermesProgram)))
}

// stateShrunk checks that the sessions that have ended are gone, and told of, and
// that the others are there.
func stateShrunk(h *Home) error {
	have, err := stateRows(h.state())
	if err != nil {
		return err
	}
	left := map[string]bool{}
	for _, row := range have {
		if rest, ok := strings.CutPrefix(row, "session|"); ok {
			id, _, _ := strings.Cut(rest, "|")
			left[id] = true
		}
	}
	if want := (map[string]bool{fakestatedb.Branch: true, fakestatedb.New: true}); !maps.Equal(left, want) {
		err = fmt.Errorf("the sessions that are left: %v, want %v", left, want)
	}
	return errors.Join(err, noStateLost(h), told(h, 3))
}

// statePruned is a home whose sessions of Hermes are archived, and of which Hermes
// has removed two.
func statePruned(h *Home) error {
	err := h.tellState()
	if err == nil {
		err = h.must([]int{0}, "archive", "--runtime", "hermes", "--all")
	}
	if err != nil {
		return err
	}
	d := fakestatedb.Open(h.state())
	d.Remove(fakestatedb.Delegate, fakestatedb.Second)
	return errors.Join(d.Close(), age(h.state()))
}

func stateRows(path string) ([]string, error) { return scratched(path, fakestatedb.Rows) }

// scratched reads the rows of a database. The copy that is read lies where no
// fault is.
func scratched(path string, read func(path, scratch string) ([]string, error)) (all []string, err error) {
	scratch, err := os.MkdirTemp("", "rows-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	return read(path, scratch)
}

// noStateLost is promise 1: every row stands in the database or in an archive.
func noStateLost(h *Home) error {
	return h.noneLost(stateRows, h.originalState(), h.state(), func(line string) []string {
		if row, ok := fakestatedb.Archived(line); ok {
			return []string{row}
		}
		return nil
	})
}

// noneLost checks that every row of a database as it was stands in it still, or in
// a line of an archive.
func (h *Home) noneLost(rows func(path string) ([]string, error), before, now string, archived func(line string) []string) error {
	want, err := rows(before)
	if err != nil {
		return err
	}
	have, err := rows(now)
	if err != nil {
		return err
	}
	lines, err := h.linesIn(h.inArchive)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, row := range have {
		there[row] = true
	}
	for line := range lines {
		for _, row := range archived(line) {
			there[row] = true
		}
	}
	for _, row := range want {
		if !there[row] {
			return fmt.Errorf("lost: %.200s", row)
		}
	}
	return nil
}

// stateBack checks that the sessions are there as they were.
func stateBack(h *Home) error {
	want, err := stateRows(h.originalState())
	if err != nil {
		return err
	}
	have, err := stateRows(h.state())
	if err != nil {
		return err
	}
	for _, row := range want {
		if !slices.Contains(have, row) {
			return fmt.Errorf("not back: %.200s", row)
		}
	}
	return noStateLost(h)
}

// both checks several things.
func both(checks ...func(*Home) error) func(*Home) error {
	return func(h *Home) (err error) {
		for _, check := range checks {
			err = errors.Join(err, check(h))
		}
		return err
	}
}

func (h *Home) database() string {
	return filepath.Join(h.Dir, "data/opencode/opencode.db")
}

// original is a copy of the database as it was. No command finds it.
func (h *Home) original() string { return filepath.Join(h.Dir, "home/original/opencode.db") }

// withRows is a home with a database of OpenCode, of which all is in its log.
func withRows(h *Home) error {
	from := filepath.Join(h.Dir, "making.db")
	d := fakesessiondb.Create(from)
	fakesessiondb.Story(d)
	err := d.Leave(from, h.database())
	for _, end := range []string{"", "-wal"} {
		data, readErr := os.ReadFile(h.database() + end)
		err = errors.Join(err, readErr, os.MkdirAll(filepath.Dir(h.original()), 0o700), os.WriteFile(h.original()+end, data, 0o600), age(h.database()+end), os.RemoveAll(from+end))
	}
	return errors.Join(err, os.RemoveAll(from+"-shm"))
}

// rowsGone is that home after its sessions have been removed.
func rowsGone(h *Home) error {
	return errors.Join(withRows(h), h.must([]int{0}, "shrink", "sessions", "--runtime", "opencode"))
}

// second is a database of OpenCode of another channel, with the very same sessions.
func (h *Home) second() string { return filepath.Join(h.Dir, "data/opencode/opencode-beta.db") }

// rowsGoneOfTwo is a home with two databases of the same sessions, which have been
// removed from both.
func rowsGoneOfTwo(h *Home) error {
	err := withRows(h)
	for _, end := range []string{"", "-wal"} {
		data, readErr := os.ReadFile(h.original() + end)
		err = errors.Join(err, readErr, os.WriteFile(h.second()+end, data, 0o600), age(h.second()+end))
	}
	return errors.Join(err, h.must([]int{0}, "shrink", "sessions", "--runtime", "opencode"))
}

// rowsBackInSecond checks that the session is in the second database as it was.
func rowsBackInSecond(h *Home) error { return h.rowsBackIn(h.second()) }

// rows are those of a database of OpenCode.
func rows(path string) ([]string, error) { return scratched(path, fakesessiondb.Rows) }

// noRowLost is promise 1: every row stands in the database or in an archive.
func noRowLost(h *Home) error {
	return h.noneLost(rows, h.original(), h.database(), func(line string) []string { return fakesessiondb.Archived([]string{line}) })
}

// rowsArchived checks that the sessions are gone, and told of.
func rowsArchived(h *Home) error {
	have, err := rows(h.database())
	if err == nil && len(have) > 0 {
		err = fmt.Errorf("%d rows are left: %.100s", len(have), have[0])
	}
	return errors.Join(err, noRowLost(h), told(h, 10))
}

// journalTrimmed checks that only superseded events are gone.
func journalTrimmed(h *Home) error {
	want, err := rows(h.original())
	if err != nil {
		return err
	}
	have, err := rows(h.database())
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, row := range have {
		there[row] = true
	}
	gone := 0
	for _, row := range want {
		if !there[row] {
			gone++
			if !strings.HasPrefix(row, "event|") {
				return fmt.Errorf("removed: %.100s", row)
			}
		}
	}
	if gone == 0 {
		return errors.New("nothing was removed")
	}
	return errors.Join(noRowLost(h), told(h, 5))
}

// told checks that the audit log has a line of each thing that is gone, once.
func told(h *Home, want int) error {
	text, err := os.ReadFile(filepath.Join(h.Data(), "audit.jsonl"))
	if n := strings.Count(string(text), `"action":"shrink"`); err == nil && n != want {
		err = fmt.Errorf("the audit log has %d lines of what was removed, want %d", n, want)
	}
	return err
}

// noIntent checks that no run is left unfinished.
func noIntent(h *Home) error {
	left, err := filepath.Glob(filepath.Join(h.Data(), "shrink", "*"))
	if len(left) > 0 {
		err = fmt.Errorf("left: %v", left)
	}
	return err
}

// rowsBack checks that the session is there as it was, with what belongs to it.
func rowsBack(h *Home) error { return errors.Join(h.rowsBackIn(h.database()), noRowLost(h)) }

// rowsBackIn checks that the session is in a database as it was.
func (h *Home) rowsBackIn(database string) error {
	want, err := rows(h.original())
	if err != nil {
		return err
	}
	have, err := rows(database)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, row := range have {
		there[row] = true
	}
	for _, row := range want {
		if strings.HasPrefix(row, "session|"+fakesessiondb.Plan) && !there[row] {
			return errors.New("the session is not back")
		}
		if strings.Contains(row, "The third tray is too dark") && !there[row] {
			return fmt.Errorf("not back: %.100s", row)
		}
	}
	return nil
}
