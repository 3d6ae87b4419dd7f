package outbox

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"
)

// The types of events. docs/events.md has the data of each, with an example.
const (
	NeedsCompaction = "session.needs_compaction"
	Compacted       = "session.compacted"
	RunFinished     = "run.finished"
	RunFailed       = "run.failed"
	ArchiveDamaged  = "archive.damaged"
	DiskLow         = "disk.low"
	PurgeSoon       = "purge.soon"
	GrowthUnusual   = "growth.unusual"

	SessionUnreadable = "session.unreadable"
	StoreMissing      = "store.missing"
	RunOverdue        = "run.overdue"
	MemoryPending     = "memory.pending"
)

// RunStarted is told to targets that measure how long a run takes, such as
// healthchecks.io, and to no other. It is not kept for anybody else.
const RunStarted = "run.started"

// Test is what a person sends to see whether a target can be reached. It never
// is in an outbox.
const Test = "sessctl.test"

// Types returns the types that a target can ask for.
func Types() []string {
	return []string{NeedsCompaction, Compacted, RunFinished, RunFailed, ArchiveDamaged, DiskLow, PurgeSoon, GrowthUnusual, SessionUnreadable, StoreMissing, RunOverdue, MemoryPending}
}

// maxData bounds, in bytes, the data of one event.
const maxData = 256 << 10

// Event is something that happened and that somebody may want to hear of.
type Event struct {
	ID      string          `json:"id"` // a ULID; the same for every delivery
	Type    string          `json:"type"`
	Time    time.Time       `json:"time"`    // when it happened, UTC
	Subject string          `json:"subject"` // what it happened to: runtime/agent, a profile, a path
	Data    json.RawMessage `json:"data"`    // one JSON value
}

// NewID returns an id for an event that is made once and derived from nothing.
func NewID() string { return ulid.Make().String() }

// DeriveID returns the id of an event that can be derived again: the same time,
// to the millisecond, and the same key give the same id.
func DeriveID(at time.Time, key string) string {
	var id ulid.ULID
	_ = id.SetTime(ulid.Timestamp(at)) // fails after the year 10889
	sum := sha256.Sum256([]byte(key))
	copy(id[6:], sum[:])
	return id.String()
}

func (e Event) check() error {
	switch {
	case !isID(e.ID):
		return fmt.Errorf("the id %q is no ULID", e.ID)
	case e.Type == "":
		return errors.New("it has no type")
	case e.Time.IsZero():
		return errors.New("it has no time")
	case !json.Valid(e.Data):
		return errors.New("its data is no JSON")
	case len(e.Data) > maxData:
		return fmt.Errorf("its data has %d bytes, more than %d", len(e.Data), maxData)
	}
	return nil
}

// isID says whether a text is a ULID as it is written into names of files.
func isID(text string) bool {
	id, err := ulid.ParseStrict(text)
	return err == nil && id.String() == text
}

// Document returns the event as receivers get it: a CloudEvents 1.0 envelope in
// structured JSON mode. The source names the machine, as a URI reference. The
// same event and source give the same bytes.
func (e Event) Document(source string) ([]byte, error) {
	return json.Marshal(struct {
		SpecVersion string          `json:"specversion"`
		ID          string          `json:"id"`
		Source      string          `json:"source"`
		Type        string          `json:"type"`
		Subject     string          `json:"subject,omitempty"`
		Time        time.Time       `json:"time"`
		ContentType string          `json:"datacontenttype"`
		Data        json.RawMessage `json:"data"`
	}{"1.0", e.ID, source, e.Type, e.Subject, e.Time.UTC(), "application/json", e.Data})
}
