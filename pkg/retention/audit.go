package retention

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

// The actions of an audit line.
const (
	ActionTrash    = "trash"    // moved into the trash
	ActionUndelete = "undelete" // brought back from it
	ActionPurge    = "purge"    // removed for good
	ActionRestore  = "restore"  // an archived log was put back, or into a file
	ActionShrink   = "shrink"   // rows were removed from a runtime's database
	ActionRequest  = "request"  // a job was asked for, of a server
)

// KindSession is the kind of a log, or of what belongs to one, in the trash and in the
// audit log.
const KindSession = "session"

// Line is one line of the audit log.
type Line struct {
	Time    time.Time `json:"time"`
	Action  string    `json:"action"`
	Kind    string    `json:"kind"` // of what went: "archive", "archive file" (a copy is off-site), "session"
	Path    string    `json:"path"` // where it was
	SHA256  string    `json:"sha256"`
	Bytes   int64     `json:"size_bytes"`
	Archive string    `json:"archive"` // id of the archive that it is, or that has its bytes
	Rule    string    `json:"rule"`    // why it went
	// Agent and Caller are of requests: with what, and who asked.
	Agent  string `json:"agent,omitempty"`
	Caller string `json:"caller_id,omitempty"`
	Hash   string `json:"-"` // of the text of the line, as it was written or read
	Record string `json:"-"` // [Item.Hash] of what goes into the trash; only a witness is told
}

// Sum is the hash of the line as [Audit.Append] writes it.
func (l Line) Sum() string {
	text, err := json.Marshal(l)
	if err != nil {
		return "" // of a time that no line has
	}
	return hashOf(text)
}

// hashOf is the first 12 bytes of the SHA-256 of a text in base64, with "-" and "_": enough
// to tell that it is another one, and short, for the ledger keeps it for ever.
func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Audit is the log of deleted and restored files, and of what was asked of a server.
type Audit struct {
	Path string
	Pins *durable.Pins // hold its directory open during a run; nil for none
	// Witness, if not nil, is told of every line once it is durable. Its error is one
	// of Append: what no witness knows is not deleted.
	Witness func(Line) error
}

// Append adds a line and makes it durable.
func (a Audit) Append(l Line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	if err := a.Pins.AppendLine(a.Path, text, 0o600); err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	if a.Witness == nil {
		return nil
	}
	l.Hash = hashOf(text)
	return a.Witness(l)
}

// maxLine bounds a line of the log, in bytes.
const maxLine = 1 << 20

// Lines returns the log, oldest first. A line that cannot be read, which a killed run
// left, or that is longer than any is, is passed over. A log that is not there, or in
// whose place is something else, is empty; the ledger knows what it had.
func (a Audit) Lines() ([]Line, error) {
	f, err := a.Pins.OpenRegular(a.Path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrNotRegular) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer f.Close()
	var all []Line
	in, whole := bufio.NewReaderSize(f, maxLine), true
	for {
		text, err := in.ReadSlice('\n')
		var l Line
		if err != bufio.ErrBufferFull && whole && json.Unmarshal(text, &l) == nil {
			l.Hash = hashOf(bytes.TrimSuffix(text, []byte("\n")))
			all = append(all, l)
		}
		whole = err != bufio.ErrBufferFull
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil && whole:
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
	}
}

// DeletedArchives are the archives that were deleted on purpose and not brought back,
// by their ids, and when that was last. One with the same bytes may have been made
// since: it has the same id, and its deletion is another line. The purge of the first
// may come after it, and says nothing.
func (a Audit) DeletedArchives() (map[string]time.Time, error) {
	lines, err := a.Lines()
	if err != nil {
		return nil, err
	}
	deleted := map[string]time.Time{}
	for _, l := range lines {
		switch {
		case l.Kind != kindArchive:
		case l.Action == ActionTrash:
			deleted[l.Archive] = l.Time
		case l.Action == ActionUndelete:
			delete(deleted, l.Archive)
		}
	}
	return deleted, nil
}
