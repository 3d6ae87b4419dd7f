package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
)

var (
	// ErrUnreachable is returned when the server cannot be reached, or was lost
	// meanwhile. Nothing is known then of what was under way.
	ErrUnreachable = errors.New("the shared memory cannot be reached")
	// ErrBusy is returned when the server is there and cannot now: it has no
	// connection, lock, memory or room left, or is just being stopped or started.
	ErrBusy = errors.New("the server of the shared memory is busy")
	// ErrUnsuitable is returned when the server is not what is needed: an
	// extension is missing or too old. The error says which.
	ErrUnsuitable = errors.New("the server cannot keep a shared memory")
	// ErrNotSetUp is returned when the tables are missing, and whoever connects
	// may not make them.
	ErrNotSetUp = errors.New("the shared memory is not set up")
	// ErrOlderSchema is returned when the tables are those of an earlier sessctl.
	ErrOlderSchema = errors.New("the shared memory was set up by an earlier sessctl")
	// ErrNewerSchema is returned when the tables are those of a newer sessctl.
	ErrNewerSchema = errors.New("the shared memory was set up by a newer sessctl")
	// ErrNotAllowed is returned when the server refuses whoever connects.
	ErrNotAllowed = errors.New("the shared memory refuses this")
	// ErrOtherRole is returned when the name of the host belongs to another role of
	// the server: whoever connects may not push under it.
	ErrOtherRole = fmt.Errorf("%w: the name of this host belongs to another role", ErrNotAllowed)
	// ErrNoRights is returned when whoever connects may not use the tables: its rights
	// were revoked, or it never had them. The error says which the owner grants.
	ErrNoRights = fmt.Errorf("%w: its owner has not granted this role the rights of a host", ErrNotAllowed)
	// ErrTLS is returned when the certificate of the server is not one that is trusted
	// here, or not that of the name by which it was reached.
	ErrTLS = fmt.Errorf("%w: TLS", ErrNotAllowed)
	// ErrOtherMemory is returned, before anything is changed there, when what the
	// server has under the name of a host came from another memory than the one
	// that pushes: another machine has that name too, or this memory was rebuilt.
	ErrOtherMemory = errors.New("the shared memory has records under the name of this host that came from another memory; nothing was changed there")
)

// IsLater reports whether the same may be answered later, and the memory of the host
// answers meanwhile.
func IsLater(err error) bool { return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrBusy) }

// Memory is a memory that hosts share. It may be used by one goroutine at a
// time. All errors that have to do with the server wrap one of this package.
type Memory interface {
	// Push stores records of a host and drops those that it has no more, all of
	// it or nothing. What it returns was looked at after that was committed.
	// ErrOtherMemory is returned if the host is that of another memory.
	Push(ctx context.Context, b Batch) (Receipt, error)
	// Bury forgets records of whatever host, for good. It returns how many were
	// there.
	Bury(ctx context.Context, host string, forgotten []memory.Forgotten) (removed int, err error)
	// Forgotten lists what was buried since a mark ("" is the beginning), and
	// the mark of now.
	Forgotten(ctx context.Context, since string) (list []memory.Forgotten, mark string, err error)
	// Recall answers a question as [memory.Store.Recall] does. Hits say which
	// host remembers them.
	Recall(ctx context.Context, q memory.Query, e embed.QueryEmbedder, m embed.Model) (memory.Result, error)
	// Neighbors returns what stands around a hit in its session.
	Neighbors(ctx context.Context, h memory.Hit, n int) (memory.Neighborhood, error)
	// Count counts what each host has.
	Count(ctx context.Context) (Counts, error)
	// Verify hands out the id and the digest of each record of a host, as the
	// server has them, ordered by id.
	Verify(ctx context.Context, host string, fn func(id string, digest int64) error) error
	// Close ends the connection.
	Close() error
}

// Batch is what one call of Push is about.
type Batch struct {
	Host     string
	Memory   string             // identity of the memory that sends it: the host is that of no other from then on
	TakeOver bool               // even if it was until now
	Model    memory.VectorModel // of the vectors
	Records  []memory.Shared
	Gone     []string // ids of records that the host has no more
}

// Receipt says what the server has of a batch.
type Receipt struct {
	Stored  int      // records that are new or were changed
	Present []string // ids of those that are there as they were sent
	Buried  []string // ids of those that were forgotten, and not stored
	Gone    int      // records that were dropped
	At      int64    // what HostCount.LastPush is from then on, 0 if the engine cannot say
}

// Counts say what a shared memory has.
type Counts struct {
	Server     string      `json:"server"` // its identity, the same for as long as it has its tables
	Hosts      []HostCount `json:"hosts"`  // by name
	Tombstones int         `json:"tombstones"`
	Bytes      int64       `json:"bytes"`  // that it takes there, 0 if that is not known
	Engine     string      `json:"engine"` // and its version
	Words      string      `json:"words"`  // what proposes records by their words
	Unused     string      `json:"unused"` // what the server has for that and is not used, and why; or ""
	Schema     int         `json:"schema"`
	// Stamped says that LastPush and Tombstones are exact, and so tell a server
	// that was set back.
	Stamped bool `json:"-"`
}

// HostCount is what a shared memory has of one host.
type HostCount struct {
	Host     string `json:"host"`
	Records  int    `json:"records"`
	LastPush int64  `json:"last_push"` // epoch milliseconds, 0 if there was none
	Memory   string `json:"memory"`    // identity of the memory whose records they are, "" if that is not known
	// OfOtherRole says that whoever asks may not push under this name.
	OfOtherRole bool `json:"-"`
	Health
}

// Health is how a host is, as it tells itself at the end of a push or of a run. Times are epoch
// milliseconds, 0 if that is not known: not every engine keeps them.
type Health struct {
	Seen     int64  `json:"seen"`     // the end of its last push
	Uploaded int64  `json:"uploaded"` // when a run of it last had all its archives off-site
	Verified int64  `json:"verified"` // when it last read its archives in full, and all were whole; Damaged if not all are
	Archives string `json:"archives"` // where they are off-site, "" if nowhere
}

// Damaged is [Health.Verified] of a host that has found damage in its archives since.
const Damaged = -1

// Host is what is there of one host, nothing if it is not known.
func (c Counts) Host(name string) HostCount {
	for _, h := range c.Hosts {
		if h.Host == name {
			return h
		}
	}
	return HostCount{Host: name}
}

// Of is how many records a host has.
func (c Counts) Of(host string) int { return c.Host(host).Records }

// Records is how many all hosts have.
func (c Counts) Records() (n int) {
	for _, h := range c.Hosts {
		n += h.Records
	}
	return n
}

// Remembered is how many hosts have records: a name stays when they are gone.
func (c Counts) Remembered() (n int) {
	for _, h := range c.Hosts {
		n += min(h.Records, 1)
	}
	return n
}
