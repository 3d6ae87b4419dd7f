package faults_test

import (
	"cmp"
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/faults"
	"github.com/sessctl/sessctl/internal/program"
	"github.com/sessctl/sessctl/internal/tier"
)

// planted is a mistake that somebody could make, put into a copy of the
// source. A harness that does not find it proves nothing.
type planted struct {
	name     string
	file     string    // below the module
	old, new string    // old stands there exactly once
	also     [2]string // another old and new of the same file, if any
	command  string
	fault    string
	power    bool // it shows only in a power cut
	always   bool // tried without SESSCTL_LONG too, but not in the smoke share
}

func plantedBugs() []planted {
	const rotate, rewrite = "compact, rotate, openclaw", "compact, rewrite, annabelle"
	return []planted{
		{
			name: "a file is not synced", file: "pkg/durable/replace.go",
			old: "return t.file.Sync()\n", new: "return nil\n",
			command: rotate, fault: "power cut after a foreign fsync", power: true,
		},
		{
			name: "a directory is not synced", file: "pkg/durable/system_unix.go",
			old: "err = file.Sync()\n", new: "",
			command: rotate, fault: "power cut, two file systems", power: true,
		},
		{
			name: "memory is not synced", file: "pkg/memory/store.go",
			old: "synchronous(FULL)", new: "synchronous(OFF)",
			command: rotate, fault: "power cut, two file systems", power: true,
		},
		{
			name: "no second look before the index is switched", file: "pkg/session/openclaw/rotate.go",
			old: "if err := held.Check(); err != nil {\n\t\treturn err\n\t}\n", new: "",
			also:    [2]string{"return held.InPlace()\n", "return nil\n"},
			command: rotate, fault: "a line appended",
		},
		{
			name: "an index that came out of the exchange is dropped", file: "pkg/session/openclaw/indexwrite.go",
			old: "if session.Observe(path, expected).MatchesMoved(came.info) == nil {", new: "if _ = path; came != nil {",
			command: rotate, fault: "an entry added to the index without its lock",
		},
		{
			name: "no second look before a log is exchanged", file: "pkg/session/logfile/held.go",
			old: "return c.Plan.Snapshot.Matches(named)\n", new: "return nil\n",
			command: rewrite, fault: "a line appended",
		},
		{
			name: "a lease is not asked for", file: "pkg/durable/system_linux.go",
			old: "_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_WRLCK)\n", new: "var err error\n",
			also:    [2]string{"kind, err := unix.FcntlInt(fd, unix.F_GETLEASE, 0)\n\t\theld = kind == unix.F_WRLCK\n", "held = true\n\t\tvar err error\n"},
			command: rotate, fault: "log opened, written to after the run",
		},
		{
			name: "a rename that overwrites", file: "pkg/durable/system_linux.go",
			old: "renameat2(from, to, unix.RENAME_NOREPLACE)", new: "renameat2(from, to, 0)",
			command: rotate, fault: "a stranger at the old log's new name",
		},
		{
			name: "a rename in place of an exchange", file: "pkg/session/logfile/held.go",
			old:     "err = c.exchange(next, c.Plan.Live)\n\tif errors",
			new:     "if os.Link(c.Plan.Live, c.Plan.Kept) == nil {\n\t\treturn c.Plan.Kept, os.Rename(next, c.Plan.Live)\n\t}\n\tif errors",
			command: rewrite, fault: "replaced by rename",
		},
		{
			name: "a name is taken away from whatever has it", file: "pkg/durable/move.go",
			old: "if err := from.onto(aside); err != nil {\n\t\treturn err\n\t}\n", new: "if aside.base != \"\" {\n\t\treturn from.unlink()\n\t}\n",
			command: "compact, rotate, pi, no leases, no exchange", fault: "replaced by rename",
		},
		{
			name: "no look after the move where there are no leases", file: "pkg/session/logfile/held.go",
			old: "return h.change.Plan.Snapshot.MatchesMoved(moved)\n", new: "return nil\n",
			command: "compact, rotate, pi, no leases", fault: "a line appended",
		},
		{
			name: "an archive is not read back", file: "pkg/archive/put.go",
			old: "if err := s.VerifyFile(ctx, e); err != nil {", new: "if err := ctx.Err(); err != nil {",
			command: "archive, openclaw", fault: "write lost by the disk", always: true,
		},
		{
			name: "the intent is not written", file: "pkg/compact/journal.go",
			old: "return writeJSON(j.Pins, j.Path(in.ID), in)\n", new: "return nil\n",
			command: rotate, fault: "SIGKILL",
		},
		{
			name: "a failed write is not noticed", file: "pkg/durable/replace.go",
			old: "n, err := w.to.Write(p)\n\tw.err = err\n\treturn n, err\n", new: "w.to.Write(p)\n\treturn len(p), nil\n",
			command: rotate, fault: "ENOSPC once",
		},
		{
			name: "the old log is not looked at again", file: "pkg/compact/settle.go",
			old: "if snap.SHA256 != in.Archive.SHA256 || o.memories.archives.Lasts(ctx, in.Archive) != nil {", new: "if o.memories.archives.Lasts(ctx, in.Archive) != nil {",
			command: rotate, fault: "log opened, written to after the run",
		},
		{
			name: "late lines are not carried", file: "pkg/compact/carry.go",
			old: "if in.Kind != KindRotation && in.Kind != KindShortening {", new: "if in.Kind != \"\" || k.free || !k.free {",
			command: rotate, fault: "log opened at the switch, written to after the run", always: true,
		},
		{
			name: "no lock", file: "pkg/durable/lock.go",
			old: "if !ok {\n", new: "if _ = ok; false {\n",
			command: "archive, openclaw", fault: "second sessctl",
		},
		{
			name: "temporary files are not swept", file: "pkg/durable/replace.go",
			old: "range leftoversOf(root, hidden, age) {\n\t\tif err := RemoveFileIn", new: "range leftoversOf(root, nil, age) {\n\t\tif err := RemoveFileIn",
			command: rotate, fault: "SIGKILL",
		},
		{
			name: "a torn record is written again as a whole", file: "pkg/session/logfile/change.go",
			old: "return record[len(tail):], nil", new: "return record, nil",
			command: "compact, overlay, pi", fault: "torn write, SIGKILL",
		},
		{
			name: "what is learned is written again", file: "pkg/session/logfile/beside.go",
			old: "return held.Append([]byte(missing(string(known))))", new: "_ = known\n\treturn held.Append([]byte(missing(\"\")))",
			command: "compact, cleared, macstats", fault: "SIGKILL",
		},
		{
			name: "a setting is written in its place", file: "pkg/hooks/plan.go",
			old: "return durable.ReplaceFile(c.Path, c.mode, func(w io.Writer) error {\n\t\t_, err := w.Write(c.After)\n\t\treturn err\n\t})\n", new: "return os.WriteFile(c.Path, c.After, c.mode)\n",
			command: "hook install", fault: "torn write, SIGKILL",
		},
		{
			name: "a record of the trash goes before its file", file: "pkg/retention/trash.go",
			old: "if err := t.Pins.RemoveFile(item.To); err != nil {\n\t\treturn err\n\t}\n\treturn t.drop(item.ID)\n", new: "if err := t.drop(item.ID); err != nil {\n\t\treturn err\n\t}\n\treturn t.Pins.RemoveFile(item.To)\n",
			command: "clean, trash emptied", fault: "SIGKILL",
		},
	}
}

