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
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/sessctl/sessctl/internal/crashloop"
)

// Command is one row of the table: something sessctl does to files.
type Command struct {
	Name    string   // in the table
	Runtime string   // of the session: a key of layouts
	Args    []string // of sessctl; $ARCHIVE and $RECEIPT are ids of the prepared home, $DIR is the home
	Env     []string // further variables; $DIR is the home
	Input   string   // on stdin
	// Prepare brings the home into the state in which the command starts.
	// The files of the runtime are there already.
	Prepare func(*Home) error
	// Done checks what exit 0 has promised. Nothing ran since.
	Done func(*Home) error
	// Answered says that the output promises what Done checks. It is for a command
	// whose exit code does not: a server answers that it could not. nil is exit 0.
	Answered func(output string) bool
	// Whole checks what must hold whenever the command was stopped, before anything
	// else runs; nil is nothing.
	Whole func(*Home) error
	// Settled checks what else must be so after the next runs; nil is nothing.
	Settled func(*Home) error
	// Slow says that it is not in the smoke share.
	Slow bool
	// Below is the directory of the data directory at whose files alone faults
	// happen, and only before calls that change something; "" is everywhere. It is
	// for a row that is another one but for what it does there.
	Below string
	// Refusals is what it may say, whatever the exit code, when there is
	// nothing left that it may do.
	Refusals []string
	// Sessions says that the command works on the agent's own files, so that
	// an agent that writes meets it.
	Sessions bool
	// Intends says that it moves the old log aside under a name that it has
	// written down before.
	Intends bool
	// Rested is for how long the log has been left alone when the command
	// starts. One that has settled (session.Settled, two seconds) is read once
	// where others are read twice.
	Rested time.Duration
	// Lacking is what the system does not have.
	Lacking crashloop.Lacking
}

// On returns the command on a system that has less.
func (c Command) On(less System) Command {
	c.Name, c.Lacking = c.Name+", "+less.Name, less.Lacking
	return c
}

// System is one that has less than Linux on a local disk.
type System struct {
	Name    string
	Lacking crashloop.Lacking
}

// Systems lists those that sessctl knows (docs/reliability.md, "Where the
// system gives less").
func Systems() []System {
	return []System{
		{"no leases", crashloop.Lacking{Leases: true}},                                 // as on macOS
		{"no leases, no exchange", crashloop.Lacking{Leases: true, RenameFlags: true}}, // as on a network file system
	}
}

// Commands lists every command that changes files.
func Commands() []Command {
	return slices.Concat(compactions(), deadTurns(), undos(), carryings(), archivings(), restores(), continuings(), prunings(), supersedings(), offsite(), offsiteRecords(), damagedOffsite(), cleanings(), memories(), extractions(), givingUps(), besides(), runs(), watching(), tellings(), storings(), registrations(), schedulings(), workings(), shrinkings(), pagings(), pinnings(), forgettings(), withdrawings(), ledgers(), witnessings(), redactings(), fleets())
}

