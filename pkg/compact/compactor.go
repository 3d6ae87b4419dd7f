package compact

import (
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Compactor carries plans out. Every field but Summarizer, Withdrawer, Undoing,
// Late, Deleted, Progress and System is required.
type Compactor struct {
	Archiver   Archiver
	Rememberer Rememberer
	Embedder   Embedder
	// Summarizer makes one for a session; nil for no summaries.
	Summarizer func(SummaryOrder) Summarizer
	Journal    Journal
	Receipts   Receipts
	Version    string        // of this program, for receipts
	NewID      func() string // ULIDs
	Now        func() time.Time
	Progress   Progress
	Withdrawer Withdrawer // for undos
	Undoing    string     // id of the receipt that this run undoes
	// Late, if not nil, is told what became of lines that came too late.
	Late func(old session.Rotation, late LateProof)
	// Deleted, if not nil, returns the archives of the logs that were deleted at a
	// path since a time: an undo would bring back an older one without a word.
	Deleted func(path string, since time.Time) ([]Archived, error)
	// System says what of the system is not used; the zero value uses all.
	System durable.System
}

// pins hold the directories open during a run.
func (c *Compactor) pins() *durable.Pins { return c.Journal.Pins }

func (c *Compactor) memories() memories {
	return memories{c.archives(), c.Rememberer, c.Embedder, c.Summarizer}
}

func (c *Compactor) archives() archives { return archives{c.Archiver} }
func (c *Compactor) files() logFiles    { return logFiles{c.pins(), c.System, c.Now} }
func (c *Compactor) changes() changes   { return changes{c.Journal, c.Receipts} }
