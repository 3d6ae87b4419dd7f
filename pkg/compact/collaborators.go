package compact

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/work"
)

// Stage is a step of Execute, as progress reports it.
type Stage string

// The stages of a compaction, in order.
const (
	StageArchive   Stage = "archive"
	StageRemember  Stage = "remember"
	StageSummarize Stage = "summarize"
	StageEmbed     Stage = "embed"
	StageRotate    Stage = "rotate"
)

// Progress is told how far a stage is. total is 0 where it is not known.
type Progress func(ref session.Ref, stage Stage, done, total int64)

// Archiver keeps verified copies of logs.
type Archiver interface {
	// Put copies exactly the snapshot's bytes from src, makes them durable
	// and reads them back. Bytes that are already archived are not copied again.
	Put(ctx context.Context, ref session.Ref, snap session.Snapshot, src io.Reader) (Archived, error)
	// Open reads an archived log from its start, as it was.
	Open(ctx context.Context, a Archived) (io.ReadCloser, error)
	// Lasts reads an archived log to its end and returns nil if that is a copy that
	// stays: something else may be deleted because of it. A cache is none.
	Lasts(ctx context.Context, a Archived) error
	// ModTime is when the archived log was last written; zero if that is not known.
	ModTime(ctx context.Context, a Archived) (time.Time, error)
}

// Record is one piece of a session as it goes to memory: a chunk, a summary, or
// what was done.
// It names neither its session nor its archive, which are the same for all
// records of a run. Memory's own shape adds those and an id; this one exists
// because the compaction knows no store (docs/dev/architecture.md).
type Record struct {
	Category            string
	Importance          float64
	Text                string
	Labelled            int   // bytes at the beginning of Text that the log does not have there: who speaks, where a chunk begins inside a message
	Position            int   // of the chunk in its session; -1 for the summary
	CreatedAt           int64 // epoch milliseconds of the first message in it
	FirstLine, LastLine int
	FirstByte, EndByte  int64
	Abandoned           bool
	Carried             bool   // said in another session, with which this one began
	Model               string // provider and model that wrote it, a summary; "" if none did
	// Action is what was done, in a record of CategoryWork; such a record has no
	// text. Nil in all others.
	Action *work.Action
}

// Remembered counts what memory holds after a run.
type Remembered struct {
	Stored    int // records that are new
	Existing  int // records that an earlier run had stored
	Forgotten int // records that were forgotten on purpose, and are not stored again
}

// after counts for one run that stored twice: what its first pass stored was
// not there before the run.
func (r Remembered) after(first Remembered) Remembered {
	existing := min(r.Existing, first.Existing)
	return Remembered{Stored: r.Stored + r.Existing - existing, Existing: existing, Forgotten: r.Forgotten}
}

// Rememberer stores the records of one session in one transaction.
type Rememberer interface {
	Remember(ctx context.Context, ref session.Ref, from Origin, records iter.Seq2[Record, error]) (Remembered, error)
}

// Origin is an archive that records are of, and the one that has its bytes.
type Origin struct {
	Archived
	In Archived // a longer one that begins with its bytes; without an id, it is itself
	// Live opens the bytes where they are in no archive.
	Live func() (io.ReadCloser, error)
}

// Open opens the bytes of the archive that the records are of, where they are.
func (o Origin) Open(ctx context.Context, a Archiver) (io.ReadCloser, error) {
	if o.ID == "" {
		return o.Live()
	}
	if o.In.ID == "" || o.In.ID == o.ID {
		return a.Open(ctx, o.Archived)
	}
	r, err := a.Open(ctx, o.In)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(r, o.Bytes), r}, nil
}

// Withdrawer takes out of memory what compactions of a session have stored,
// so that a later one stores it again.
type Withdrawer interface {
	// Withdraw takes what came from these archives, and nothing that no compaction
	// stores. With summary it also takes the session's summary, whatever archive
	// that is of. It returns how many records it took out.
	Withdraw(ctx context.Context, ref session.Ref, from []string, summary bool) (int, error)
	// WithdrawAlone takes out the pieces that an undone run alone has made of an
	// archive which other runs have remembered too. It returns how many it took out.
	WithdrawAlone(ctx context.Context, ref session.Ref, made Made) (int, error)
}

// Made are the pieces of one session that its runs make.
type Made struct {
	Own    iter.Seq2[Record, error] // by the undone run
	Beside iter.Seq2[Record, error] // by others, of the same archive
	Others iter.Seq2[Record, error] // by others, of any archive
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
	// Empty says that Text is its head and nothing else: nothing was said that it
	// could tell.
	Empty bool
	Wrote Wrote
	Loss  Loss
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
	Style     session.SummaryStyle // of the runtime's own summaries
	MaxRunes  int                  // code points at most; 0 for as long as it likes
	SplitTurn bool                 // the last turn goes on in what stays
	Offline   bool                 // no model is to be asked
	Secrets   *secrets.Session     // knows which texts show none
}

// Summarizer sees the messages of one session and then sums them up.
type Summarizer interface {
	Add(m *session.Message) error
	Summary(ctx context.Context) (Summary, error)
}
