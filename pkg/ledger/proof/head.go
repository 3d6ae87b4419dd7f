package proof

import (
	"fmt"

	"github.com/sessctl/sessctl/pkg/ledger"
)

// fits reports what is wrong with a head that is to be that of these pieces.
func fits(h ledger.Head, n nodes) error {
	root, err := n.root(h.N)
	if err != nil {
		return fmt.Errorf("the head of %d entries: %w", h.N, err)
	}
	if root != h.Hash {
		return fmt.Errorf("the head of %d entries is not that of these entries: its hash is %s, theirs %s", h.N, h.Hash, root)
	}
	return nil
}
