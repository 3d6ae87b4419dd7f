//go:build linux && amd64

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
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
		countLines(data, most)
		return nil
	})
	return most, errors.Join(err, h.linesOffSite(choose, most))
}

// countLines counts the lines of one file, and notes those of which it has most.
func countLines(data []byte, most map[string]int) {
	count := map[string]int{}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		count[string(line)]++
		most[string(line)] = max(most[string(line)], count[string(line)])
	}
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
	first, _, _ := strings.Cut(string(data), "\n")
	if err == nil && len(data) > 0 && h.layout().header != "" && first != h.layout().header && first != h.Lines[0] && !h.beginsFresh(string(data)) {
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
	for _, entry := range h.entries {
		if !bytes.Contains(data, []byte(entry)) {
			return fmt.Errorf("an entry is gone that the runtime has added to its index: %s: %s", entry, data)
		}
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

// settles runs the command again, until nothing is left to do but at most twice,
// and checks the end state.
func (h *Home) settles() error {
	for run := 1; ; run++ {
		if err := h.nextRun(); err != nil {
			return err
		}
		if run < 2 && (h.twice || h.next.log != "" || h.nothingLeft(true) != nil) {
			continue
		}
		lost := errors.Join(h.linesKept(), h.liveIsWhole(), h.trashIsRecorded())
		problem := errors.Join(lost, h.Command.Done(h), h.verifies())
		if h.Command.Settled != nil {
			problem = errors.Join(problem, h.Command.Settled(h))
		}
		if problem != nil && lost == nil && run < 2 {
			continue // what goes for good waits for the run after the one that finished
		}
		if problem != nil {
			return fmt.Errorf("after the next runs: %w", problem)
		}
		return h.nothingLeft(true)
	}
}

// trashName is the directory in which what was deleted waits, beside its old place.
const trashName = ".sessctl-trash"

// trashIsRecorded checks that every file in the trash has its record: without one
// nobody can bring it back, and it is never removed.
func (h *Home) trashIsRecorded() error {
	records, err := filepath.Glob(filepath.Join(h.Data(), "trash", "*", "*.json"))
	if err != nil {
		return err
	}
	return h.eachFile(func(path string) error {
		of := func(record string) bool {
			return strings.HasPrefix(filepath.Base(path), strings.TrimSuffix(filepath.Base(record), ".json")+".")
		}
		if filepath.Base(filepath.Dir(path)) == trashName && !slices.ContainsFunc(records, of) {
			return fmt.Errorf("in the trash without a record: %s", path)
		}
		return nil
	})
}

// trashIsEmpty checks that the trash has no file and no record.
func (h *Home) trashIsEmpty() error {
	return h.eachFile(func(path string) error {
		if filepath.Base(filepath.Dir(path)) == trashName || strings.HasPrefix(path, filepath.Join(h.Data(), "trash")+"/") {
			return fmt.Errorf("still in the trash: %s", path)
		}
		return nil
	})
}

func (h *Home) nextRun() error {
	if h.next.log != "" { // nothing is carried into a session that has just changed
		if err := h.ageLogs(); err != nil {
			return err
		}
	}
	return errors.Join(h.dayLater(), h.again(0))
}

// verifies asks the program about its archives, its receipts and what memory has of
// them, and looks itself at the database of memory, each record and each vector: that
// is all that `memory verify` does beside what `archives verify` has done.
func (h *Home) verifies() error {
	if err := h.must([]int{0}, "archives", "verify"); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(h.Data(), "memory/memory.db")); err != nil {
		return nil
	}
	return h.inMemory(func(ctx context.Context, store *memory.Store) error {
		damaged, err := store.Verify(ctx)
		if err == nil && len(damaged) > 0 {
			err = fmt.Errorf("memory is damaged: %+v", damaged)
		}
		return err
	})
}

// inMemory opens the memory as a command does that reads it.
func (h *Home) inMemory(look func(context.Context, *memory.Store) error) (err error) {
	ctx := context.Background()
	store, err := memory.Open(ctx, filepath.Join(h.Data(), "memory"), memory.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return look(ctx, store)
}

// nothingLeft checks that no temporary file is left and, if the journal should
// be empty, no entry of it. Several programs write to the outbox at a time, and to
// units, and fetches archives, so what is young there may be somebody's and stays.
func (h *Home) nothingLeft(journal bool) error {
	return h.eachFile(func(path string) error {
		if strings.Contains(path, "/sessctl/outbox/") || strings.Contains(path, "/systemd/user/") || strings.Contains(path, "/cache/sessctl/archives/") || isForgottenLock(path) || filepath.Base(path) == hubLock {
			return nil
		}
		if slices.Contains([]string{".tmp", ".next", ".moved", ".sessctl", ".lock", ".stale"}, filepath.Ext(path)) || journal && strings.Contains(path, "/journal/") && !waitsForSession(path) {
			return fmt.Errorf("left behind: %s", path)
		}
		return nil
	})
}

// waitsForSession says whether an entry of the journal is for a log that was made
// again without a header: its records wait up to a week for a session to go into
// (docs/dev/formats.md, "pi"), and are in an archive meanwhile.
func waitsForSession(entry string) bool {
	text, err := os.ReadFile(entry)
	var in struct{ Late struct{ Fragment bool } }
	return err == nil && json.Unmarshal(text, &in) == nil && in.Late.Fragment
}

// rotated is what exit 0 of compact promises where a session starts fresh: the
// log is archived, nothing of it is at its place any more, the runtime's index
// names another session, and one receipt says so.
func rotated(h *Home) error {
	return errors.Join(movedAway(h), h.hasReceipts(1), h.inArchives(h.Lines))
}

// movedAway checks that the log is not at its place, and that the index does not
// name its session.
func movedAway(h *Home) error {
	log, err := os.ReadFile(h.Log())
	if err == nil && len(log) > 0 && !h.isFresh(string(log)) || err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the log was not moved away: %v", err)
	}
	if h.index() != "" {
		index, err := os.ReadFile(h.index())
		if err != nil || strings.Contains(string(index), Session) {
			return fmt.Errorf("the index still names the old session (%v): %s", err, index)
		}
	}
	return nil
}

// isFresh reports whether a log is one that a rotation of pi or oh-my-pi leaves: the
// header of another session, and nothing that was said.
func (h *Home) isFresh(log string) bool {
	if h.Command.Runtime == "omp" {
		return strings.HasPrefix(log, `{"type":"title",`) && strings.Count(log, "\n") == 2 && !strings.Contains(log, Session)
	}
	return h.Command.Runtime == "pi" && strings.HasPrefix(log, `{"type":"session","version":3,`) && strings.Count(log, "\n") == 1 && !strings.Contains(log, Session)
}

// beginsFresh reports whether a log begins as one that isFresh does.
func (h *Home) beginsFresh(log string) bool {
	head, rest, _ := strings.Cut(log, "\n")
	if h.Command.Runtime == "omp" {
		header, _, _ := strings.Cut(rest, "\n")
		head += "\n" + header
	}
	return h.isFresh(head + "\n")
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

// trimmed is what exit 0 of compact promises for a session of Copilot CLI: the log
// has what a resume needs, line by line, and the archive all of it.
func trimmed(h *Home) error {
	log, err := os.ReadFile(h.Log())
	if err != nil {
		return err
	}
	var want strings.Builder
	cut := slices.IndexFunc(h.Lines, func(line string) bool { return strings.Contains(line, "session.compaction_start") })
	for i, line := range h.Lines {
		if i == 0 || i >= cut && !strings.Contains(line, `"model.`) || i < cut && !strings.Contains(line, `"assistant.message"`) {
			want.WriteString(line + "\n")
		}
	}
	if string(log) != want.String() {
		return fmt.Errorf("the log has %d bytes, %d are needed: %.300q", len(log), want.Len(), log)
	}
	return errors.Join(h.hasReceipts(1), h.inArchives(h.Lines))
}

// trimmedQwen is what exit 0 of compact promises for a session of Qwen Code: the
// first question, and what stands from the compression on, which hangs on it.
func trimmedQwen(h *Home) error {
	log, err := os.ReadFile(h.Log())
	if err != nil {
		return err
	}
	cut := slices.IndexFunc(h.Lines, func(line string) bool { return strings.Contains(line, `"chat_compression"`) })
	relinked := strings.Replace(h.Lines[cut], qwenID(qwenCut-1), qwenID(0), 1)
	want := strings.Join(append([]string{h.Lines[0], relinked}, h.Lines[cut+1:]...), "\n") + "\n"
	if string(log) != want {
		return fmt.Errorf("the log has %d bytes, %d are needed: %.300q", len(log), len(want), log)
	}
	return errors.Join(h.hasReceipts(1), h.inArchives(h.Lines))
}

// trimmedOMP is what exit 0 of compact promises for a session of oh-my-pi: the first
// question, and what stands from the first entry on that its compaction keeps, which
// hangs on it.
func trimmedOMP(h *Home) error {
	log, err := os.ReadFile(h.Log())
	if err != nil {
		return err
	}
	const head = 4 // the title, the header, the model, the first question
	from := slices.IndexFunc(h.Lines, func(line string) bool { return strings.Contains(line, `"id":"`+ompID(ompCut-2)+`"`) })
	relinked := strings.Replace(h.Lines[from], ompID(ompCut-3), ompID(0), 1)
	want := strings.Join(append(slices.Concat(h.Lines[:head], []string{relinked}), h.Lines[from+1:]...), "\n") + "\n"
	if string(log) != want {
		return fmt.Errorf("the log has %d bytes, %d are needed: %.300q", len(log), len(want), log)
	}
	return errors.Join(h.hasReceipts(1), h.inArchives(h.Lines))
}

// cleared is what exit 0 of compact promises for a session of mac-stats that
// nobody uses: what was learned is in memory.md, and the session is gone.
func cleared(h *Home) error { return errors.Join(learned(h), rotated(h)) }

// clearedBefore is the same for one with an older one of its conversation: a log
// that says nothing has its place, and the older one is as it was.
func clearedBefore(h *Home) error {
	log, err := os.ReadFile(h.Log())
	if err != nil || string(log) != macstatsFresh {
		return fmt.Errorf("the log is not one that says nothing (%v): %.200q", err, log)
	}
	older, err := os.ReadFile(h.older())
	if err != nil || string(older) != h.source() {
		return fmt.Errorf("the older log is not as it was (%v): %.200q", err, older)
	}
	return errors.Join(learned(h), h.hasReceipts(1), h.inArchives(h.Lines))
}

// replaced is the same for one in use: its summary has taken its place.
func replaced(h *Home) error {
	log, err := os.ReadFile(h.Log())
	if err != nil || !strings.HasPrefix(string(log), "## Assistant\n\n") || len(log) > len(h.source())/2 {
		return fmt.Errorf("the log is not its summary (%v): %.200q", err, log)
	}
	return errors.Join(learned(h), h.hasReceipts(1), h.inArchives(h.Lines))
}

// learned checks that a lesson, of those the newest, is in memory.md once.
func learned(h *Home) error {
	lessons, err := os.ReadFile(filepath.Join(h.Dir, "home/.mac-stats/agents/memory.md"))
	if n := strings.Count(string(lessons), "never forget rule 20."); err != nil || n != 1 {
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

// pruned is what exit 0 of archives prune promises: the old archive is gone
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

// remembers checks that memory has the session's chunks once each, that each has a
// vector, and that there is none of nothing.
func remembers(chunks int) func(*Home) error {
	return func(h *Home) error {
		wrong := `"without_vector": [1-9]`
		if chunks == 0 {
			wrong = `"vectors": [1-9]`
		}
		code, out, err := h.Run("memory", "stats", "--json")
		if err != nil || code != 0 && chunks > 0 || regexp.MustCompile(wrong).MatchString(out) {
			return fmt.Errorf("the vectors of %d chunks: memory stats: exit %d, %v: %s", chunks, code, err, out)
		}
		return h.recalls(chunks)
	}
}

// recalls checks that memory has so many chunks, once each, and finds them.
func (h *Home) recalls(chunks int) error {
	seen := map[string]bool{}
	err := h.inMemory(func(ctx context.Context, store *memory.Store) error {
		found, err := store.Recall(ctx, memory.Query{Text: "importer port", Rank: memory.RankText, Limit: 100}, nil, embed.Model{})
		for _, hit := range found.Hits {
			if hit.Category == "session_history" {
				seen[hit.ID] = true
			}
		}
		return err
	})
	if err != nil && (chunks > 0 || !errors.Is(err, fs.ErrNotExist)) {
		return fmt.Errorf("recall: %w", err)
	}
	if len(seen) != chunks {
		return fmt.Errorf("memory has %d chunks, want %d", len(seen), chunks)
	}
	return nil
}

// successor is the session that follows one that was rotated away.
type successor struct {
	log  string // its path; "" for none
	text string // what the agent has written there
}

// begins lets the agent begin the session that follows, and go idle. Where that
// is at the same place it is empty.
func (h *Home) begins() (successor, error) {
	path, err := h.freshLog()
	if err != nil || path == "" {
		return successor{log: h.Log()}, errors.Join(err, age(h.Log()))
	}
	if _, err := h.nextTurn(); err != nil {
		return successor{}, err
	}
	text, err := os.ReadFile(path)
	return successor{path, string(text)}, err
}

// wasCarried checks that the session that followed has what it had, and then
// the late lines, once, on the branch that the runtime reads.
func (h *Home) wasCarried(next successor) error {
	data, err := os.ReadFile(next.log)
	if err != nil {
		return err
	}
	late, text := len(h.layout().late()), withoutNULs(string(data))
	added, ok := strings.CutPrefix(text, next.text)
	if !ok || strings.Count(added, "\n") != late || strings.Count(added, "one more thing") != late {
		return fmt.Errorf("a late line is not in the session that followed, once: %.300q", added)
	}
	if h.layout().header == "" {
		return nil
	}
	return onOneBranch(text)
}

// withoutNULs leaves out lines of NULs alone, which a power cut leaves where a
// record was being written: runtimes pass by them. NULs before a record stay.
func withoutNULs(log string) string {
	var b strings.Builder
	for line := range strings.Lines(log) {
		if strings.Trim(line, "\x00") != "\n" || len(line) == 1 {
			b.WriteString(line)
		}
	}
	return b.String()
}

// onOneBranch checks that the way from the last entry of a log to its root
// passes by every entry.
func onOneBranch(log string) error {
	type entry struct {
		Type   string
		ID     string
		Parent string `json:"parentId"`
	}
	var entries []entry
	for line := range strings.Lines(log) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return fmt.Errorf("%w: %s", err, line)
		}
		if e.Type != "session" {
			entries = append(entries, e)
		}
	}
	leaf := entries[len(entries)-1].ID
	for _, e := range slices.Backward(entries) {
		if e.ID != leaf {
			return fmt.Errorf("entry %s is not on the branch that ends the log:\n%s", e.ID, log)
		}
		leaf = e.Parent
	}
	return nil
}

const (
	freshSession = "6f0c1c2e-6d0a-4f57-9d2b-0c8e1f1a2b3c"
	freshLog     = "2099-01-01T10-00-00-000Z_" + freshSession + ".jsonl"
	// lateID is in the record of layout.late for pi and OpenClaw.
	lateID = `"id":"a0000019"`
)

// begun is in the first thing that was said in the session that followed, and in
// no other line.
const begun = `"id":"f0000001"`

// nextTurn lets the agent begin the session that follows a rotated one, as its
// runtime would: a late line can be carried only into a session that has begun.
// It reports false where the session was not rotated.
func (h *Home) nextTurn() (bool, error) {
	path, err := h.freshLog()
	if err != nil || path == "" {
		return false, err
	}
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || strings.Contains(string(before), begun) {
		return false, err
	}
	if len(before) > 0 && h.Command.Runtime != "pi" {
		return false, nil
	}
	header := strings.Replace(piHeader, Session, strings.TrimSuffix(filepath.Base(path), ".jsonl"), 1)
	said := []string{
		strings.Replace(header, "2026-03-01", "2099-01-01", 1),
		`{"type":"message","id":"f0000001","parentId":null,"timestamp":"2099-01-01T10:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"Hello again"}]}}`,
		`{"type":"message","id":"f0000002","parentId":"f0000001","timestamp":"2099-01-01T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Hello."}],"stopReason":"stop"}}`,
	}
	switch {
	case h.isFresh(string(before)):
		said[0] = strings.TrimSuffix(string(before), "\n") // pi writes what it has read again with its first answer
	case len(before) > 0:
		said[1] = strings.Replace(said[1], `"parentId":null`, `"parentId":"`+lastID(string(before))+`"`, 1)
		said = said[1:]
	}
	return true, writeAged(path, string(before)+strings.Join(said, "\n")+"\n")
}

// lastID is the id of the last entry of a log.
func lastID(log string) string {
	_, id, _ := strings.Cut(log[strings.LastIndex(strings.TrimSuffix(log, "\n"), "\n")+1:], `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	return id
}

// freshLog is where the runtime would begin the session that follows, "" if
// the old one goes on or nothing can be carried.
func (h *Home) freshLog() (string, error) {
	switch h.Command.Runtime {
	case "pi":
		log, err := os.ReadFile(h.Log())
		if errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(h.Sessions(), freshLog), nil
		}
		if first, _, _ := strings.Cut(string(log), "\n"); err != nil || first == piHeader || !strings.Contains(first, `"type":"session"`) {
			return "", err
		}
		return h.Log(), nil
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
// aside is in the session that followed, once. It reports whether there was
// such a line.
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
