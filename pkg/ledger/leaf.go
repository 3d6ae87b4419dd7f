package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// Kind says what happened.
type Kind string

// The kinds of leaves. What is seen for the first time, but was there before the ledger
// or was made without it, is adopted: nobody has seen it made.
const (
	Made       Kind = "made"       // an archive was made and read back
	Adopted    Kind = "adopted"    // an archive, a receipt or a pin was found that the ledger did not know
	Verified   Kind = "verified"   // archives were read in full: how many, and a hash over them
	Superseded Kind = "superseded" // an archive is read in the file of a longer one, which was made then
	Removed    Kind = "removed"    // an archive, a session or a part of one is about to be deleted
	Purged     Kind = "purged"     // it is about to leave the trash for good
	Returned   Kind = "returned"   // it came back from the trash
	Restored   Kind = "restored"   // an archive was written to the place of a session, or to a file
	Switched   Kind = "switched"   // a session was started fresh, shortened or annotated
	Undone     Kind = "undone"     // that was undone
	Remembered Kind = "remembered" // a session was archived and remembered, and left as it is
	Forgotten  Kind = "forgotten"  // records were forgotten
	Pinned     Kind = "pinned"     // a session is kept from deletion
	Unpinned   Kind = "unpinned"   // it is about to be let go
	Redacted   Kind = "redacted"   // secrets that older rules had left in the memory were redacted
	Rebuilt    Kind = "rebuilt"    // the memory was made again from the archives
	Settings   Kind = "settings"   // the rules of what is deleted are others than before
	Recorded   Kind = "recorded"   // what waits in the trash gets another record
	Clock      Kind = "clock"      // a person said that the clock is right
	Begun      Kind = "begun"      // a person began this ledger anew, after the head that it names
)

// Leaf is one fact. Which fields a kind has follows from what it is about; those that
// it has not are empty and are not written. Names and figures are short: there may be a
// million leaves, and each of them is kept for ever.
type Leaf struct {
	Version int    `json:"v"` // 1
	Kind    Kind   `json:"kind"`
	At      int64  `json:"at"`           // when it happened, in milliseconds since 1970
	ID      string `json:"id,omitempty"` // of the archive, of the receipt, or of the ledger before
	Runtime string `json:"runtime,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`  // of the session, of the receipt's file
	SHA256  string `json:"sha256,omitempty"` // of the same bytes, of the rules, of the head; in hexadecimal
	// Archive is the id of the one that is meant besides: whose bytes this one begins
	// with, which took its place, or which the receipt is about.
	Archive string `json:"archive,omitempty"`
	What    string `json:"what,omitempty"`  // what kind of thing it is, where that is not said
	Count   int    `json:"count,omitempty"` // of records, of archives, of the leaves of a head
	// Ranges are the bytes of the archive that were forgotten, from the first to before
	// the last: "0-1200,5000-6400". What they said is not known here.
	Ranges string `json:"ranges,omitempty"`
	Why    string `json:"why,omitempty"` // the command and the rule that decided it, the rules, or a person's reason
	// Line is the hash of the line of the audit log that the leaf is of, and Record that
	// of the record of what waits in the trash: 12 bytes of SHA-256 in base64.
	Line   string `json:"line,omitempty"`
	Record string `json:"record,omitempty"`
}

// When is the time at which it happened.
func (f Leaf) When() time.Time { return time.UnixMilli(f.At).UTC() }

// mostBytes bounds a leaf: it is a fact, not a text.
const mostBytes = 4 << 10

// ErrNewerLeaf is returned for a leaf that a later version wrote.
var ErrNewerLeaf = errors.New("a leaf of a newer version")

// Encode returns the leaf as it is kept and hashed: canonical JSON without a line feed,
// the fields in their order, no blanks.
func (f Leaf) Encode() ([]byte, error) {
	f.Version = 1
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(f); err != nil {
		return nil, fmt.Errorf("encode a leaf: %w", err)
	}
	text := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	if len(text) > mostBytes {
		return nil, fmt.Errorf("encode a leaf: it has %d bytes, %d are the most", len(text), mostBytes)
	}
	return text, nil
}

// Parse reads a leaf that [Leaf.Encode] wrote. Anything else, the same fields in another
// order too, is an error.
func Parse(text []byte) (Leaf, error) {
	var f Leaf
	if err := json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("no leaf: %w", err)
	}
	if f.Version > 1 {
		return f, fmt.Errorf("%w: %d", ErrNewerLeaf, f.Version)
	}
	again, err := f.Encode()
	if err != nil {
		return f, err
	}
	if !bytes.Equal(again, text) {
		return f, errors.New("no leaf: it is not in the canonical form")
	}
	return f, nil
}

// HashOf is the hash of a leaf's text in the tree: SHA-256 of a zero byte and the text.
func HashOf(text []byte) tlog.Hash { return tlog.RecordHash(text) }
