package openclaw

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"sync"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// indexWrites is how often a change of the index is begun again, or merged
// with what somebody else has just written, before it is given up.
const indexWrites = 40

// indexWrite is one change of the index of a directory whose lock is held.
type indexWrite struct {
	*directory
	system durable.System
	step   func(name string) error
	held   *logfile.Held // must stay in its place until then; nil for none
	// edit makes the new text out of the newest index. It returns a
	// [*session.BusyError] if its entries are not what they should be.
	edit func(x *index) ([]byte, error)
}

// run reads the index, edits it and puts the new text in its place. Whoever
// honours the lock waits meanwhile. Whoever does not may write the index at any
// moment: before the switch this is begun again, and what was written in the
// last instant comes back out of the exchange and is merged in. Where files
// cannot be exchanged, what is written between the last look and the rename is
// lost (docs/reliability.md, "Where the system gives less").
func (w *indexWrite) run(ctx context.Context) error {
	for range indexWrites {
		x, err := w.readIndex(ctx)
		if err != nil {
			return fmt.Errorf("read sessions.json again: %w", err)
		}
		text, err := w.edit(x)
		if err != nil || bytes.Equal(text, x.raw) {
			return err
		}
		err = w.put(x, text)
		if !errors.Is(err, errIndexChanged) {
			return err
		}
	}
	return w.neverStill()
}

// errIndexChanged says that the index is not the one that was read any more,
// and that nothing was changed.
var errIndexChanged = errors.New("the runtime has just changed sessions.json")

func (w *indexWrite) neverStill() error {
	return &session.BusyError{Path: w.At(indexName), Reason: session.ReasonIndexRestless.Text()}
}

// put puts a text in the place of the index that was read.
func (w *indexWrite) put(read *index, text []byte) error {
	check := func(string) error { return errors.Join(w.unchanged(read), inPlace(w.held)) }
	if w.system.NoExchange {
		return w.replace(read, text, check)
	}
	next := &nextIndex{text: text, expected: read.raw}
	err := w.stage(next, read.info, check)
	if err == nil {
		err = w.exchange(next, read.info)
	}
	switch {
	case errors.Is(err, durable.ErrUnsupported):
		return errors.Join(durable.RemoveFileIn(w.Root, next.name()), w.replace(read, text, check))
	case err != nil:
		return err
	}
	return w.step("index exchanged")
}

// unchanged returns [errIndexChanged] if the index is not the one that was read.
func (w *indexWrite) unchanged(read *index) error {
	info, err := w.Root.Lstat(indexName)
	if err != nil {
		return fmt.Errorf("look at sessions.json: %w", err)
	}
	if session.Observe(w.At(indexName), read.info).Matches(info) != nil {
		return errIndexChanged
	}
	return nil
}

// replace is put for file systems that cannot exchange two files.
func (w *indexWrite) replace(read *index, text []byte, check func(string) error) error {
	err := durable.ReplaceCheckedIn(w.Root, indexName, read.info.Mode().Perm(), writing(text), check)
	if errors.Is(err, errIndexChanged) || errors.Is(err, session.ErrBusy) || err == nil {
		return err
	}
	return fmt.Errorf("replace sessions.json: %w", err)
}

