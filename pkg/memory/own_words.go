package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory/database"
)

// What an agent stores in its own words stands in no log: no archive has it. So
// it is kept in a file beside the memory, from which every memory that is made
// again gets it back; what a person has forgotten has no such file any more.

// BranchStored is the branch of a record that is not from a log: an agent stored
// it in its own words.
const BranchStored = "stored"

// BranchCarried is the branch of a record of what was said in another session, with
// which its own began: where memory has that one too, this is a copy of it.
const BranchCarried = "carried"

// OwnWords reports whether an agent stored the record in its own words. All other
// records quote a log, or are made of one.
func (r Record) OwnWords() bool { return r.Branch == BranchStored }

// The bounds of what an agent may store.
const (
	// MaxOwnWords is the length of a text, in characters: what memory_read shows of
	// one message.
	MaxOwnWords = 2000
	// MaxOwnImportance is the most that any record has.
	MaxOwnImportance = 1.0
	// OwnImportance is what a record has if nothing is said of it: that of a
	// summary (docs/dev/decisions.md D11).
	OwnImportance = 0.7
	// DailyOwnWords is how many records an agent may store in any 24 hours: three
	// to five a session, for six sessions.
	DailyOwnWords = 30
)

// ErrForgotten is returned for words that a person has forgotten on purpose.
var ErrForgotten = errors.New("these words were forgotten on purpose")

// ErrTooMany is returned to an agent that has stored DailyOwnWords records within
// 24 hours.
var ErrTooMany = fmt.Errorf("%d memories were stored within 24 hours", DailyOwnWords)

// keptWords is the file of one record: <memory>-stored/ID.json.
type keptWords struct {
	Schema     int     `json:"schema"` // 1
	ID         string  `json:"id"`
	Runtime    string  `json:"runtime"`
	Agent      string  `json:"agent"`
	Session    string  `json:"session"`
	Category   string  `json:"category"`
	Importance float64 `json:"importance"`
	At         int64   `json:"at"` // epoch milliseconds
	Text       string  `json:"text"`
	Sum        string  `json:"sum"` // of the record, see sumOf
}

// StoredDir is where the words are kept that agents stored in a memory in dir:
// beside it, so that they outlive it.
func StoredDir(dir string) string { return filepath.Clean(dir) + "-stored" }

// ownWordsID is the id of words: the same words of the same agent are one
// record, however they are spaced. Where agents of two runtimes have one name, the
// name of the second to say so is "runtime/agent".
func ownWordsID(agent, text string) string {
	return RecordID(agent, "", -1, "own words", strings.Join(strings.Fields(text), " "))
}

// OwnWords is what an agent asks to be stored.
type OwnWords struct {
	Runtime, Agent, Session string // as far as they are known
	Category                string
	Importance              float64
	Text                    string
	At                      time.Time
	// Returned is what the agent was told lately: it is not to be stored as its
	// own words.
	Returned []string
	// Everybody says that the agent can recall what others' sessions said.
	Everybody bool
}

func (w OwnWords) record() Record {
	return Record{
		ID: ownWordsID(w.Agent, w.Text), Text: w.Text, Category: w.Category, Importance: w.Importance, CreatedAt: w.At.UnixMilli(),
		Runtime: w.Runtime, Agent: w.Agent, Session: w.Session, Branch: BranchStored, Position: -1,
	}
}

// StoreOwnWords stores what an agent says in its own words: in a file beside the
// memory, and then in it. Words that are there already are returned as they
// are, and existing is true. The caller holds the lock of the data directory.
//
// Errors are [ErrForgotten], [ErrTooMany] and [*RepeatError].
func (s storedWords) StoreOwnWords(ctx context.Context, w OwnWords) (r Record, existing bool, err error) {
	r = w.record()
	known, err := reading(s).Record(ctx, r.ID)
	if err == nil && w.Runtime != "" && known.Runtime != w.Runtime { // an agent of the same name said so too
		r.ID = ownWordsID(w.Runtime+"/"+w.Agent, w.Text)
		known, err = reading(s).Record(ctx, r.ID)
	}
	if err == nil {
		return known, true, s.keepOwnWords(known)
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrCorrupt) {
		return r, false, err
	}
	if err := s.mayStore(ctx, w, r); err != nil {
		return r, false, err
	}
	if err := s.keepOwnWords(r); err != nil {
		return r, false, err
	}
	if _, err := putting(s).Put(ctx, Source{}, oneRecord(r)); err != nil {
		return r, false, errors.Join(fmt.Errorf("store own words: %w", err), s.dropOwnWords(r.ID))
	}
	return r, false, nil
}

