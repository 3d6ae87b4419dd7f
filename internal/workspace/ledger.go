package workspace

import (
	"github.com/sessctl/sessctl/pkg/ledger"
)

// LedgerOf is the ledger of a data directory.
func LedgerOf(run *Run) *ledger.Log {
	return ledger.Open(run.LedgerDir(), run.Pins)
}
