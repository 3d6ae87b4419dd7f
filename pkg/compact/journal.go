package compact

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/relocate"
	"github.com/sessctl/sessctl/pkg/session"
)

// Intent is one rotation as the journal holds it, written before anything of
// the runtime's changes and kept until nobody can write the old log any more.
type Intent struct {
	Schema   int              `json:"schema"`         // 1
	ID       string           `json:"id"`             // a ULID, also the receipt's
	Kind     Kind             `json:"kind,omitempty"` // what is being done
	Rotation session.Rotation `json:"rotation"`
	// Shortening is the whole plan of a KindShortening; Rotation is its part.
	Shortening *session.Shortening `json:"shortening,omitempty"`
	Annotation *session.Annotation `json:"annotation,omitempty"` // of a KindAnnotation
	Archive    Archived            `json:"archive"`
	Receipt    Receipt             `json:"receipt"`            // what is written once the switch is done
	Switched   bool                `json:"switched"`           // the receipt was written
	Settled    int64               `json:"settled_size_bytes"` // bytes of the old log that are archived and remembered
	// Late is what became of lines that came after the snapshot; nil if none did.
	Late *Lateness `json:"late,omitempty"`
	// Restore is of a KindRestore. Rotation then is of the log that was at the
	// place before, if there was one, and Archive is of that log.
	Restore *Restoration `json:"restore,omitempty"`
	// Undo is of a KindUndo that reverses a rotation. One that reverses
	// another change has Restore.
	Undo *session.Undo `json:"undo,omitempty"`
}

// Rests reports whether the change is done, and all that is left of it is its old log,
// which is kept until nobody can write it any more, and holds nothing new.
func (in Intent) Rests() bool {
	if !in.Switched || in.Rotation.Kept == "" {
		return false
	}
	info, err := os.Lstat(in.Rotation.Kept)
	return err == nil && info.Size() == in.Settled
}

// refOf is the session whose log lies at a path, put aside by a change.
func (in Intent) refOf(path string) session.Ref {
	return session.Ref{
		Runtime: in.Rotation.Runtime, Agent: in.Rotation.Agent, ID: in.Rotation.Session,
		Store: in.Rotation.Store, Path: path, Kind: session.KindReset,
	}
}

// Kind says which change an intent is about.
type Kind string

// The kinds of intents. A kind that this version does not know is an error: a
// newer version has left its work half done.
const (
	KindRotation   Kind = "" // the zero value, as the first version wrote it
	KindShortening Kind = "shortening"
	KindAnnotation Kind = "annotation"
	KindUndo       Kind = "undo"
	KindRestore    Kind = "restore"
	KindReset      Kind = "reset" // a rotation that the running runtime carries out
)

// Known reports whether this version knows such a change.
func (k Kind) Known() bool {
	switch k {
	case KindRotation, KindShortening, KindAnnotation, KindUndo, KindRestore, KindReset:
		return true
	}
	return false
}

// Journal is the directory of intents. Every change of it is durable before
// the method returns.
type Journal struct {
	Dir   string
	Moves relocate.Moves // of what entries name
	Pins  *durable.Pins  // hold the directories open during a run; nil for none
}

// Path returns where the entry with this id is or would be.
func (j Journal) Path(id string) string { return filepath.Join(j.Dir, id+".json") }

// Write makes an intent durable.
func (j Journal) Write(in Intent) error {
	if err := j.Pins.MakeDir(j.Dir, 0o700); err != nil {
		return fmt.Errorf("make journal directory: %w", err)
	}
	return writeJSON(j.Pins, j.Path(in.ID), in)
}

// remove drops an intent that is settled, and the note that it was set aside.
func (j Journal) remove(id string) error {
	if err := j.Pins.RemoveFile(j.Path(id)); err != nil {
		return err
	}
	return j.dropNote(id)
}

// List returns all intents that can be read, oldest first. [Journal.Examine]
// tells of the others too.
func (j Journal) List() ([]Intent, error) {
	intents, _, err := j.Examine()
	return intents, err
}

func (j Journal) read(path string) (Intent, error) {
	var in Intent
	if err := readJSON(j.Pins, path, &in, j.Moves); err != nil {
		return in, err
	}
	if in.Schema != 1 {
		return in, fmt.Errorf("the entry has schema %d, this version knows 1", in.Schema)
	}
	return in, nil
}

// writeJSON replaces a file by an indented value, private (0600).
func writeJSON(pins *durable.Pins, path string, value any) error {
	b, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	return pins.ReplaceFile(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(append(b, '\n'))
		return err
	})
}

