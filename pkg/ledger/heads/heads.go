package heads

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/sessctl/sessctl/pkg/ledger"
	"golang.org/x/mod/sumdb/tlog"
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
	TreeAt(size int64) (tlog.Tree, error)
	VerifierKey() (string, error)
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
	seen.State = Contradicts
	seen.Size, seen.Reason = against(l, size, text)
	switch {
	case seen.Reason != "":
	case seen.Size < size:
		seen.State = Behind
	default:
		seen.State = Same
	}
	return seen
}

// against is how many entries a head has, and why the ledger does not continue it, ""
// if it does.
func against(l Ledger, size int64, text []byte) (int64, string) {
	key, err := l.VerifierKey()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, "it has a head, and here is no ledger with a key: the history is gone"
	}
	if err != nil {
		return 0, err.Error()
	}
	head, err := ledger.ParseHead(text, key)
	if err != nil {
		return 0, "its head is not signed with the key of the ledger that is here: this is another history"
	}
	if head.N > size {
		return head.N, fmt.Sprintf("its head is of %d entries, and here are %d: the history was put back", head.N, size)
	}
	tree, err := l.TreeAt(head.N)
	if err != nil {
		return head.N, err.Error()
	}
	if tree.Hash != head.Hash {
		return head.N, fmt.Sprintf("the first %d entries here are not those of its head: the history was rewritten", head.N)
	}
	return head.N, ""
}

// Publish gives a place the head of the ledger, if it has none or an earlier one that
// the ledger continues.
func Publish(ctx context.Context, l Ledger, head ledger.Head, p Place) Seen {
	seen := Compare(ctx, l, head.N, p)
	if seen.State != None && seen.State != Behind && seen.State != Mute {
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