func compactions() []Command {
	const now = " --quiet-period 0s" // the next run is at once, and the log just changed
	compact := func(name, runtime, args string, done func(*Home) error) Command {
		return Command{
			Name: "compact, " + name, Runtime: runtime, Args: strings.Fields("compact --runtime " + runtime + " " + args),
			Done: done, Settled: remembers(Chunks), Sessions: true,
		}
	}
	all := []Command{
		compact("rotate, openclaw", "openclaw", "--force --agent a --strategy rotate", rotated),
		compact("rotate, pi", "pi", "--force --agent work-a --strategy rotate", rotated),
		compact("rotate, agent", "agent", "--force --agent agent --strategy rotate", rotated),
		compact("rotate, annabelle", "annabelle", "--force --agent a --clear", rotated),
		compact("overlay, pi", "pi", "--force --agent work-a --strategy overlay --keep-recent-tokens 10"+now, overlaid),
		compact("overlay, agent", "agent", "--force --agent agent --strategy overlay --keep-recent-tokens 10"+now, overlaid),
		compact("rewrite, annabelle", "annabelle", "--agent a --strategy rewrite"+now, rewritten),
		compact("trim, copilot", "copilot", "--agent home-lea-a"+now, trimmed),
		compact("trim, qwen", "qwen", "--agent work-a"+now, trimmedQwen),
		compact("cleared, macstats", "macstats", "--agent mac-stats --strategy rewrite"+now, cleared),
		compact("rewrite, macstats", "macstats", "--agent mac-stats --strategy rewrite"+now, replaced),
		compact("cleared before an older one, macstats", "macstats", "--agent mac-stats --strategy rewrite"+now, clearedBefore),
		compact("rotate, omp", "omp", "--force --agent work-a --strategy rotate", rotated),
		compact("overlay, omp", "omp", "--force --agent work-a --strategy overlay --keep-recent-tokens 10"+now, overlaid),
		compact("trim, omp", "omp", "--force --agent work-a --strategy trim"+now, trimmedOMP),
	}
	for i := range 2 {
		all[i].Intends = true
	}
	all[10].Prepare, all[11].Prepare = inUse, hasOlder
	// Where names cannot be exchanged a program may begin another log while the old
	// one is aside. That one begins in the middle, and is left alone.
	all[7].Refusals, all[8].Refusals = []string{"its first line is no session.start", "unknown agent"}, []string{"hangs on one that is not before it"}
	for i := 12; i < len(all); i++ {
		all[i].Slow, all[i].Refusals = true, []string{"it has no header", "it does not begin with a header"}
	}
	return all
}

// carryings are runs that have nothing else to do than to carry a late line.
// An agent that writes meets the append, which is that of an overlay.
func carryings() []Command {
	carrying := func(runtime, agent string) Command {
		return Command{
			Name: "late lines, " + runtime, Runtime: runtime, Prepare: cameLate, Done: carried,
			Args: []string{"compact", "--runtime", runtime, "--agent", agent},
		}
	}
	return []Command{carrying("openclaw", "a"), carrying("pi", "work-a"), carrying("agent", "agent"), {
		Name: "fragment, pi", Runtime: "pi", Prepare: fragmented, Done: fragmentCarried,
		Args: []string{"compact", "--runtime", "pi", "--agent", "work-a"},
	}}
}

// fragmented is a home in which a pi that ran on has made the log again, without
// its header, and another session has followed.
func fragmented(h *Home) (err error) {
	if err := os.Remove(h.Log()); err != nil {
		return err
	}
	if h.next, err = h.begins(); err != nil {
		return err
	}
	h.Lines = h.Lines[1:]
	return writeAged(h.Log(), h.source())
}

// fragmentCarried checks that the fragment is gone, and that its records stand
// in the session that followed, once each.
func fragmentCarried(h *Home) error {
	if _, err := os.Lstat(h.Log()); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the fragment is at its place: %v", err)
	}
	log, err := os.ReadFile(h.next.log)
	if err != nil {
		return err
	}
	added, ok := strings.CutPrefix(string(log), h.next.text)
	if !ok || strings.Count(added, "\n") != 24 {
		return fmt.Errorf("%d records were added to the session that followed, want 24: %.300q", strings.Count(added, "\n"), added)
	}
	return errors.Join(onOneBranch(string(log)), h.hasReceipts(1), h.inArchives(h.Lines))
}

func prunings() []Command {
	const prune = "archives prune --max-age 90d --keep 1 --force --yes"
	return []Command{
		{
			Name: "archives prune", Runtime: "openclaw", Args: strings.Fields(prune),
			Prepare: oldArchives, Done: pruned,
		},
		{
			Name: "archives prune, purge", Runtime: "openclaw", Args: strings.Fields(prune + " --grace 0h"),
			Prepare: oldArchives, Done: pruned,
		},
		{
			Name: "archives prune, trash emptied", Runtime: "openclaw", Args: strings.Fields(prune + " --grace 0h"),
			Prepare: func(h *Home) error {
				if err := oldArchives(h); err != nil {
					return err
				}
				return h.must([]int{0}, strings.Fields(prune+" --grace 0h")...)
			},
			Done: func(h *Home) error { return errors.Join(pruned(h), h.trashIsEmpty()) },
		},
	}
}

