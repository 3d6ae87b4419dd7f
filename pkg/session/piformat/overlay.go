package piformat

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// overlayVersion is the only format that takes a compaction from others: older
// ones get new ids when the runtime opens them, so that nothing can name their
// records (docs/dev/formats.md, "pi").
const overlayVersion = 3

// compactionTime is how the runtimes write times.
const compactionTime = "2006-01-02T15:04:05.000Z"

// compactionRecord is a compaction as pi and OpenClaw write it, and as they were
// seen to accept it from others (docs/dev/formats.md, "pi").
type compactionRecord struct {
	Type         string            `json:"type"`
	ID           string            `json:"id"`
	Parent       string            `json:"parentId"`
	Timestamp    string            `json:"timestamp"`
	Summary      string            `json:"summary"`
	FirstKept    string            `json:"firstKeptEntryId"`
	TokensBefore int64             `json:"tokensBefore"`
	Details      compactionDetails `json:"details"`
	FromHook     bool              `json:"fromHook"` // false: the next compaction goes on from these details
}

type compactionDetails struct {
	ReadFiles     []string `json:"readFiles"`
	ModifiedFiles []string `json:"modifiedFiles"`
	SummaryBy     string   `json:"summaryBy"` // the runtimes read the lists only
}

// Overlay returns the compaction record, one line with its line feed, that
// makes a log shorter for its runtime: it hangs on the last entry of the log,
// carries the summary and names the first entry that stays, or itself if none
// does. log must be of exactly the snapshot's bytes.
//
// It returns an error that wraps [session.ErrUnsupported] for a log that is
// not of version 3, does not begin with its header, or has nothing that such
// a record could name.
func Overlay(log io.ReaderAt, request session.ShortenRequest) (string, error) {
	size := request.Snapshot.Size
	if err := takesOverlay(io.NewSectionReader(log, 0, size)); err != nil {
		return "", err
	}
	leaf, err := leafID(log, size)
	if err != nil {
		return "", err
	}
	if leaf == "" || request.Cut.Kept > 0 && request.Cut.KeptID == "" {
		return "", fmt.Errorf("%w: its entries have no ids", session.ErrUnsupported)
	}
	id, err := freeID(io.NewSectionReader(log, 0, size))
	if err != nil {
		return "", err
	}
	before, err := session.LineBreak(log, size)
	if err != nil {
		return "", err
	}
	firstKept := request.Cut.KeptID
	if request.Cut.Kept == 0 {
		firstKept = id // which no entry before it has: none of them stays
	}
	record, err := line(compactionRecord{
		Type: "compaction", ID: id, Parent: leaf, Timestamp: request.Now.UTC().Format(compactionTime),
		Summary: request.Summary.Text, FirstKept: firstKept, TokensBefore: request.Tokens,
		Details: compactionDetails{ReadFiles: notNull(request.Summary.ReadFiles), ModifiedFiles: notNull(request.Summary.ModifiedFiles), SummaryBy: session.SummaryBy},
	})
	return before + record, err
}

// freshHeader is the header of a log as pi writes it.
type freshHeader struct {
	Type      string `json:"type"`
	Version   int    `json:"version"`
	ID        string `json:"id"`
	Timestamp string `json:"timestamp"`
	CWD       string `json:"cwd"`
}

// Fresh returns the log of a session in which nothing has been said, one line
// with its line feed: the header that says who it is and where its agent works.
func Fresh(id, cwd string, now time.Time) (string, error) {
	return line(freshHeader{Type: "session", Version: overlayVersion, ID: id, Timestamp: now.UTC().Format(compactionTime), CWD: cwd})
}

func notNull(list []string) []string { return append([]string{}, list...) }

func takesOverlay(log io.Reader) error {
	h, found, err := ReadHeader(log)
	switch {
	case err != nil:
		return err
	case !found || h.Line != 1 && !h.Slot:
		return fmt.Errorf("%w: it does not begin with a header", session.ErrUnsupported)
	case h.Version != overlayVersion:
		return fmt.Errorf("%w: its format is version %d, and only %d takes a compaction from others; the runtime brings it up to date when it opens it", session.ErrUnsupported, h.Version, overlayVersion)
	}
	return nil
}

// leafID returns the id of the last entry, "" if no entry has one.
func leafID(log io.ReaderAt, size int64) (string, error) {
	var d decoder
	lines := jsonl.NewBackwardReader(log, size, jsonl.Options{})
	for {
		l, err := lines.Prev()
		if errors.Is(err, io.EOF) {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("read the end of the log: %w", err)
		}
		if d.decode(l.Raw) == nil && d.entry.kind != header && len(d.entry.id) > 0 {
			return string(d.entry.id), nil
		}
	}
}

// freeID makes an id of eight hexadecimal digits, as the runtimes do, that
// does not occur in the log.
func freeID(log io.Reader) (string, error) {
	var random [4]byte
	rand.Read(random[:]) // never fails, by its documentation
	id := []byte(hex.EncodeToString(random[:]))
	buffer := make([]byte, 256<<10)
	held := 0
	for {
		n, err := log.Read(buffer[held:])
		if bytes.Contains(buffer[:held+n], id) {
			return hex.EncodeToString(append(random[:], id[:4]...)), nil // longer, and so not in there
		}
		if errors.Is(err, io.EOF) {
			return string(id), nil
		}
		if err != nil {
			return "", fmt.Errorf("read the log: %w", err)
		}
		n += held
		held = copy(buffer, buffer[max(0, n-len(id)):n])
	}
}

// line is one record as text, without the escapes for HTML.
func line(record any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(record); err != nil {
		return "", fmt.Errorf("write the record: %w", err)
	}
	return b.String(), nil
}