// mayStore says why words are not stored, or nil.
func (s storedWords) mayStore(ctx context.Context, w OwnWords, r Record) error {
	var forgotten bool
	var today int
	err := s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM tombstones WHERE id=?), (SELECT count(*) FROM records WHERE branch=? AND agent=? AND runtime=? AND created_at>?)",
		r.ID, BranchStored, r.Agent, r.Runtime, w.At.Add(-24*time.Hour).UnixMilli()).Scan(&forgotten, &today)
	switch {
	case err != nil:
		return fmt.Errorf("store own words: %w", database.Classify(err))
	case forgotten:
		return ErrForgotten
	case today >= DailyOwnWords:
		return ErrTooMany
	}
	return s.checkRepeats(ctx, w)
}

func oneRecord(r Record) func(yield func(Record, error) bool) {
	return func(yield func(Record, error) bool) { yield(r, nil) }
}

// keepOwnWords writes the file of a record, unless it is there.
func (s storedWords) keepOwnWords(r Record) error {
	path := recordFile(StoredDir(s.dir), r.ID)
	if path == "" {
		return nil
	}
	if kept, err := readOwnWords(s.pins, path); err == nil && kept == r {
		return nil
	}
	err := s.writeBeside(path, keptWords{
		Schema: 1, ID: r.ID, Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Category: r.Category, Importance: r.Importance,
		At: r.CreatedAt, Text: r.Text, Sum: fmt.Sprintf("%016x", uint64(sumOf(r))),
	})
	if err != nil {
		return fmt.Errorf("keep own words: %w", err)
	}
	return nil
}

// errNotAsWritten is returned for a file that is not what was written.
var errNotAsWritten = errors.New("it is damaged")

// readOwnWords reads the file of a record.
func readOwnWords(pins *durable.Pins, path string) (Record, error) {
	var k keptWords
	text, err := readWhole(pins, path, maxKept)
	if err != nil {
		return Record{}, err
	}
	if json.Unmarshal(text, &k) != nil || k.Schema != 1 {
		return Record{}, errNotAsWritten
	}
	r := Record{
		ID: k.ID, Text: k.Text, Category: k.Category, Importance: k.Importance, CreatedAt: k.At,
		Runtime: k.Runtime, Agent: k.Agent, Session: k.Session, Branch: BranchStored, Position: -1,
	}
	if k.Sum != fmt.Sprintf("%016x", uint64(sumOf(r))) || filepath.Base(path) != k.ID+".json" {
		return Record{}, errNotAsWritten
	}
	return r, nil
}

// dropOwnWords removes the file of a record, if there is one.
func (s storedWords) dropOwnWords(id string) error {
	if err := s.removeBeside(recordFile(StoredDir(s.dir), id)); err != nil {
		return fmt.Errorf("remove own words: %w", err)
	}
	return nil
}

// ownWordsFile is a file as it was read.
type ownWordsFile struct {
	path   string
	record Record
	err    error
}