func archivings() []Command {
	return []Command{
		{
			Name: "archive, openclaw", Runtime: "openclaw", Args: []string{"archive", "--agent", "a"},
			Done: archived, Sessions: true,
		},
		{
			Name: "archive, pi, zstd", Runtime: "pi", Args: []string{"archive", "--runtime", "pi", "--agent", "work-a"},
			Env: []string{"SESSCTL_ARCHIVE_COMPRESSION=zstd"}, Done: archived, Sessions: true,
		},
		{
			Name: "archive, log left alone", Runtime: "openclaw", Args: []string{"archive", "--agent", "a"},
			Done: archived, Sessions: true, Rested: 2100 * time.Millisecond,
		},
		{
			Name: "archive, and remember", Runtime: "pi", Args: []string{"archive", "--all", "--remember"},
			Done: archivedAndRemembered, Settled: remembers(Chunks), Sessions: true,
		},
	}
}

func archivedAndRemembered(h *Home) error { return errors.Join(archived(h), h.recalls(Chunks)) }

func memories() []Command {
	command := func(name, args string, prepare func(*Home) error, chunks int) Command {
		return Command{
			Name: name, Runtime: "openclaw", Args: strings.Fields(args), Prepare: prepare,
			Done: func(*Home) error { return nil }, Settled: remembers(chunks),
			Refusals: []string{"no such record", "no memory yet"},
		}
	}
	all := []Command{
		command("memory reindex", "memory reindex", compacted, Chunks),
		command("memory reindex, memory gone", "memory reindex --from-archives", forgotten, Chunks),
		command("memory reindex, memory damaged", "memory reindex --from-archives", damaged, Chunks),
		command("memory forget", "memory forget --agent a --yes", compacted, 0),
		command("memory reindex, tombstones lost", "memory reindex", tombstonesLost, 0),
	}
	all[3].Settled = func(h *Home) error { return errors.Join(forgot(h), h.hasNoTrace("nobody disputes")) }
	all[4].Settled = func(h *Home) error { return errors.Join(forgot(h), h.hasTombstones()) }
	return all
}

// cleanings are deletions of a session that was rotated long ago.
func cleanings() []Command {
	const clean = "clean --max-age 7d --force --yes"
	return []Command{
		{Name: "clean", Runtime: "openclaw", Args: strings.Fields(clean), Prepare: closedLongAgo, Done: cleaned},
		{Name: "clean, purge", Runtime: "openclaw", Args: strings.Fields(clean + " --grace 0h"), Prepare: closedLongAgo, Done: cleaned},
		{Name: "clean, archives and remembers first", Runtime: "pi", Args: strings.Fields(clean), Prepare: oldBesideNew, Done: cleanedAndRemembered},
		{Name: "clean, purge of a log written late", Runtime: "pi", Args: strings.Fields(clean + " --grace 0h"), Prepare: writtenInTrash, Done: cleaned},
		{Name: "clean, trash emptied", Runtime: "pi", Args: strings.Fields(clean + " --grace 0h"), Prepare: waitedInTrash, Done: goneForGood},
		{Name: "clean --empty-trash", Runtime: "pi", Args: []string{"clean", "--empty-trash", "--yes"}, Prepare: inTrash, Done: goneForGood},
		{Name: "clean --undelete", Runtime: "pi", Args: []string{"clean", "--undelete", "all"}, Prepare: inTrash, Done: func(h *Home) error { return h.logIs(h.source()) }, Refusals: []string{"is not in the trash"}},
	}
}

// closedLongAgo is a home whose session was compacted, and whose closed log
// nobody has touched for weeks, beside a newer session.
func closedLongAgo(h *Home) error {
	if err := compacted(h); err != nil {
		return err
	}
	closed, err := filepath.Glob(h.Log() + ".reset.*")
	if err != nil || len(closed) != 1 {
		return fmt.Errorf("%d closed logs, want 1 (%v)", len(closed), err)
	}
	return errors.Join(weeksAgo(closed[0]), h.newer())
}

// oldBesideNew is a home with an old session that has no archive, and a newer
// one.
func oldBesideNew(h *Home) error {
	return errors.Join(weeksAgo(h.Log()), h.newer())
}

// inTrash is such a home after a clean.
func inTrash(h *Home) error {
	if err := oldBesideNew(h); err != nil {
		return err
	}
	return h.must([]int{0}, "clean", "--max-age", "7d", "--force", "--yes")
}

