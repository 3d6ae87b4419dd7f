package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
)

// A ledger is begun anew when a person says so: an old backup of the data directory was
// put back, say, or the ledger is damaged. Its first leaves name the heads that were
// given away of the one before, so that whoever has one of them can see that it was
// given up, by whom it was signed, when and why; and that nobody else's is.

// mostWhy bounds the reason of a leaf, in bytes.
const mostWhy = 400

// BegunAfter returns the first leaves of a ledger that is begun anew: one for each head
// of the one before, in the words in which it was signed; one if there is none.
func BegunAfter(at time.Time, why string, heads ...[]byte) (leaves []Leaf) {
	first := Leaf{Kind: Begun, At: at.UnixMilli(), Why: strings.ToValidUTF8(why[:min(len(why), mostWhy)], "")}
	for _, head := range heads {
		f, sum := first, sha256.Sum256(head)
		f.SHA256 = hex.EncodeToString(sum[:])
		if lines := bytes.SplitN(head, []byte("\n"), 3); len(lines) == 3 {
			f.ID = strings.ToValidUTF8(string(lines[0][:min(len(lines[0]), mostWhy)]), "")
			f.Count, _ = strconv.Atoi(string(lines[1])) // of one that is damaged nobody knows
		}
		leaves = append(leaves, f)
	}
	if len(leaves) == 0 {
		return []Leaf{first}
	}
	return leaves
}

var errEnough = errors.New("enough")

// GivesUp reports whether the ledger was begun anew after a head.
func (l *Log) GivesUp(head []byte) bool {
	sum, found := sha256.Sum256(head), false
	err := l.Leaves(context.Background(), 0, func(_ int64, f Leaf) error {
		found = found || f.Kind == Begun && f.SHA256 == hex.EncodeToString(sum[:])
		if f.Kind != Begun {
			return errEnough
		}
		return nil
	})
	return found && (err == nil || errors.Is(err, errEnough))
}
