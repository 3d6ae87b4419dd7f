package workspace

import (
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/ledger"
)

// LedgerOf is the ledger of a data directory.
func LedgerOf(run *Run) *ledger.Log {
	return ledger.Open(filepath.Join(run.DataDir(), "ledger"), run.Pins)
}