// TestPlantedBugsAreFound builds sessctl with one mistake after the other and wants
// each of them found: by the fault that is meant for it, at any call, and with
// SESSCTL_LONG=1 by what make test-faults tries for a change of that file alone.
func TestPlantedBugsAreFound(t *testing.T) {
	for _, p := range plantedBugs() {
		t.Run(p.name, func(t *testing.T) {
			if !tier.Long() && (!p.always || tier.Smoke()) {
				t.Skip("only with SESSCTL_LONG=1; some with SESSCTL_FAULTS=1")
			}
			mistaken, err := program.Build(t.TempDir(), "-overlay", p.overlay(t))
			if err != nil {
				t.Fatal(err)
			}
			bench := newBench(t, mistaken, p.row(t))
			if p.power && bench.PowerCuts != nil {
				t.Skip(bench.PowerCuts)
			}
			found, err := bench.Finds(column(t, p.fault))
			if err != nil || found == "" {
				t.Fatalf("nothing was found (%v)", err)
			}
			t.Log(found)
			if tier.Long() {
				p.isFoundByChoice(t, mistaken)
			}
		})
	}
}

// isFoundByChoice tries what make test-faults tries, until something is violated. It
// begins with the row that is meant for the mistake, which is no other run for it.
func (p planted) isFoundByChoice(t *testing.T, mistaken string) {
	t.Helper()
	runs := 0
	for _, try := range p.tries(t) {
		bench, err := faults.NewBench(mistaken, place(t), try.row)
		if err != nil {
			t.Logf("%s: found by %q before any fault: %v", p.name, try.row.Name, err)
			return
		}
		bench.AtStake = true
		for _, f := range try.columns {
			r, err := bench.Try(f, changeShare(try.row))
			if err != nil {
				t.Fatal(err)
			}
			if runs += r.Runs; len(r.Violations) > 0 {
				t.Logf("%s: found by %q, %q after %d runs: %.300s", p.name, r.Command, r.Fault, runs, r.Violations[0])
				return
			}
		}
	}
	t.Errorf("%s: a change of %s would land: %d runs have found nothing", p.name, p.file, runs)
}