// ErrDamagedRecord is returned when a file of the journal or of the receipts is
// not JSON: it was cut or overwritten after it was written.
var ErrDamagedRecord = errors.New("the file is damaged")

// maxRecord bounds, in bytes, what is read of a file of the journal or of the
// receipts; they have a few thousand.
const maxRecord = 64 << 20

// readJSON reads a record; paths in it that have moved are those of today. Who
// reads it says of which file an error is.
func readJSON(pins *durable.Pins, path string, value any, moves relocate.Moves) error {
	f, err := pins.OpenRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err != nil {
		return fmt.Errorf("read it: %w", err)
	}
	if err := json.Unmarshal(moves.JSON(b), value); err != nil {
		return fmt.Errorf("%w: %w", ErrDamagedRecord, err)
	}
	return nil
}

// Unreadable is a file of the journal or of the receipts that cannot be used,
// and why.
type Unreadable struct {
	Path string
	Err  error // does not name Path
}

// Examine returns all intents that can be read, oldest first, and the entries
// that cannot: those of a newer version and damaged ones.
func (j Journal) Examine() ([]Intent, []Unreadable, error) {
	return examine(j.Pins, j.Dir, "journal", j.read)
}

// Examine returns all receipts that can be read, oldest first, and the files
// that cannot.
func (r Receipts) Examine() ([]Receipt, []Unreadable, error) {
	return examine(r.Pins, r.Dir, "receipts", func(path string) (receipt Receipt, err error) {
		err = readJSON(r.Pins, path, &receipt, r.Moves)
		return receipt, err
	})
}

// examine reads every record of a directory; one that does not exist is empty.
func examine[T any](pins *durable.Pins, dir, name string, read func(path string) (T, error)) (good []T, bad []Unreadable, err error) {
	entries, err := pins.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list %s: %w", name, err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		value, err := read(path)
		if err != nil {
			bad = append(bad, Unreadable{path, err})
			continue
		}
		good = append(good, value)
	}
	return good, bad, nil
}

// Lateness is how far the late lines of an old log have come, as the journal
// has it.
type Lateness struct {
	Proof LateProof `json:"proof"`
	Since time.Time `json:"since"` // when the ones that wait were seen first
	End   int64     `json:"end"`   // of the old log, up to which it is settled
	// Fragment is true for a log of which all came late: it was made again
	// after the session was rotated, or moved away otherwise, at Moved.
	Fragment bool      `json:"fragment,omitempty"`
	Moved    time.Time `json:"moved,omitzero"`
	// Plan is of a change that has begun, or was about to, and Upto where its
	// tail ends. It is durable before a byte is appended: by it the next run
	// sees whether the bytes are there.
	Plan *session.Carrying `json:"plan,omitempty"`
	Upto int64             `json:"upto,omitempty"`
}

// Restoration is a restore as the journal holds it.
type Restoration struct {
	Path    string   `json:"path"`    // where the log goes
	Archive Archived `json:"archive"` // whose bytes
	// SecondKept is where the replaced log goes on systems that cannot exchange two
	// files; on others it is at Rotation.Kept.
	SecondKept string `json:"spare,omitempty"`
	// Before is what the runtime's record beside the log said before a rotation
	// that is undone (session.Recorder).
	Before []session.IndexEntry `json:"before,omitempty"`
}

// dropNote removes the note beside an entry, if there is one.
func (j Journal) dropNote(id string) error {
	if _, err := j.Pins.Lstat(j.notePath(id)); err != nil {
		return nil // the usual case: there is none
	}
	return j.Pins.RemoveFile(j.notePath(id))
}

// LateProof says what became of lines that reached an old log after its
// snapshot. They are archived and remembered in any case.
type LateProof struct {
	Bytes   int64  `json:"size_bytes"`     // after the snapshot
	Archive string `json:"archive"`        // id of the one that has them, with all before them
	Carried int    `json:"carried"`        // records that were appended to the session that followed
	LeftOut int    `json:"left_out"`       // lines that cannot stand in another session
	Into    string `json:"into,omitempty"` // path of that session's log
	// Waiting is true while a later run will try to carry what is not carried.
	Waiting bool   `json:"waiting,omitempty"`
	Reason  string `json:"reason,omitempty"` // why it waits, or why it was not carried
}

// notePath is where the note about an entry is or would be. It does not end in
// .json, so it is no entry.
func (j Journal) notePath(id string) string { return filepath.Join(j.Dir, id+".set-aside") }
