package workspace

import (
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/ledger"
)

func (run *Run) Ledger() *ledger.Log {
	return ledger.Open(filepath.Join(run.DataDir(), "ledger"), run.Pins)
}
