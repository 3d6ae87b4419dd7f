package retention

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/relocate"
	"github.com/sessctl/sessctl/pkg/session"
)

// DirName is the directory, beside what was deleted, in which it waits. Being
// on the same file system, a file gets there in one step.
const DirName = ".sessctl-trash"

// trashTime is the form of the time in the ids of records: the same file may be
// deleted, brought back and deleted again within a second.
const trashTime = "20060102T150405.000Z"

// ErrNotInTrash is returned when there is no record with an id.
var ErrNotInTrash = errors.New("not in the trash")

// Item is the record of one file in the trash.
type Item struct {
	Schema int       `json:"schema"` // 1
	ID     string    `json:"id"`     // safe in a file name
	Kind   string    `json:"kind"`
	From   string    `json:"from"` // where the file was
	To     string    `json:"to"`   // where it waits
	SHA256 string    `json:"sha256"`
	Bytes  int64     `json:"size_bytes"`
	At     time.Time `json:"at"`    // when it was moved
	Until  time.Time `json:"until"` // when it may be removed
	Rule   string    `json:"rule"`
	// Detail is what the owner needs to bring it back.
	Detail json.RawMessage `json:"detail,omitempty"`
	Hash   string          `json:"-"` // of the text of the record, as it was read
}

// encode is the text of the record.
func (i Item) encode() ([]byte, error) {
	i.Schema = 1
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("record what is deleted: %w", err)
	}
	return append(text, '\n'), nil
}

// Sum is the hash of the record as [Trash.Record] writes it.
func (i Item) Sum() string {
	text, err := i.encode()
	if err != nil {
		return "" // Record says so
	}
	return hashOf(text)
}

// line is the audit log's line about a record: what becomes of the file, when,
// and which archive has its bytes.
func (i Item) line(action string, at time.Time, archive string) Line {
	l := Line{Time: at, Action: action, Kind: i.Kind, Path: i.From, SHA256: i.SHA256, Bytes: i.Bytes, Archive: archive, Rule: i.Rule}
	if action == ActionTrash {
		l.Record = i.Sum()
	}
	return l
}

// Place is where the file at a path waits, under an id that makes it unique.
func Place(path, id string) string {
	return filepath.Join(filepath.Dir(path), DirName, id+"."+filepath.Base(path))
}

// Trash is the directory of records.
type Trash struct {
	Dir   string
	Moves relocate.Moves // of what records name
	Pins  *durable.Pins  // hold the directories open during a run; nil for none
	// Witness, if not nil, is told of a record that takes the place of another: of the
	// first one the line of the audit log tells it.
	Witness func(Item) error
}

func (t Trash) path(id string) string { return filepath.Join(t.Dir, id+".json") }

// Put makes the record durable and moves the file. It may be repeated.
func (t Trash) Put(item Item) error {
	if err := t.Record(item); err != nil {
		return err
	}
	return t.move(item.From, item.To)
}

// RecordAgain makes another record of what is in the trash, which a witness knows
// before.
func (t Trash) RecordAgain(item Item) error {
	if t.Witness != nil {
		if err := t.Witness(item); err != nil {
			return err
		}
	}
	return t.Record(item)
}

// Record makes the record durable, and the directory that the file goes to.
func (t Trash) Record(item Item) error {
	text, err := item.encode()
	if err != nil {
		return err
	}
	t.name(item)
	if err := errors.Join(t.Pins.MakeDir(t.Dir, 0o700), t.Pins.MakeDir(filepath.Dir(item.To), 0o700)); err != nil {
		return err
	}
	if err := t.Pins.ReplaceFile(t.path(item.ID), 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}); err != nil {
		return fmt.Errorf("record what is deleted: %w", err)
	}
	return nil
}

// name names the directory below which the archives of a runtime are: the user
// may have put a link there. Those of sessions are named with their stores.
func (t Trash) name(item Item) {
	if item.Kind == kindArchive || item.Kind == kindFile {
		t.Pins.Top(filepath.Dir(filepath.Dir(item.From)))
	}
}

// move moves a file; one that has been moved already is there.
func (t Trash) move(from, to string) error {
	err := t.Pins.MoveFile(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		if _, there := t.Pins.Lstat(to); there == nil {
			return t.Pins.SyncDir(filepath.Dir(to))
		}
	}
	return err
}