func writing(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

// nextIndex is the text of an index on its way to its place, and what is
// expected there. Both are part of its name: if a run is killed, they tell
// whether what has that name is ours, is what was known, or is somebody
// else's, whose entries must not be lost.
type nextIndex struct{ text, expected []byte }

const nextIndexEnd = ".sessctl"

func (n *nextIndex) name() string {
	return "." + indexName + "." + shortSum(n.text) + "." + shortSum(n.expected) + nextIndexEnd
}

func shortSum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

var nextIndexName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\.sessions\.json\.([0-9a-f]{16})\.([0-9a-f]{16})\.sessctl$`)
})

// stage makes the next index complete beside the one that it is to take the
// place of.
func (w *indexWrite) stage(next *nextIndex, like os.FileInfo, check func(string) error) error {
	if err := durable.RemoveFileIn(w.Root, next.name()); err != nil {
		return err
	}
	err := durable.CreateCheckedIn(w.Root, next.name(), like, writing(next.text), check)
	switch {
	case errors.Is(err, errIndexChanged), errors.Is(err, session.ErrBusy):
		return err
	case err != nil:
		return fmt.Errorf("write the new sessions.json: %w", err)
	}
	return w.step("index staged")
}

// exchange puts the next index in its place and looks at what was there. What
// somebody else has written since is merged with what was put there, and that
// is put in its place, until what comes back is what was expected.
func (w *indexWrite) exchange(next *nextIndex, expected os.FileInfo) error {
	merged := "" // the name of what has been merged into next
	for range indexWrites {
		path := w.At(next.name())
		ours, err := w.Root.Lstat(next.name())
		if err != nil {
			return fmt.Errorf("look at the new sessions.json: %w", err)
		}
		if err := w.SwapBeside(w.system, next.name(), indexName); err != nil {
			return fmt.Errorf("replace sessions.json: %w", err)
		}
		if err := errors.Join(w.step("index exchanged"), w.dropNext(merged)); err != nil {
			return err
		}
		came, err := w.readIndexFile(next.name())
		if err != nil {
			return w.giveBack(next, err)
		}
		if session.Observe(path, expected).MatchesMoved(came.info) == nil {
			return w.dropNext(next.name())
		}
		text, err := mergeIndexes(next.expected, came.raw, next.text)
		if err != nil {
			return w.giveBack(next, err)
		}
		merged = next.name()
		next, expected = &nextIndex{text: text, expected: next.text}, ours
		if err := w.stage(next, ours, func(string) error { return nil }); err != nil {
			return err
		}
	}
	return w.neverStill()
}

// giveBack puts an index back that came out of an exchange and cannot be read:
// it is somebody's who is writing it.
func (w *indexWrite) giveBack(next *nextIndex, unread error) error {
	path := w.At(next.name())
	if err := w.SwapBeside(w.system, next.name(), indexName); err != nil {
		return fmt.Errorf("put sessions.json back: %w", err)
	}
	busy := &session.BusyError{Path: w.At(indexName), Reason: session.ReasonIndexBroken.Text(unread)}
	if text, err := os.ReadFile(path); err == nil && bytes.Equal(text, next.text) {
		return errors.Join(busy, w.dropNext(next.name()))
	}
	return busy
}

// dropNext removes a file that has been merged, or that is what was known; ""
// is none.
func (w *indexWrite) dropNext(name string) error {
	if name == "" {
		return nil
	}
	if err := durable.RemoveFileIn(w.Root, name); err != nil {
		return fmt.Errorf("remove what was sessions.json: %w", err)
	}
	return nil
}

// settle looks at what killed runs have left of their changes of the index.
// What is ours, or was known when the change was made, goes. What somebody else
// has written in the instant of the change comes back: its entries that the
// index does not have, and those that are newer there.
func (w *indexWrite) settle(ctx context.Context) error {
	names, err := w.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		known := nextIndexName().FindStringSubmatch(name)
		if known == nil {
			continue
		}
		left, err := w.readIndexFile(name)
		if err != nil {
			continue // nobody's entries can be read in it
		}
		if sum := shortSum(left.raw); !slices.Contains(known[1:], sum) {
			rescue := *w
			rescue.edit = left.rescue
			if err := rescue.run(ctx); err != nil {
				return err
			}
		}
		if err := w.dropNext(name); err != nil {
			return err
		}
	}
	return nil
}

// rescue returns an index with the entries of this one that it does not have or
// has older.
func (x *index) rescue(now *index) ([]byte, error) {
	found, err := members(x.raw)
	if err != nil {
		return nil, err
	}
	changed := indexChanges{values: map[string][]byte{}}
	for i, m := range found {
		if repeatedLater(found, i) {
			continue
		}
		if have := now.entry(m.key); have == nil || have.updated < x.entry(m.key).updated {
			changed.set(m.key, x.raw[m.from:m.to])
		}
	}
	return changed.apply(now.raw)
}

// mergeIndexes returns theirs with what ours has changed since base: whatever
// else stands in theirs stays byte for byte. An entry that both have changed is
// theirs.
func mergeIndexes(base, theirs, ours []byte) ([]byte, error) {
	was, err := valuesOf(base)
	if err != nil {
		return nil, err
	}
	have, err := valuesOf(theirs)
	if err != nil {
		return nil, err
	}
	found, err := members(ours)
	if err != nil {
		return nil, err
	}
	changed := indexChanges{values: map[string][]byte{}}
	for i, m := range found {
		value := ours[m.from:m.to]
		if !repeatedLater(found, i) && !sameJSON(value, was[m.key]) && sameJSON(have[m.key], was[m.key]) {
			changed.set(m.key, value)
		}
	}
	return changed.apply(theirs)
}

// valuesOf are the values of a JSON object; of repeated keys the last counts.
func valuesOf(text []byte) (map[string][]byte, error) {
	found, err := members(text)
	if err != nil {
		return nil, err
	}
	values := make(map[string][]byte, len(found))
	for _, m := range found {
		values[m.key] = text[m.from:m.to]
	}
	return values, nil
}

// sameJSON compares two values without the space in them; nil is none.
func sameJSON(a, b []byte) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// indexChanges are new values of entries.
type indexChanges struct {
	values map[string][]byte
	order  []string
}

func (c *indexChanges) set(key string, value []byte) {
	c.values[key] = value
	c.order = append(c.order, key)
}

// apply changes the entries of an index's text and adds those that it does not
// have at its end. Every other byte stays as it is.
func (c *indexChanges) apply(text []byte) ([]byte, error) {
	found, err := members(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	end := 0
	for i, m := range found {
		if value, changed := c.values[m.key]; changed && !repeatedLater(found, i) {
			out.Write(text[end:m.from])
			out.Write(value)
			end = m.to
		}
	}
	if err := c.add(&out, text, found, &end); err != nil {
		return nil, err
	}
	out.Write(text[end:])
	if !json.Valid(out.Bytes()) {
		return nil, errors.New("the merged index would not be JSON")
	}
	return out.Bytes(), nil
}

// add writes the text from end to behind its last entry, and then the entries
// that it does not have, in its style.
func (c *indexChanges) add(out *bytes.Buffer, text []byte, found []member, end *int) error {
	open := bytes.IndexByte(text, '{') + 1
	last, form := open, style{colon: ": "}
	if len(found) > 0 {
		last = found[len(found)-1].to
		form = styleOf(text[open-1:], shifted(found, open-1))
	}
	if *end < last {
		out.Write(text[*end:last])
		*end = last
	}
	for _, key := range c.order {
		if slices.ContainsFunc(found, func(m member) bool { return m.key == key }) {
			continue
		}
		name, err := json.Marshal(key)
		if err != nil {
			return fmt.Errorf("write the key of an entry: %w", err)
		}
		fmt.Fprintf(out, "%s%s%s%s", form.comma, name, form.colon, c.values[key])
		if form.comma == "" {
			form.comma = ", "
		}
	}
	return nil
}

// shifted are members of a text whose first bytes are cut off.
func shifted(found []member, by int) []member {
	all := slices.Clone(found)
	for i := range all {
		all[i].name, all[i].nameEnd, all[i].from, all[i].to = all[i].name-by, all[i].nameEnd-by, all[i].from-by, all[i].to-by
	}
	return all
}