// waitedInTrash is such a home whose log has waited for as long as it should.
func waitedInTrash(h *Home) error {
	if err := oldBesideNew(h); err != nil {
		return err
	}
	return h.must([]int{0}, "clean", "--max-age", "7d", "--force", "--yes", "--grace", "0h")
}

// goneForGood checks that the trash has no file and no record, and that what it had is in
// an archive. Where the system has no leases a log waits there for a day.
func goneForGood(h *Home) error {
	err := errors.Join(h.inArchives(h.Lines), h.trashIsRecorded())
	if h.Command.Lacking.Leases {
		return err
	}
	return errors.Join(err, h.trashIsEmpty())
}

// writtenInTrash is a home whose old log has got a line since it was deleted,
// from a program that waited for it, and whose time in the trash is over.
func writtenInTrash(h *Home) error {
	if err := oldBesideNew(h); err != nil {
		return err
	}
	if err := h.must([]int{0}, "clean", "--max-age", "7d", "--force", "--yes", "--grace", "0h"); err != nil {
		return err
	}
	trashed, err := filepath.Glob(filepath.Join(filepath.Dir(h.Log()), ".sessctl-trash", "*"))
	if err != nil || len(trashed) != 1 {
		return fmt.Errorf("the trash holds %v (%v), want one log", trashed, err)
	}
	h.Lines = append(h.Lines, h.layout().late()...)
	return writeAged(trashed[0], h.source())
}

// runs are those of a profile: several commands under one lock.
func runs() []Command {
	return []Command{{
		Name: "run nightly", Runtime: "openclaw", Args: []string{"run"}, Env: []string{"SESSCTL_COMPACTION_THRESHOLD=1"},
		Done: ran, Settled: remembers(Chunks), Sessions: true,
	}, {
		Name: "run nightly, old records go", Runtime: "openclaw", Args: []string{"run"}, Env: []string{"SESSCTL_COMPACTION_THRESHOLD=1"},
		Prepare: ranOften, Done: func(h *Home) error { return errors.Join(ran(h), countedOnce(h)) }, Settled: countedOnce, Slow: true, Below: "runs",
	}}
}

// olderRuns are as many records of runs as are kept, and two more. They are of
// another profile: of each the newest stay, whatever their age.
const olderRuns = 1002

