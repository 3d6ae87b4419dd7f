package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

// countKey is the member of metadata.json that counts the messages of the log
// (S7.4).
const countKey = "messageCount"

// recorded is what metadata.json says of the log's length: what a rotation
// resets, and its reversal brings back. nil if it does not say.
func recorded(d *directory.Directory) ([]session.IndexEntry, error) {
	raw, _, err := readSmall(d, metadataName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read metadata: %w", err)
	}
	start, end, ok := memberOf(raw, countKey)
	if !ok {
		return nil, nil
	}
	return []session.IndexEntry{{Key: metadataName, Reset: `{"` + countKey + `":` + string(raw[start:end]) + `}`}}, nil
}

// Record implements [session.Recorder]: metadata.json counts the messages of
// the log again, and nothing else in it changes.
func (s *Store) Record(ctx context.Context, live string, before []session.IndexEntry) error {
	d, _, err := s.openLive(live)
	if err != nil {
		return err
	}
	defer d.Close()
	for _, entry := range before {
		start, end, ok := memberOf([]byte(entry.Reset), countKey)
		if ok && entry.Key == metadataName {
			return setCount(d, entry.Reset[start:end])
		}
	}
	log, _, err := d.OpenLog(logName)
	if err != nil {
		return err
	}
	defer log.Close()
	scan, err := s.Scan(ctx, log, session.ScanOptions{}, func(*session.Message) error { return nil })
	if err != nil {
		return fmt.Errorf("count the messages: %w", err)
	}
	return setCount(d, strconv.Itoa(scan.Records))
}

// setCount sets messageCount in metadata.json. Every other byte of it stays,
// and one that cannot be read stays whole: the log is what counts.
func setCount(d *directory.Directory, count string) error {
	raw, info, err := readSmall(d, metadataName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read metadata: %w", err)
	}
	start, end, ok := memberOf(raw, countKey)
	if !ok || string(raw[start:end]) == count {
		return nil
	}
	return durable.ReplaceFile(d.At(metadataName), info.Mode().Perm(), func(w io.Writer) error {
		_, err := w.Write(slices.Concat(raw[:start], []byte(count), raw[end:]))
		return err
	})
}

// memberOf finds the value of a member of the object that raw is.
func memberOf(raw []byte, name string) (start, end int64, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') || !json.Valid(raw) {
		return 0, 0, false
	}
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return 0, 0, false
		}
		if key == name { // of several the last counts, as for the runtime
			end = dec.InputOffset()
			start, ok = end-int64(len(value)), true
		}
	}
	return start, end, ok
}
