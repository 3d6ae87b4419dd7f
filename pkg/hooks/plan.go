package hooks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sessctl/sessctl/pkg/durable"
)

// ErrNoRuntime is returned where a runtime has no settings: it was never used
// by this user.
var ErrNoRuntime = errors.New("the runtime's directory does not exist")

// ErrDangling is returned where a file of settings is a link that leads nowhere.
var ErrDangling = errors.New("the link leads nowhere")

// ErrNoRecord is returned where what an installation has kept of the settings before it
// cannot be read: without it they would not come back to the byte.
var ErrNoRecord = errors.New("it is no record that this version knows")

// ErrChanged is returned by [Plan.Execute] if a file is not what the plan saw.
var ErrChanged = errors.New("the file has changed meanwhile")

// Change is one file of a plan. Before and After are nil for no file; they are
// equal where nothing is to be done.
type Change struct {
	Path   string
	What   string
	Before []byte
	After  []byte

	mode    fs.FileMode
	base    []byte // without ours
	created []string
	ours    []string
}

// Needed reports whether the file has to be written, or removed. Settings that say the
// same in another order, as a runtime writes them again, are left as they are.
func (c Change) Needed() bool {
	return (c.Before == nil) != (c.After == nil) || !bytes.Equal(c.Before, c.After) && !saySame(c.Before, c.After)
}

// Plan is what an installation or a removal changes.
type Plan struct {
	Runtime string
	Changes []Change
	Notes   []string

	install bool
	records records
}

// records keeps, for each runtime, what its files were before.
type records struct{ dir string }

// record is what one installation has done: <data>/hooks/RUNTIME.json.
type record struct {
	Schema  int          `json:"schema"`
	Runtime string       `json:"runtime"`
	Files   []recordFile `json:"files"`
	Dirs    []string     `json:"made_directories"`
}

type recordFile struct {
	Path    string   `json:"path"`
	After   string   `json:"sha256"`      // of what was written
	Base    *string  `json:"before"`      // the whole file before, null if there was none
	Created []string `json:"made_values"` // what was made to hold ours, as JSON pointers
	Ours    []string `json:"ours"`        // what was put there
}

// mostBytes bounds the files that are changed, and records of them.
const mostBytes = 16 << 20

// PlanInstall plans what a runtime is told. dir is where records are kept.
//
// The error is [ErrNoRuntime] where the runtime has no directory, [ErrForeign]
// where a file of that name is somebody else's, or says what in a file of
// settings cannot be read.
func PlanInstall(t Target, dir string) (Plan, error) {
	p, old, err := begin(t, dir, true)
	if err != nil {
		return p, err
	}
	for _, f := range t.files {
		c, known, err := look(f, old)
		if err != nil {
			return p, err
		}
		put, err := f.ours.put(c.base)
		if err != nil {
			return p, fmt.Errorf("%s: %w", c.Path, err)
		}
		c.After, c.ours, c.created = put.text, put.ours, slices.Concat(put.created, known.Created)
		if c.mode == 0 {
			c.mode = 0o600
		}
		for _, n := range put.notes {
			p.Notes = append(p.Notes, c.Path+": "+n)
		}
		p.Changes = append(p.Changes, c)
	}
	return p, nil
}

// PlanRemove plans how a runtime is told nothing any more.
func PlanRemove(t Target, dir string) (Plan, error) {
	p, old, err := begin(t, dir, false)
	if errors.Is(err, ErrNoRuntime) {
		err = nil // there is nothing of ours
	}
	if err != nil {
		return p, err
	}
	for _, f := range t.files {
		c, _, err := look(f, old)
		if err != nil {
			return p, err
		}
		c.After = c.base
		p.Changes = append(p.Changes, c)
	}
	return p, nil
}

func begin(t Target, dir string, install bool) (Plan, record, error) {
	p := Plan{Runtime: t.Runtime, install: install, records: records{dir}}
	if install {
		p.Notes = t.Notes
	}
	old, err := p.records.read(t.Runtime)
	if err != nil {
		return p, old, err
	}
	if info, err := os.Stat(t.Dir); err != nil || !info.IsDir() {
		return p, old, fmt.Errorf("%s: %w", t.Dir, ErrNoRuntime)
	}
	return p, old, nil
}

