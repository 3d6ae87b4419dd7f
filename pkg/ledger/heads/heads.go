package heads

import (
	"context"
	"errors"
	"io/fs"

	"github.com/sessctl/sessctl/pkg/ledger"
)

// mostHead bounds what is read of a head, in bytes.
const mostHead = 64 << 10

// ErrNoAnswer is returned by a place that takes heads and gives none back.
var ErrNoAnswer = errors.New("it gives no head back")

// Place keeps the last head.
type Place interface {
	// Name says where it is, without a password or a token.
	Name() string
	// Last returns the head that it has, as it was signed. It is fs.ErrNotExist if the
	// place has none, and [ErrNoAnswer] if it cannot tell.
	Last(ctx context.Context) ([]byte, error)
	// Keep replaces the head that it has, or puts another beside it.
	Keep(ctx context.Context, head ledger.Head) error
}

// Ledger is what heads are of.
type Ledger interface {
	// Continues returns how many entries a head has, and an error if the ledger does
	// not begin with them.
	Continues(head []byte) (int64, error)
	// GivesUp reports whether a person began the ledger anew after a head.
	GivesUp(head []byte) bool
}

// State says what a place has.
type State string

// The states of a place.
const (
	Same        State = "same"        // the last head
	Behind      State = "behind"      // an earlier one, which the ledger continues
	None        State = "none"        // no head
	Mute        State = "mute"        // it gives no head back
	Unreached   State = "unreached"   // it could not be asked, or took nothing
	Contradicts State = "contradicts" // a head that the ledger does not continue
	GivenUp     State = "given up"    // such a head, after which a person began the ledger anew
)

// Seen is what was seen of a place.
type Seen struct {
	Place  string
	State  State
	Size   int64 // entries of the head that it has
	Reason string
}

// Compare asks a place for its head and holds the ledger of size entries against it.
func Compare(ctx context.Context, l Ledger, size int64, p Place) Seen {
	seen := Seen{Place: p.Name()}
	text, err := p.Last(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		seen.State = None
		return seen
	case errors.Is(err, ErrNoAnswer):
		seen.State, seen.Reason = Mute, err.Error()
		return seen
	case err != nil:
		seen.State, seen.Reason = Unreached, err.Error()
		return seen
	}
	seen.Size, err = l.Continues(text)
	switch {
	case err != nil && l.GivesUp(text):
		seen.State = GivenUp
	case err != nil:
		seen.State, seen.Reason = Contradicts, err.Error()
	case seen.Size < size:
		seen.State = Behind
	default:
		seen.State = Same
	}
	return seen
}

// Publish gives a place the head of the ledger, if it has none, an earlier one that the
// ledger continues, or one that was given up.
func Publish(ctx context.Context, l Ledger, head ledger.Head, p Place) Seen {
	seen := Compare(ctx, l, head.N, p)
	if seen.State == Same || seen.State == Contradicts || seen.State == Unreached {
		return seen
	}
	if err := p.Keep(ctx, head); err != nil {
		seen.State, seen.Reason = Unreached, err.Error()
		return seen
	}
	seen.Size = head.N
	if seen.State != Mute {
		seen.State = Same
	}
	return seen
}
