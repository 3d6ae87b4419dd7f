package openclaw

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// ErrIndex is returned, wrapped, when sessions.json cannot be read as an index
// that may be changed. The runtime would take it for an empty one.
var ErrIndex = errors.New("sessions.json cannot be read")

// An index that cannot be read is read again (research/pitfalls.md 63).
const (
	indexTries = 3
	indexWait  = 50 * time.Millisecond
	// maxIndex is the size in bytes above which an index is not read: a
	// hundred times the largest that is known.
	maxIndex = 256 << 20
)

// index is the content of a sessions.json.
type index struct {
	raw     []byte
	entries []*entry // of entries with the same key the last
	info    os.FileInfo
	// unchangeable says why the index may be read but not changed, "" if it
	// may be changed.
	unchangeable string
}

// readIndex reads the index of a directory. The error wraps [ErrIndex]; if
// there is no index, also fs.ErrNotExist.
func (d *directory) readIndex(ctx context.Context) (*index, error) {
	for try := 0; ; try++ {
		x, err := d.readIndexOnce()
		if err == nil {
			return x, nil
		}
		if errors.Is(err, fs.ErrNotExist) || try == indexTries {
			return nil, fmt.Errorf("%w: %w", ErrIndex, err)
		}
		if err := d.pause(ctx, indexWait); err != nil {
			return nil, err
		}
	}
}

func (d *directory) readIndexOnce() (*index, error) {
	f, err := d.open(indexName)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxIndex {
		return nil, fmt.Errorf("it has %d bytes", info.Size())
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxIndex))
	if err != nil {
		return nil, err
	}
	x, err := parseIndex(raw)
	if err != nil {
		return nil, err
	}
	x.info = info
	if durable.Identify(info).Links > 1 {
		x.unchangeable = "sessions.json has several names (hard links)"
	}
	return x, nil
}

// parseIndex reads the text of an index. It looks only at what it needs; that
// the rest is JSON too is checked before anything is changed ([index.strict]).
func parseIndex(raw []byte) (*index, error) {
	x := &index{raw: raw}
	text, marked := bytes.CutPrefix(raw, []byte("\xEF\xBB\xBF"))
	if marked {
		x.unchangeable = "sessions.json starts with a byte order mark, so the runtime cannot read it"
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("it is empty")
	}
	var c jsonl.Cursor
	c.Reset(text)
	if c.Kind() != jsonl.Object {
		return nil, errors.New("it is not one JSON object")
	}
	byKey := make(map[string]int)
	c.EnterObject()
	for c.NextKey() {
		e := &entry{key: string(c.Key())}
		e.read(&c)
		x.add(e, byKey)
	}
	if err := c.End(); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	return x, nil
}

// add takes an entry in. Of several with the same key the runtime sees only
// the last.
func (x *index) add(e *entry, byKey map[string]int) {
	if i, ok := byKey[e.key]; ok {
		x.entries[i] = e
		return
	}
	byKey[e.key] = len(x.entries)
	x.entries = append(x.entries, e)
}

// strict reports whether the whole index is JSON as the runtime reads it.
func (x *index) strict() bool { return json.Valid(x.raw) }

// entry returns the entry of a key, or nil.
func (x *index) entry(key string) *entry {
	for _, e := range x.entries {
		if e.key == key {
			return e
		}
	}
	return nil
}

// changed returns a [*session.BusyError] if the index is not the one that was
// read any more.
func (x *index) changed(d *directory) error {
	info, err := d.stat(indexName)
	if err != nil {
		return fmt.Errorf("look at sessions.json: %w", err)
	}
	if err := session.Observe(d.at(indexName), x.info).Matches(info); err != nil {
		return &session.BusyError{Path: d.at(indexName), Reason: "the runtime has changed it just now"}
	}
	return nil
}