// List returns the records, oldest first. One that cannot be read is an error:
// nobody else knows where its file is.
func (t Trash) List() ([]Item, error) {
	entries, err := t.Pins.ReadDir(t.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the trash: %w", err)
	}
	var items []Item
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		item, err := t.read(filepath.Join(t.Dir, e.Name()))
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	slices.SortStableFunc(items, func(a, b Item) int { return a.At.Compare(b.At) })
	return items, nil
}

func (t Trash) read(path string) (item Item, err error) {
	f, err := t.Pins.OpenRegular(path)
	if err != nil {
		return item, fmt.Errorf("read the trash: %w", err)
	}
	defer f.Close()
	const maxItem = 4 << 20 // far above what an owner's detail can fill
	text, err := io.ReadAll(io.LimitReader(f, maxItem))
	if err == nil {
		err = json.Unmarshal(text, &item)
	}
	if err == nil && (item.Schema != 1 || item.ID+".json" != filepath.Base(path) || item.To != Place(item.From, item.ID)) {
		err = errors.New("it is no record that this version knows")
	}
	if err != nil {
		return item, fmt.Errorf("read the trash, %s: %w", path, err)
	}
	if err := json.Unmarshal(t.Moves.JSON(text), &item); err != nil {
		return item, fmt.Errorf("read the trash, %s: %w", path, err)
	}
	item.Hash = hashOf(text)
	item.To = Place(item.From, item.ID) // it waits beside where it was, wherever that is now
	return item, nil
}

// Get returns the record with an id, or with the only id that starts so.
// [ErrNotInTrash] is returned when there is none, or are several.
func (t Trash) Get(idOrPrefix string) (Item, error) {
	items, err := t.List()
	if err != nil {
		return Item{}, err
	}
	items = slices.DeleteFunc(items, func(i Item) bool { return !strings.HasPrefix(i.ID, idOrPrefix) })
	if len(items) != 1 || idOrPrefix == "" {
		return Item{}, fmt.Errorf("%q: %w (%d match)", idOrPrefix, ErrNotInTrash, len(items))
	}
	return items[0], nil
}

// SetAside renames the records that cannot be read, and those that were changed, so that
// others of the same files can be made: nothing is removed.
func (t Trash) SetAside(changed func(Item) bool) error {
	entries, err := t.Pins.ReadDir(t.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(t.Dir, e.Name())
		if !strings.HasSuffix(path, ".json") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if item, unreadable := t.read(path); unreadable == nil && !changed(item) {
			continue
		}
		move := t.Pins.MoveFile
		if e.IsDir() {
			move = t.Pins.MoveDir
		}
		if err := move(path, path+".damaged"); err != nil {
			return fmt.Errorf("set a record of the trash aside: %w", err)
		}
	}
	return err
}

// TakeBack moves a file back to where it was. fs.ErrExist is returned when
// something else is there by now. The record stays until drop. The directory
// is there, as the trash is in it, unless its disk is not mounted: one that was made
// in its place would look as if nothing were in the trash.
func (t Trash) TakeBack(item Item) error {
	t.name(item)
	return t.move(item.To, item.From)
}

// isAt reports whether anything is at a path.
func (t Trash) isAt(path string) bool {
	_, err := t.Pins.Lstat(path)
	return err == nil
}

// ErrNotWhole is returned for a file of the trash that is not what was put there.
var ErrNotWhole = errors.New("it is not what was put there")

// Whole reads a file of the trash and returns [ErrNotWhole] unless it begins with the
// bytes that were put there: a program that still had it open may have added some. A
// record that knows of no bytes says nothing.
func (t Trash) Whole(ctx context.Context, item Item) error {
	if item.Bytes == 0 || item.SHA256 == "" {
		return nil
	}
	f, err := t.Pins.OpenRegular(item.To)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the file is gone", ErrNotWhole)
	}
	if err != nil {
		return fmt.Errorf("look into the trash: %w", err)
	}
	defer f.Close()
	whole, err := session.Snapshot{Size: item.Bytes, SHA256: item.SHA256}.Begins(ctx, f)
	if err == nil && !whole {
		err = fmt.Errorf("%w: it was cut or changed", ErrNotWhole)
	}
	return err
}

// Remove removes a file from the trash for good, and then its record.
func (t Trash) Remove(item Item) error {
	t.name(item)
	if err := t.Pins.RemoveFile(item.To); err != nil {
		return err
	}
	return t.drop(item.ID)
}

// drop removes a record whose file is not in the trash.
func (t Trash) drop(id string) error { return t.Pins.RemoveFile(t.path(id)) }