// ranOften is a home with more records of runs than are kept.
func ranOften(h *Home) error {
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range olderRuns {
		at := begun.Add(time.Duration(i) * time.Minute)
		id := ulid.MustNew(ulid.Timestamp(at), nil).String()
		record := fmt.Sprintf(`{"schema":1,"id":%q,"profile":"often","started_at":%q,"finished_at":%[2]q,"outcome":"ok","told":true,"steps":[]}`, id, at.Format(time.RFC3339))
		if err := writeAged(filepath.Join(h.Data(), "runs", id+".json"), record+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// countedOnce checks that every run is counted once, whether its record is still
// there or not, and that all newer records are.
func countedOnce(h *Home) error {
	code, out, err := h.Run("metrics")
	if err != nil || code != 0 {
		return fmt.Errorf("metrics: exit %d, %v: %s", code, err, out)
	}
	records, err := filepath.Glob(filepath.Join(h.Data(), "runs", "*.json"))
	if err != nil {
		return err
	}
	total := 0
	for line := range strings.Lines(out) {
		if n, found := strings.CutPrefix(strings.TrimSpace(line), "sessctl_runs_total{"); found {
			_, n, _ = strings.Cut(n, "} ")
			counted, err := strconv.Atoi(n)
			if err != nil {
				return fmt.Errorf("metrics: %s: %w", line, err)
			}
			total += counted
		}
	}
	code, out, err = h.Run("log", "--runs", "--limit", "0", "--json")
	if err != nil || code != 0 {
		return fmt.Errorf("log --runs: exit %d, %v: %s", code, err, out)
	}
	var doc struct{ Runs []struct{ Profile string } }
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		return fmt.Errorf("log --runs: %w", err)
	}
	own := 0
	for _, r := range doc.Runs {
		if r.Profile != "often" {
			own++
		}
	}
	if total != olderRuns+own || len(doc.Runs) != len(records) || len(records) < 1000 {
		return fmt.Errorf("%d runs are counted and %d records kept, %d of them of this home's own runs; there were %d before", total, len(records), own, olderRuns)
	}
	return nil
}

// ran checks what a run has done, and that it has left a record of its end.
func ran(h *Home) error {
	code, out, err := h.Run("log", "--runs", "--limit", "1", "--json")
	if err != nil || code != 0 {
		return fmt.Errorf("log --runs: exit %d, %v: %s", code, err, out)
	}
	var doc struct {
		Runs []struct {
			Outcome string
			Told    bool
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		return fmt.Errorf("log --runs: %w", err)
	}
	if len(doc.Runs) != 1 || doc.Runs[0].Outcome != "ok" || !doc.Runs[0].Told {
		return fmt.Errorf("the last run is %+v, want one that is ok and told", doc.Runs)
	}
	return errors.Join(movedAway(h), h.inArchives(h.Lines))
}

// givingUps end a change that no run can finish.
func givingUps() []Command {
	return []Command{{
		Name: "doctor --give-up", Runtime: "pi", Args: []string{"doctor", "--give-up", stuckRun},
		Prepare: cannotFinish, Done: givenUp,
	}}
}

// stuckRun is the id of a change that no run can finish.
const stuckRun = "01KD3V00000000000000000000"

// cannotFinish is a home in whose journal is a change that this version does not
// know, and beside the log one that it has put aside.
func cannotFinish(h *Home) error {
	kept := h.Log() + ".rotated.2026-03-01T11-00-00.000Z"
	entry := map[string]any{
		"schema": 1, "id": stuckRun, "kind": "merge", "rotation": map[string]any{
			"runtime": "pi", "agent": "work-a", "session": Session, "store": filepath.Dir(h.Sessions()),
			"live": h.Log(), "kept": kept, "at": "2026-03-01T11:00:00Z",
		},
	}
	text, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	last := len(h.Lines) - 2 // the log was shortened to these
	err = errors.Join(
		writeAged(kept, h.source()), writeAged(h.Log(), h.layout().header+"\n"+strings.Join(h.Lines[last:], "\n")+"\n"),
		writeAged(filepath.Join(h.Data(), "journal", stuckRun+".json"), string(text)),
	)
	if err != nil {
		return err
	}
	return h.must([]int{1}, "doctor", "--fix")
}

// givenUp checks that nothing was touched, that every line is in an archive, and
// that the entry is kept.
func givenUp(h *Home) error {
	kept, err := filepath.Glob(h.Log() + ".rotated.*")
	if err != nil || len(kept) != 1 {
		return fmt.Errorf("the old log is one of %v (%v)", kept, err)
	}
	_, err = os.Stat(filepath.Join(h.Data(), "given-up", stuckRun+".json"))
	return errors.Join(err, h.inArchives(h.Lines))
}

func weeksAgo(path string) error {
	old := time.Now().Add(-40 * 24 * time.Hour)
	return os.Chtimes(path, old, old)
}

// newer adds a session that was used a moment ago.
func (h *Home) newer() error {
	const other = "00000000-0000-4000-8000-00000000000f"
	name := other + ".jsonl"
	if strings.HasPrefix(filepath.Base(h.Log()), "20") { // pi puts a time before the id
		name = "2026-11-01T10-00-00-000Z_" + name
	}
	return writeAged(filepath.Join(filepath.Dir(h.Log()), name), strings.Replace(h.layout().header, `"id":"`, `"id":"0`, 1)+"\n")
}

// cleaned checks that the old log is not at its place, and that archives alone
// have every line.
func cleaned(h *Home) error {
	closed, err := filepath.Glob(h.Log() + "*")
	if err != nil || len(closed) > 0 {
		return fmt.Errorf("still there: %v (%v)", closed, err)
	}
	return h.inArchives(h.Lines)
}

// cleanedAndRemembered checks too that memory has what the log said.
func cleanedAndRemembered(h *Home) error { return errors.Join(cleaned(h), h.recalls(Chunks)) }

// extractions remember what people said. The session is only read.
func extractions() []Command {
	return []Command{{
		Name: "extract-facts", Runtime: "openclaw", Args: []string{"extract-facts", "--agent", "a"},
		Prepare: introduced, Done: factsKnown, Settled: factsKnown,
	}}
}

// introduced is a home in whose session somebody says who they are.
func introduced(h *Home) error {
	line := h.layout().message(24, "My name is Ana Lindqvist. Remember that I prefer tabs over spaces. From now on write to ana@northwind.example.")
	return writeAged(h.Log(), h.source()+line+"\n")
}

// factsKnown checks that memory has what was said there, once each.
func factsKnown(h *Home) error {
	code, out, err := h.Run("extract-facts", "--list", "--json")
	if err != nil || code != 0 {
		return fmt.Errorf("extract-facts --list: exit %d, %v: %s", code, err, out)
	}
	var doc struct {
		Facts []struct{ Text string }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		return fmt.Errorf("extract-facts --list: %w", err)
	}
	var texts strings.Builder
	for _, f := range doc.Facts {
		texts.WriteString(f.Text + "\n")
	}
	said := []string{"name is Ana Lindqvist", "tabs over spaces", "ana@northwind.example"}
	once := !slices.ContainsFunc(said, func(part string) bool { return strings.Count(texts.String(), part) != 1 })
	if !once || len(doc.Facts) != len(said) {
		return fmt.Errorf("memory has the facts %q, want %q", texts.String(), said)
	}
	return nil
}

// undos are those of every kind of change that a compaction makes.
func undos() []Command {
	undo := func(compact Command) Command {
		quiet := " --quiet-period 0s"
		if compact.Name == "compact, overlay, pi" || compact.Name == "compact, rewrite, macstats" {
			quiet = "" // the log just changed, and is as the compaction left it
		}
		return Command{
			Name: "undo, " + strings.TrimPrefix(compact.Name, "compact, "), Runtime: compact.Runtime,
			Args: strings.Fields("undo $RECEIPT" + quiet),
			Prepare: func(h *Home) error {
				if compact.Prepare != nil {
					if err := compact.Prepare(h); err != nil {
						return err
					}
				}
				return errors.Join(withMetadata(h), h.must([]int{0}, compact.Args...))
			},
			Done: undone, Settled: forgot, Sessions: true, Slow: compact.Slow,
			Refusals: []string{"not undone: session"},
		}
	}
	var all []Command
	for _, compact := range compactions() {
		c := undo(compact)
		if compact.Runtime == "macstats" {
			c.Settled = forgotButLessons
		}
		all = append(all, c)
	}
	after := all[4] // overlay, pi
	compacts := after.Prepare
	after.Name, after.Settled = "undo, after archive --remember", remembers(Chunks/2)
	after.Prepare = func(h *Home) error { return errors.Join(rememberedHalf(h), compacts(h)) }
	return append(all, after)
}

// rememberedHalf is a home whose session was remembered when half of it was said.
func rememberedHalf(h *Home) error {
	half := h.Lines[:1+(len(h.Lines)-1)/2]
	return errors.Join(writeAged(h.Log(), strings.Join(half, "\n")+"\n"), h.must([]int{0}, "archive", "--all", "--remember"), writeAged(h.Log(), h.source()))
}

// restores put logs back where there is none, an empty one, or another one.
func restores() []Command {
	const now = " --quiet-period 0s"
	return []Command{
		{
			Name: "restore", Runtime: "openclaw", Args: []string{"restore", "$ARCHIVE"},
			Prepare: compacted, Sessions: true, Settled: remembers(Chunks),
			Refusals: []string{"is there already: it is newer"},
			Done:     func(h *Home) error { return h.logIs(h.source()) },
		},
		{
			Name: "restore, annabelle", Runtime: "annabelle", Args: []string{"restore", "$ARCHIVE"},
			Prepare: emptied("annabelle", "a"), Sessions: true, Settled: remembers(Chunks),
			Refusals: []string{"is there already: it is newer"},
			Done:     func(h *Home) error { return h.logIs(h.source()) },
		},
		{
			Name: "restore, claude", Runtime: "claude", Args: []string{"restore", "$ARCHIVE"},
			Prepare: purged, Sessions: true,
			Refusals: []string{"is there already: it is newer"},
			Done:     func(h *Home) error { return h.logIs(h.source()) },
		},
		{
			Name: "restore, agent", Runtime: "agent", Args: strings.Fields("restore $ARCHIVE" + now),
			Prepare: emptied("agent", "agent"), Sessions: true, Settled: remembers(Chunks),
			Refusals: []string{"is there already: it is newer"},
			Done:     undone,
		},
		{
			Name: "restore --force", Runtime: "pi", Args: strings.Fields("restore $ARCHIVE --force" + now),
			Prepare: grown, Sessions: true,
			Done: func(h *Home) error { return h.logIs(h.layout().header + "\n") },
		},
		{
			Name: "restore --force, macstats", Runtime: "macstats", Args: strings.Fields("restore $ARCHIVE --force" + now),
			Prepare: shrunk, Sessions: true,
			Done: func(h *Home) error { return h.logIs(h.source()) },
		},
	}
}

// metadataText is what the agent keeps beside its log.
const metadataText = `{"id":"` + agentSession + `", "messageCount": 24, "model":"m"}` + "\n"

// metadata is the path of it, or "".
func (h *Home) metadata() string {
	if h.Command.Runtime != "agent" {
		return ""
	}
	return filepath.Join(h.Sessions(), "metadata.json")
}

func withMetadata(h *Home) error {
	if h.metadata() == "" {
		return nil
	}
	return writeAged(h.metadata(), metadataText)
}

// undone is what exit 0 of undo promises: the log is what it was, and
// what the runtime keeps beside it says so.
func undone(h *Home) error {
	if h.index() != "" {
		index, err := os.ReadFile(h.index())
		if err != nil || !strings.Contains(string(index), Session) {
			return fmt.Errorf("the index does not name the session (%v): %s", err, index)
		}
	}
	if h.metadata() != "" {
		text, err := os.ReadFile(h.metadata())
		if err != nil || string(text) != metadataText {
			return fmt.Errorf("metadata.json is not as it was (%v): %s", err, text)
		}
	}
	return errors.Join(h.logIs(h.source()), h.inArchives(h.Lines))
}

// emptied is a home whose session was compacted into a fresh one and settled.
func emptied(runtime, agent string) func(*Home) error {
	return func(h *Home) error {
		if err := withMetadata(h); err != nil {
			return err
		}
		for range 2 {
			if err := errors.Join(h.dayLater(), h.must([]int{0, 75}, "compact", "--runtime", runtime, "--agent", agent, "--force", "--strategy", "rotate")); err != nil {
				return err
			}
		}
		return h.nothingLeft(true)
	}
}

// purged is a home whose session was archived before its runtime deleted it.
func purged(h *Home) error {
	if err := h.must([]int{0}, "archive", "--runtime", "claude", "--agent", "work-a"); err != nil {
		return err
	}
	return os.Remove(h.Log())
}

// shrunk is a home whose session was archived before somebody cut it short.
func shrunk(h *Home) error {
	if err := h.must([]int{0}, "archive", "--runtime", "macstats", "--agent", "mac-stats"); err != nil {
		return err
	}
	return writeAged(h.Log(), strings.Join(h.Lines[:8], "\n")+"\n")
}

// forgot checks that nothing is left of what was forgotten, once its vectors
// were swept too.
func forgot(h *Home) error {
	if err := h.must([]int{0}, "memory", "reindex"); err != nil {
		return err
	}
	return remembers(0)(h)
}

// tombstonesLost is a home whose session was forgotten, and where the file that
// records it is gone.
func tombstonesLost(h *Home) error {
	if err := errors.Join(compacted(h), h.must([]int{0}, "memory", "forget", "--agent", "a", "--yes")); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(h.Data(), "memory-forgotten"))
}

// hasTombstones checks that the files alone keep what was forgotten out of a
// memory that is made again.
func (h *Home) hasTombstones() error {
	if err := os.RemoveAll(filepath.Join(h.Data(), "memory")); err != nil {
		return err
	}
	return errors.Join(h.must([]int{0}, "memory", "reindex", "--from-archives"), h.recalls(0))
}

// hasNoTrace checks that no file of the memory has a text any more, in any case.
func (h *Home) hasNoTrace(text string) error {
	return filepath.WalkDir(filepath.Join(h.Data(), "memory"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil && bytes.Contains(bytes.ToLower(raw), []byte(text)) {
			return fmt.Errorf("%s still has what was forgotten", path)
		}
		return err
	})
}

// forgotButLessons is the same where what was learned stays.
func forgotButLessons(h *Home) error {
	return errors.Join(learned(h), h.recalls(0))
}