// choice is what is tried for a change of the file.
func (p planted) choice(t *testing.T) faults.Choice {
	return faults.Choose(recorded(t), faults.Change{Files: []string{p.file}, Known: true, Seed: cmp.Or(tier.Seed(), "planted")})
}

// rowTries are the faults that are tried on a row.
type rowTries struct {
	row     faults.Command
	columns []faults.Fault
}

// tries lists what make test-faults tries for a change of the file, the row and the
// fault that are meant for the mistake first.
func (p planted) tries(t *testing.T) (all []rowTries) {
	t.Helper()
	choice := p.choice(t)
	for _, c := range faults.Commands() {
		if !choice.Has(c.Name) {
			continue
		}
		columns := choice.Columns(c, faults.Faults())
		all = append(all, rowTries{c, columns})
		if c.Sessions {
			for _, s := range lessers()[len(lessers())-1:] {
				all = append(all, rowTries{c.On(s), slices.DeleteFunc(slices.Clone(columns), isCut)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b rowTries) int { return cmp.Compare(p.distance(a.row.Name), p.distance(b.row.Name)) })
	for _, try := range all {
		slices.SortStableFunc(try.columns, func(a, b faults.Fault) int {
			return cmp.Compare(strings.Count(b.Name, p.fault), strings.Count(a.Name, p.fault))
		})
	}
	return all
}

// distance is how far a row is from the one that is meant for the mistake.
func (p planted) distance(row string) int {
	switch {
	case row == p.command:
		return 0
	case strings.HasPrefix(p.command, row), strings.HasPrefix(row, p.command):
		return 1
	}
	return 2
}

// A change of the file of a mistake tries the row that is meant for it.
func TestChoiceHasTheRowOfEveryPlantedBug(t *testing.T) {
	for _, p := range plantedBugs() {
		touched := p.choice(t).Touched
		if !slices.ContainsFunc(touched, func(row string) bool { return row == p.command || strings.HasPrefix(p.command, row+", no ") }) {
			t.Errorf("%s: a change of %s does not try %q, but %d others", p.name, p.file, p.command, len(touched))
		}
	}
}

// TestEveryPlantedBugFitsTheSource runs nothing: it keeps a change elsewhere
// from losing a planted bug until somebody makes the long run. With
// SESSCTL_FAULTS=1 each is compiled too.
func TestEveryPlantedBugFitsTheSource(t *testing.T) {
	for _, p := range plantedBugs() {
		t.Run(p.name, func(t *testing.T) {
			_, content := p.patched(t)
			if _, err := parser.ParseFile(token.NewFileSet(), p.file, content, parser.SkipObjectResolution); err != nil {
				t.Errorf("the patched source is no Go: %v", err)
			}
			p.row(t)
			column(t, p.fault)
			if tier.Smoke() {
				return
			}
			compile := exec.Command("go", "build", "-overlay", p.overlay(t), "./"+filepath.Dir(p.file))
			compile.Dir = "../.."
			if out, err := compile.CombinedOutput(); err != nil {
				t.Errorf("the patched source does not compile: %v\n%s", err, out)
			}
		})
	}
}

// patched returns the path of the source and what it says with the mistake.
func (p planted) patched(t *testing.T) (source, content string) {
	t.Helper()
	source, err := filepath.Abs(filepath.Join("../..", p.file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	content = replaceOnce(t, string(text), p.old, p.new)
	if p.also[0] != "" {
		content = replaceOnce(t, content, p.also[0], p.also[1])
	}
	return source, content
}

// overlay writes the patched copy and what tells the compiler of it.
func (p planted) overlay(t *testing.T) string {
	t.Helper()
	source, content := p.patched(t)
	dir := t.TempDir()
	patched, overlay := filepath.Join(dir, filepath.Base(p.file)), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{source: patched}})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{patched: content, overlay: string(list)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}

func replaceOnce(t *testing.T, text, before, after string) string {
	t.Helper()
	if n := strings.Count(text, before); n != 1 {
		t.Fatalf("the source has the text to replace %d times, not once: bring this test up to date:\n%s", n, before)
	}
	return strings.Replace(text, before, after, 1)
}

func (p planted) row(t *testing.T) faults.Command {
	t.Helper()
	for _, c := range faults.Commands() {
		if c.Name == p.command {
			return c
		}
		for _, s := range faults.Systems() {
			if c.On(s).Name == p.command {
				return c.On(s)
			}
		}
	}
	t.Fatalf("no command %q", p.command)
	return faults.Command{}
}

func column(t *testing.T, name string) faults.Fault {
	t.Helper()
	for _, f := range faults.Faults() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no fault %q", name)
	return faults.Fault{}
}
