package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// ErrForeign is returned where a file that would be written exists and is not
// ours, or was edited since we wrote it.
var ErrForeign = errors.New("the file is not ours, or was edited since")

// registered is what stands in one file of a runtime.
type registered interface {
	// put returns a file with ours in it. text is nil if there is no file, and has
	// nothing of ours otherwise.
	put(text []byte) (placed, error)
	// drop returns a file without ours, nil for no file. Ours is what was put there
	// before, by the record, and what would be put now: nothing that only looks
	// like it.
	drop(text []byte, before recordFile) ([]byte, error)
}

// placed is a file with ours in it.
type placed struct {
	text    []byte
	created []string // pointers of what was made to hold ours
	ours    []string // what was put: command lines, values and tables
	notes   []string
}

// member is a value that is set in settings, and element one that is added to a
// list of hooks there.
type (
	member struct {
		path  []string
		value any
		keep  bool // it is not ours alone: it stays when ours is removed
	}
	element struct {
		path  []string
		value command
	}
)

// inSettings is ours in a file of JSON.
type inSettings struct {
	members  []member
	elements []element
}

// put implements registered. A value that somebody has set stays.
func (f inSettings) put(text []byte) (p placed, err error) {
	s, err := readSettings(text)
	if err != nil {
		return p, err
	}
	for _, m := range f.members {
		if s.find(m.path...) != nil {
			if err := s.checkKept(m); m.keep && err != nil {
				return p, err
			}
			if !m.keep {
				p.notes = append(p.notes, pointer(m.path)+" is there already and stays as it is")
			}
			continue
		}
		if err := s.set(m.value, m.path...); err != nil {
			return p, err
		}
		p.ours = append(p.ours, compactJSON(m.value))
	}
	for _, e := range f.elements {
		if err := s.add(e.value, e.path...); err != nil {
			return p, err
		}
		p.ours = append(p.ours, e.value.Hooks[0].Command)
	}
	p.text, p.created = s.bytes(), s.created
	return p, nil
}

func compactJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // values of ours are always JSON
	return string(bytes.TrimSpace(b.Bytes()))
}

// checkKept refuses a setting that somebody made otherwise than ours needs it.
func (s *settings) checkKept(m member) error {
	want, err := json.Marshal(m.value)
	if err != nil {
		return err
	}
	now := s.find(m.path...).Clone()
	now.Minimize()
	if got := now.Pack(); !bytes.Equal(got, want) {
		return fmt.Errorf("%s is %s, and %s is needed", pointer(m.path), got, want)
	}
	return nil
}

// drop implements registered.
func (f inSettings) drop(text []byte, before recordFile) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return text, nil
	}
	s, err := readSettings(text)
	if err != nil {
		return nil, err
	}
	for _, e := range f.elements {
		s.removeCalls(func(line string) bool { return line == e.value.Hooks[0].Command || slices.Contains(before.Ours, line) }, e.path...)
	}
	for _, m := range f.members {
		value := s.find(m.path...)
		made := slices.Contains(before.Created, pointer(m.path))
		if value != nil && (m.keep && made || !m.keep && (minimized(value) == compactJSON(m.value) || slices.Contains(before.Ours, minimized(value)))) {
			s.drop(m.path...)
		}
	}
	s.prune(before.Created)
	return s.bytes(), nil
}

func minimized(v *hujson.Value) string {
	short := v.Clone()
	short.Minimize()
	return string(short.Pack())
}

// inTable is ours in a file of TOML.
type inTable struct {
	name string
	rows any
}

// put implements registered. A table that somebody has made stays.
func (f inTable) put(text []byte) (placed, error) {
	there, err := hasTable(text, f.name)
	if err != nil {
		return placed{}, err
	}
	if there {
		return placed{text: text, notes: []string{f.name + " is there already and stays as it is"}}, nil
	}
	with, err := putTable(text, f.name, f.rows)
	return placed{text: with, ours: []string{tableText(with, f.name)}}, err
}

// drop implements registered.
func (f inTable) drop(text []byte, before recordFile) ([]byte, error) {
	if len(text) == 0 {
		return text, nil
	}
	now, err := putTable(nil, f.name, f.rows)
	if err != nil {
		return nil, err
	}
	if is, err := hasTable(text, f.name); err != nil || !is {
		return text, err
	}
	if there := tableText(text, f.name); there == "" || there != tableText(now, f.name) && !slices.Contains(before.Ours, there) {
		return text, checkTOML(text)
	}
	without, err := dropTable(text, f.name)
	if err == nil && len(without) == 0 {
		without = []byte{}
	}
	return without, err
}

// whole is a file that is ours.
type whole struct {
	text string
}

// mark stands in every file that is wholly ours.
const mark = "Installed by sessctl hook install"

// put implements registered.
func (f whole) put(text []byte) (placed, error) {
	if text != nil {
		return placed{}, ErrForeign
	}
	return placed{text: []byte(f.text)}, nil
}

// drop implements registered. One that was edited is somebody's.
func (f whole) drop(text []byte, before recordFile) ([]byte, error) {
	if string(text) == f.text || text != nil && before.After == sum(text) {
		return nil, nil
	}
	return text, nil
}

// Program is how a runtime calls sessctl.
type Program struct {
	Path string   // absolute
	Args []string // that every call gets: --data-dir and the like
}

// line is a command line for a shell.
func (p Program) line(args ...string) string {
	words := append([]string{p.Path}, append(args, p.Args...)...)
	for i, w := range words {
		words[i] = QuoteWord(w)
	}
	return strings.Join(words, " ")
}

// QuoteWord quotes a word for a shell where it needs that.
func QuoteWord(w string) string {
	if w != "" && strings.IndexFunc(w, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,", r)
	}) < 0 {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// args are the arguments of a call.
func (p Program) args(args ...string) []string { return append(args, p.Args...) }

// exists reports whether a read of a file found it.
func exists(err error) bool { return !errors.Is(err, fs.ErrNotExist) }
