package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// ErrForeign is returned where a file that would be written exists and is not
// ours.
var ErrForeign = errors.New("the file is not ours")

// registered is what stands in one file of a runtime.
type registered interface {
	// put returns a file with ours in it, and the pointers of what was made to
	// hold ours. text is nil if there is no file.
	put(text []byte) (with []byte, created []string, err error)
	// drop returns a file without ours, nil for no file. created is what put
	// returned.
	drop(text []byte, created []string) (without []byte, err error)
}

// member is a value that is set in settings, and element one that is added to a
// list there.
type (
	member struct {
		path  []string
		value any
		keep  bool // it is not ours alone: it stays when ours is removed
	}
	element struct {
		path  []string
		value any
	}
)

// inSettings is ours in a file of JSON.
type inSettings struct {
	members  []member
	elements []element
}

// put implements registered.
func (f inSettings) put(text []byte) ([]byte, []string, error) {
	s, err := readSettings(text)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range f.members {
		if m.keep && s.find(m.path...) != nil {
			if err := s.checkKept(m); err != nil {
				return nil, nil, err
			}
			continue
		}
		if err := s.set(m.value, m.path...); err != nil {
			return nil, nil, err
		}
	}
	for _, e := range f.elements {
		if err := s.add(e.value, e.path...); err != nil {
			return nil, nil, err
		}
	}
	return s.bytes(), s.created, nil
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
func (f inSettings) drop(text []byte, created []string) ([]byte, error) {
	if text == nil {
		return nil, nil
	}
	s, err := readSettings(text)
	if err != nil {
		return nil, err
	}
	for _, e := range f.elements {
		s.remove(calledByRuntime, e.path...)
	}
	made := map[string]bool{}
	for _, at := range created {
		made[at] = true
	}
	for _, m := range f.members {
		if !m.keep || made[pointer(m.path)] {
			s.drop(m.path...)
		}
	}
	s.prune(created)
	return s.bytes(), nil
}

// calledByRuntime reports an entry of a list of hooks that calls sessctl.
func calledByRuntime(entry []byte) bool { return bytes.Contains(entry, []byte(" hook run ")) }

// inTable is ours in a file of TOML.
type inTable struct {
	name string
	rows any
}

// put implements registered.
func (f inTable) put(text []byte) ([]byte, []string, error) {
	with, err := putTable(text, f.name, f.rows)
	return with, nil, err
}

// drop implements registered.
func (f inTable) drop(text []byte, _ []string) ([]byte, error) {
	if text == nil {
		return nil, nil
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

// Mark stands in every file that is wholly ours.
const Mark = "Installed by sessctl hook install"

// put implements registered.
func (f whole) put(text []byte) ([]byte, []string, error) {
	if text != nil && !bytes.Contains(text, []byte(Mark)) {
		return nil, nil, ErrForeign
	}
	return []byte(f.text), nil, nil
}

// drop implements registered.
func (f whole) drop(text []byte, _ []string) ([]byte, error) {
	if text != nil && !bytes.Contains(text, []byte(Mark)) {
		return text, nil
	}
	return nil, nil
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
		words[i] = quoteWord(w)
	}
	return strings.Join(words, " ")
}

// quoteWord quotes a word for a shell where it needs that.
func quoteWord(w string) string {
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