// dropUnused drops the record of a file that is at its place, and notes first in the
// audit log that it was not deleted, or is back, if the log says otherwise.
func (t Trash) dropUnused(audit Audit, item Item, archive string, now time.Time) error {
	lines, err := audit.Lines()
	if err != nil {
		return err
	}
	isOf := func(l Line) bool { return l.Time.Equal(item.At) }
	if slices.ContainsFunc(t.Waiting(lines)[item.From], isOf) {
		line := item.line(ActionUndelete, now.UTC(), archive)
		line.Rule = "it was at its place"
		if err := audit.Append(line); err != nil {
			return err
		}
	}
	return t.drop(item.ID)
}

// Waiting are the lines of the audit log about what must be in the trash by now, by
// the path where it was: it was put there, and neither came back nor left for good.
func (t Trash) Waiting(lines []Line) map[string][]Line {
	waiting := map[string][]Line{}
	for _, l := range lines {
		path := t.Moves.Path(l.Path)
		switch {
		case path == "": // it was made again from the ledger, which has no paths
		case l.Action == ActionTrash:
			waiting[path] = append(waiting[path], l)
		case l.Action == ActionUndelete, l.Action == ActionPurge:
			waiting[path] = without(waiting[path], l)
		}
	}
	return waiting
}

// without leaves out of the lines about a path the one that a later line is about: the
// first with its bytes, or the first, as what waits may have been written to.
func without(lines []Line, later Line) []Line {
	i := slices.IndexFunc(lines, func(l Line) bool { return l.SHA256 == later.SHA256 })
	if len(lines) == 0 {
		return nil
	}
	return slices.Delete(lines, max(i, 0), max(i, 0)+1)
}

// PlaceOf is where waits in the trash what a line of the audit log is about and was at
// a path by now, and the id of its record.
func PlaceOf(l Line, path string) (to, id string) {
	of := l.Archive
	if l.Kind == KindSession {
		of = fileID(l.Path)
	}
	id = of + "-" + l.Time.UTC().Format(trashTime)
	return Place(path, id), id
}

// RecordOf is the record of a deleted log as the line of the audit log tells of it,
// for one whose record was lost.
func RecordOf(l Line, of TrashedSession, until time.Time) (Item, error) {
	detail, err := json.Marshal(of)
	to, id := PlaceOf(l, l.Path)
	return Item{ID: id, Kind: l.Kind, From: l.Path, To: to, SHA256: l.SHA256, Bytes: l.Bytes, At: l.Time, Until: until, Rule: l.Rule, Detail: detail}, err
}

// Recover says how far the run that made a record came: moved is true when the
// file is in the trash. It moves nothing, but ends a move, in whichever
// direction, that was killed between its two steps where the file system can
// only link and unlink: the file is where it was then.
func (t Trash) Recover(item Item) (moved bool, err error) { return t.recover(item, new(movesEnded)) }

// recover is Recover for many records: each directory is looked through once.
func (t Trash) recover(item Item, ended *movesEnded) (moved bool, err error) {
	t.name(item)
	for _, dir := range []string{filepath.Dir(item.From), filepath.Dir(item.To)} {
		if err := ended.in(t.Pins, dir); err != nil {
			return false, err
		}
	}
	there, err := t.Pins.Lstat(item.To)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look into the trash: %w", err)
	}
	if was, err := t.Pins.Lstat(item.From); err == nil && os.SameFile(was, there) {
		return false, t.Pins.RemoveFile(item.To)
	}
	return true, nil
}

// recoverEach finishes what a killed run began with each of the records; a record whose
// directory is not there stays: on a disk that is not mounted it is not known what is.
func (t Trash) recoverEach(command string, finish func(Item, *movesEnded) error) error {
	if err := t.Pins.Sweep(t.Dir, 0); err != nil {
		return err
	}
	items, err := t.List()
	if err != nil {
		return err
	}
	var ended movesEnded
	for _, item := range items {
		if !exists(filepath.Dir(item.From)) {
			continue
		}
		if err := finish(item, &ended); err != nil {
			return fmt.Errorf("finish an earlier %s: %w", command, err)
		}
	}
	return nil
}

// movesEnded are the directories in which one recovery has ended the moves that
// were killed half-way.
type movesEnded struct{ dirs map[string]bool }

func (m *movesEnded) in(pins *durable.Pins, dir string) error {
	if m.dirs[dir] {
		return nil
	}
	if err := pins.Sweep(dir, 0); err != nil {
		return err
	}
	if m.dirs == nil {
		m.dirs = map[string]bool{}
	}
	m.dirs[dir] = true
	return nil
}