// ownWordsFiles reads all files of a memory in dir, by the ids of their records.
func ownWordsFiles(pins *durable.Pins, dir string) (map[string]ownWordsFile, error) {
	entries, err := pins.ReadDir(StoredDir(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list own words: %w", err)
	}
	files := map[string]ownWordsFile{}
	for _, e := range entries {
		id, is := strings.CutSuffix(e.Name(), ".json")
		if !is || strings.HasPrefix(id, ".") {
			continue
		}
		f := ownWordsFile{path: filepath.Join(StoredDir(dir), e.Name())}
		f.record, f.err = readOwnWords(pins, f.path)
		files[id] = f
	}
	return files, nil
}

// OwnWordsFilter says which records to list. Empty fields match everything.
type OwnWordsFilter struct {
	Agent             agentset.Set
	Runtime, Category string
}

// ListOwnWords lists what agents stored in their own words, newest first. Those
// that are not what was stored are left out and counted.
func (s storedWords) ListOwnWords(ctx context.Context, o OwnWordsFilter) (list []Record, damaged int, err error) {
	all, err := s.ownWords(ctx, s.db, o)
	for _, r := range all {
		if !r.sound() {
			damaged++
			continue
		}
		list = append(list, r.Record)
	}
	return list, damaged, err
}

func (s storedWords) ownWords(ctx context.Context, q database.Querier, o OwnWordsFilter) (list []stored, err error) {
	condition, args := Query{Runtime: o.Runtime, Agent: o.Agent, Category: o.Category}.filter()
	return database.All(ctx, database.For(q, "list own words"), (*stored).fields,
		"SELECT "+recordColumns+" FROM records r JOIN texts t ON t.record=r.rowid WHERE r.branch=? AND "+condition+" ORDER BY r.created_at DESC, r.rowid DESC", append([]any{BranchStored}, args...)...)
}

// RepairedOwnWords is what RepairOwnWords did.
type RepairedOwnWords struct {
	Stored  int      // records that the files had and memory did not
	Written int      // files that were missing or damaged and are written again
	Lost    []string // damaged files whose words memory does not have; they stay beside the others as .damaged
}

// RepairOwnWords makes memory and the files beside it have the same words: a
// memory that was made again gets them back, and so does a store that was
// killed half-way. The caller holds the lock of the data directory.
func (s storedWords) RepairOwnWords(ctx context.Context) (done RepairedOwnWords, err error) {
	files, err := ownWordsFiles(s.pins, s.dir)
	if err != nil {
		return done, err
	}
	list, err := s.ownWords(ctx, s.db, OwnWordsFilter{})
	if err != nil {
		return done, err
	}
	known := map[string]stored{}
	for _, r := range list {
		known[r.ID] = r
	}
	for id, f := range files {
		if err := s.repairFromFile(ctx, f, known[id], &done); err != nil {
			return done, err
		}
	}
	for id, r := range known {
		if f, there := files[id]; (there && f.err == nil) || !r.sound() {
			continue
		}
		if err := s.keepOwnWords(r.Record); err != nil {
			return done, err
		}
		done.Written++
	}
	return done, nil
}

// OwnWordsWait says whether RepairOwnWords has something to do.
func (s storedWords) OwnWordsWait(ctx context.Context) bool {
	problems, err := s.verifyOwnWords(ctx)
	if err != nil || len(problems) > 0 {
		return err == nil
	}
	list, err := s.ownWords(ctx, s.db, OwnWordsFilter{})
	files, listErr := ownWordsFiles(s.pins, s.dir)
	return err == nil && listErr == nil && len(files) != len(list)
}

// repairFromFile stores what a file has and memory does not.
func (s storedWords) repairFromFile(ctx context.Context, f ownWordsFile, known stored, done *RepairedOwnWords) error {
	there := known.ID != "" && known.sound()
	inItsPlace := errors.Is(f.err, durable.ErrNotRegular) // a directory, say: what was written is not in it
	switch {
	case there && inItsPlace:
		return s.pins.MoveFile(f.path, f.path+".damaged")
	case there:
		return nil
	case f.err != nil && !inItsPlace && !errors.Is(f.err, errNotAsWritten):
		return fmt.Errorf("read own words: %w", f.err)
	case f.err != nil:
		done.Lost = append(done.Lost, f.path)
		return s.pins.MoveFile(f.path, f.path+".damaged")
	}
	result, err := putting(s).Put(ctx, Source{}, oneRecord(f.record))
	if err == nil && result.Buried > 0 { // a forget that was cut off
		return s.dropOwnWords(f.record.ID)
	}
	done.Stored += result.Stored + result.Repaired
	return err
}

// verifyOwnWords checks the files beside the memory, and that each record has
// its file. Words that only a file has are no damage: the next run stores them.
func (s storedWords) verifyOwnWords(ctx context.Context) (problems []Problem, err error) {
	list, err := s.ownWords(ctx, s.db, OwnWordsFilter{})
	if err != nil {
		return nil, err
	}
	files, err := ownWordsFiles(s.pins, s.dir) // after the records: their files were written before them
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.err != nil {
			problems = append(problems, Problem{f.path, "what an agent stored is kept here: " + f.err.Error()})
		}
	}
	for _, r := range list {
		if _, there := files[r.ID]; there {
			continue
		}
		if _, err := reading(s).Record(ctx, r.ID); errors.Is(err, fs.ErrNotExist) {
			continue // it was forgotten meanwhile
		}
		problems = append(problems, Problem{recordFile(StoredDir(s.dir), r.ID), "what an agent stored was kept here: it is missing"})
	}
	return problems, nil
}