// look reads a file, and takes ours away: to the byte, if it is what we wrote.
func look(f targetFile, old record) (Change, recordFile, error) {
	c := Change{Path: resolved(f.path), What: f.what}
	if info, err := os.Lstat(c.Path); err == nil && info.Mode().Type() == fs.ModeSymlink {
		return c, recordFile{}, fmt.Errorf("%s: %w", c.Path, ErrDangling)
	}
	text, err := durable.ReadSmall(c.Path, mostBytes)
	if err != nil && exists(err) {
		return c, recordFile{}, fmt.Errorf("read %s: %w", c.Path, err)
	}
	if err == nil {
		if info, err := os.Stat(c.Path); err == nil {
			c.mode = info.Mode().Perm()
		}
		c.Before = append([]byte{}, text...)
	}
	known := old.file(c.Path)
	if c.Before != nil && known.After == sum(c.Before) {
		if known.Base != nil {
			c.base = []byte(*known.Base)
		}
		return c, known, nil
	}
	if c.base, err = f.ours.drop(c.Before, known); err != nil {
		return c, known, fmt.Errorf("%s: %w", c.Path, err)
	}
	if empty := string(bytes.TrimSpace(c.base)); known.After != "" && known.Base == nil && (empty == "" || empty == "{}") {
		c.base = nil // we made the file, and nothing else is in it
	}
	return c, known, nil
}

// resolved is where a link leads: settings are often links into a directory
// that is kept elsewhere, and it is the file there that is changed.
func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

func sum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}

// Needed reports whether the plan changes anything.
func (p Plan) Needed() bool { return slices.ContainsFunc(p.Changes, Change.Needed) }

// Installs reports whether the plan is an installation.
func (p Plan) Installs() bool { return p.install }

// Execute changes the files. The record is written first, so that what was
// before is on disk whatever happens then.
//
// A file that has changed since the plan was made is [ErrChanged]; those before
// it are changed then, and the next run goes on.
func (p Plan) Execute() error {
	if p.install {
		if err := p.installAll(); err != nil {
			return err
		}
		return nil
	}
	old, err := p.records.read(p.Runtime)
	if err != nil {
		return err
	}
	for _, c := range p.Changes {
		if err := c.write(); err != nil {
			return err
		}
	}
	for _, dir := range slices.Backward(old.Dirs) {
		_ = durable.RemoveEmptyDir(dir) // one that holds something stays
	}
	if err := p.records.drop(p.Runtime); err != nil {
		return err
	}
	_ = durable.RemoveEmptyDir(p.records.dir) // others may be registered
	return nil
}

func (p Plan) installAll() error {
	old, err := p.records.read(p.Runtime)
	if err != nil {
		return err
	}
	now := record{Schema: 1, Runtime: p.Runtime, Dirs: old.Dirs}
	for _, c := range p.Changes {
		now.Dirs = append(now.Dirs, missingDirs(filepath.Dir(c.Path), now.Dirs)...)
		f := recordFile{Path: c.Path, After: sum(c.After), Created: c.created, Ours: c.ours}
		if c.base != nil {
			base := string(c.base)
			f.Base = &base
		}
		now.Files = append(now.Files, f)
	}
	if err := p.records.write(now); err != nil {
		return err
	}
	for i, c := range p.Changes {
		if err := c.write(); err != nil {
			return errors.Join(err, p.takeBack(old, p.Changes[:i+1], now.Dirs[len(old.Dirs):])) // what failed may be in place
		}
	}
	return nil
}

