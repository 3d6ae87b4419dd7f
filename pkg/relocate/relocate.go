package relocate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Move says that what was below From is below To now. Both are absolute.
type Move struct{ From, To string }

// Moves are those that are known, the deepest first. None is the usual case, in
// which every path stays as it is.
type Moves []Move

// Of returns the moves of a directory that is at now, and was at each of the
// earlier places. What the two paths end in alike is taken to have moved as a
// whole: /old/.local/share/sessctl, now /new/.local/share/sessctl, means that
// /old has moved to /new.
func Of(now string, earlier ...string) Moves {
	var all Moves
	for _, was := range earlier {
		if !filepath.IsAbs(was) || filepath.Clean(was) == filepath.Clean(now) {
			continue
		}
		m := Move{filepath.Clean(was), filepath.Clean(now)}
		all = append(all, m)
		if whole := m.whole(); whole != m {
			all = append(all, whole)
		}
	}
	slices.SortStableFunc(all, func(a, b Move) int { return cmp.Compare(len(b.From), len(a.From)) })
	return slices.Compact(all)
}

// whole leaves out the names that both paths end in, but for the first
// directory of the system: that does not move.
func (m Move) whole() Move {
	for filepath.Base(m.From) == filepath.Base(m.To) {
		from, to := filepath.Dir(m.From), filepath.Dir(m.To)
		if isRoot(from) || isRoot(to) {
			break
		}
		m = Move{from, to}
	}
	return m
}

func isRoot(path string) bool { return filepath.Dir(path) == path }

// below returns the part of a path below a directory.
func below(dir, path string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, dir)
	return rest, ok && (rest == "" || os.IsPathSeparator(rest[0]))
}

// Path returns where a recorded path is now. Where both the old and the new
// place could be meant, it is the new one: a copy never leads to its original. A
// path whose directory was not moved with the others stays as it is.
func (m Moves) Path(recorded string) string {
	best := ""
	for _, move := range m {
		rest, ok := below(move.From, recorded)
		if !ok {
			continue
		}
		now := move.To + rest
		if exists(now) || exists(filepath.Dir(now)) {
			return now
		}
		best = cmp.Or(best, now)
	}
	if best == "" || exists(recorded) || exists(filepath.Dir(recorded)) {
		return recorded
	}
	return best
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// JSON returns a document with every string in it that is a path as
// [Moves.Path] says. The rest of it is as it was, byte for byte.
func (m Moves) JSON(document []byte) []byte {
	if len(m) == 0 {
		return document
	}
	var out bytes.Buffer
	for len(document) > 0 {
		start := bytes.IndexByte(document, '"')
		if start < 0 {
			break
		}
		length := literal(document[start:])
		out.Write(document[:start])
		out.Write(m.inLiteral(document[start : start+length]))
		document = document[start+length:]
	}
	out.Write(document)
	return out.Bytes()
}

// literal is the length of the string literal that a text begins with.
func literal(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// inLiteral returns a string literal with the path that it is, if it is one.
func (m Moves) inLiteral(text []byte) []byte {
	var recorded string
	if json.Unmarshal(text, &recorded) != nil || !filepath.IsAbs(recorded) {
		return text
	}
	now := m.Path(recorded)
	if now == recorded {
		return text
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(now) != nil {
		return text
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
