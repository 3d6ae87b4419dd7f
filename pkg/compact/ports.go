package compact

import (
	"context"
	"io"
	"iter"

	"github.com/sessctl/sessctl/pkg/session"
)

// Archived names a verified copy.
type Archived struct {
	ID     string `json:"id"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"size_bytes"` // of the session
}

// Archiver keeps verified copies of logs.
type Archiver interface {
	// Put copies exactly the snapshot's bytes from src, makes them durable
	// and reads them back. Bytes that are already archived are not copied again.
	Put(ctx context.Context, ref session.Ref, snap session.Snapshot, src io.Reader) (Archived, error)
	// Open reads an archived log from its start, as it was.
	Open(ctx context.Context, a Archived) (io.ReadCloser, error)
}

// Record is one piece of a session as it goes to memory.
type Record struct {
	Category            string
	Importance          float64
	Text                string
	Position            int   // of the chunk in its session; -1 for the summary
	CreatedAt           int64 // epoch milliseconds of the first message in it
	FirstLine, LastLine int
	FirstByte, EndByte  int64
	Abandoned           bool
	Model               string // provider and model that wrote it, a summary; "" if none did
}

// Remembered counts what memory holds after a run.
type Remembered struct {
	Stored   int // records that are new
	Existing int // records that an earlier run had stored
}

// after counts for one run that stored twice: what its first pass stored was
// not there before the run.
func (r Remembered) after(first Remembered) Remembered {
	existing := min(r.Existing, first.Existing)
	return Remembered{Stored: r.Stored + r.Existing - existing, Existing: existing}
}

// Rememberer stores the records of one session in one transaction.
type Rememberer interface {
	Remember(ctx context.Context, ref session.Ref, from Archived, records iter.Seq2[Record, error]) (Remembered, error)
}

// Withdrawer takes out of memory what compactions of a session have stored,
// so that a later one stores it again.
type Withdrawer interface {
	// Withdraw leaves what came from the archives in keep, and all that no
	// compaction stores. It returns how many records it took out.
	Withdraw(ctx context.Context, ref session.Ref, keep []string) (int, error)
}

// Embedder gives vectors to the records of an agent that have none.
type Embedder interface {
	// EmbedPending embeds until nothing is pending; what cannot be embedded
	// stays text and is counted. progress is told of records done and in all.
	EmbedPending(ctx context.Context, ref session.Ref, progress func(done, total int64)) (pending int, err error)
}

// Summary is a finished summary of a session.
type Summary struct {
	Kind    string // "extractive", or the provider of the model that wrote it
	Text    string
	Prose   string   // two to five sentences in a row, for a summary beside the messages
	Lessons []string // what should be done, or never again; one line each
	Wrote   Wrote
	Loss    Loss
}

// Wrote is what a model had to do with a summary. It is zero if none was asked.
type Wrote struct {
	Model string // provider and model
	// Degraded is true if a model was to write the summary and did not, or not
	// of all; Reason says why.
	Degraded bool
	Reason   string
	Calls    int
	Tokens   int64 // of the calls, in and out
}

// Loss counts the paths, addresses, ids, commands and numbers of what was
// summed up.
type Loss struct {
	Identifiers int // all
	Lost        int // that the summary lacks
	Indexed     int // of those, that the index at its end names
}

// SummaryOrder is what a summary is wanted of.
type SummaryOrder struct {
	Ref       session.Ref
	MaxRunes  int  // code points at most; 0 for as long as it likes
	SplitTurn bool // the last turn goes on in what stays
	Offline   bool // no model is to be asked
}

// Summarizer watches the messages of one session go by and then sums them up.
type Summarizer interface {
	Add(m *session.Message) error
	Summary(ctx context.Context) (Summary, error)
}