// takeBack makes files what they were before an installation that failed. Where
// that fails too the record stays: by it the next run, or a removal, knows what
// was before. made are the directories that the installation has made.
func (p Plan) takeBack(old record, done []Change, made []string) error {
	var errs []error
	for _, c := range slices.Backward(done) {
		if is, err := c.isBefore(); err != nil || is {
			errs = append(errs, err)
			continue
		}
		c.Before, c.After = c.After, c.Before
		errs = append(errs, c.write())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, dir := range slices.Backward(made) {
		_ = durable.RemoveEmptyDir(dir) // one that holds something stays
	}
	if old.Runtime != "" {
		return p.records.write(old)
	}
	return p.records.drop(p.Runtime)
}

// Sweep removes what killed runs have left half-written beside the files of a
// runtime, and in the directory of records. The caller holds the lock of the data
// directory.
func (t Target) Sweep(dir string) error {
	dirs := []string{dir}
	for _, f := range t.files {
		if d := filepath.Dir(resolved(f.path)); !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	for _, d := range dirs {
		if err := durable.Sweep(d, 0); err != nil {
			return fmt.Errorf("sweep %s: %w", d, err)
		}
	}
	return nil
}

// missingDirs are a directory and those above it that do not exist, the
// outermost first.
func missingDirs(dir string, known []string) (missing []string) {
	for ; !slices.Contains(known, dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		missing = append(missing, dir)
	}
	slices.Reverse(missing)
	return missing
}

// isBefore reports whether the file is what the plan saw.
func (c Change) isBefore() (bool, error) {
	now, err := durable.ReadSmall(c.Path, mostBytes)
	if err != nil && exists(err) {
		return false, fmt.Errorf("read %s: %w", c.Path, err)
	}
	return exists(err) == (c.Before != nil) && bytes.Equal(now, c.Before), nil
}

// write makes the file what the plan says, if it still is what the plan saw.
func (c Change) write() error {
	if !c.Needed() {
		return nil
	}
	switch is, err := c.isBefore(); {
	case err != nil:
		return err
	case !is:
		return fmt.Errorf("%s: %w", c.Path, ErrChanged)
	}
	if c.After == nil {
		return durable.RemoveFile(c.Path)
	}
	if err := durable.MakeDir(filepath.Dir(c.Path), 0o700); err != nil {
		return err
	}
	return durable.ReplaceFile(c.Path, c.mode, func(w io.Writer) error {
		_, err := w.Write(c.After)
		return err
	})
}

func (r records) path(runtime string) string { return filepath.Join(r.dir, runtime+".json") }

func (r records) read(runtime string) (record, error) {
	var known record
	text, err := durable.ReadSmall(r.path(runtime), 4*mostBytes)
	if err != nil && !exists(err) {
		return known, nil
	}
	if err == nil && json.Unmarshal(text, &known) != nil {
		err = ErrNoRecord
	}
	if err == nil && (known.Schema != 1 || known.Runtime != runtime) {
		err = ErrNoRecord
	}
	if err != nil {
		return known, fmt.Errorf("read what was registered with %s (%s): %w", runtime, r.path(runtime), err)
	}
	return known, nil
}

func (r record) file(path string) recordFile {
	for _, f := range r.Files {
		if f.Path == path {
			return f
		}
	}
	return recordFile{}
}

// write keeps a record. It holds what settings held, secrets too, so it is
// private.
func (r records) write(now record) error {
	if err := durable.MakeDir(r.dir, 0o700); err != nil {
		return err
	}
	return durable.ReplaceFile(r.path(now.Runtime), 0o600, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(now)
	})
}

func (r records) drop(runtime string) error {
	if err := durable.RemoveFile(r.path(runtime)); err != nil && exists(err) {
		return err
	}
	return nil
}

// State says how a runtime is registered.
type State struct {
	Runtime   string
	Present   bool // the runtime has settings
	Installed bool // every file is as an installation would leave it
	Partly    bool // some of it is there, or it is of another sessctl
	Paths     []string
}

// Look says how a runtime is registered now.
func Look(t Target, dir string) (State, error) {
	s := State{Runtime: t.Runtime}
	install, err := PlanInstall(t, dir)
	if errors.Is(err, ErrNoRuntime) {
		return s, nil
	}
	if s.Present = true; err != nil {
		return s, err
	}
	s.Installed = !install.Needed()
	for _, c := range install.Changes {
		s.Paths = append(s.Paths, c.Path)
		base := Change{Before: c.Before, After: c.base}
		s.Partly = s.Partly || base.Needed()
	}
	s.Partly = s.Partly && !s.Installed
	return s, nil
}
