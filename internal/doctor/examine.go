package doctor

import (
	"context"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// Configuration is what the command line knows of the configuration.
type Configuration struct {
	Broken   error   // why it cannot be read; the defaults are used then
	Unusable []error // what commands would end with later, when nobody looks
}

// checkup is one run of doctor: what its checks found, and what those that list
// something have listed for the later ones.
type checkup struct {
	*workspace.Run
	*findings

	sessions workspace.Inventory
	stores   []session.Store
	intents  []compact.Intent
	receipts []compact.Receipt
	proofs   *audit.ReceiptAudit // holds the receipts against archives and memory
	offSite  int                 // archives whose file is only on object storage
}

// Examine takes every check in order and returns what was found, for each check
// in the order in which it was seen. What cannot be looked at is a finding; only
// a context that ended is an error.
func Examine(ctx context.Context, run *workspace.Run, config Configuration) ([]Finding, error) {
	d := &checkup{Run: run, findings: &findings{}}
	examineConfig(run, d.findings, config)
	err := d.examine(ctx)
	return d.all, err
}

// examine takes every step of the checkup after the configuration.
func (d *checkup) examine(ctx context.Context) error {
	steps := []struct {
		check string
		look  func(context.Context) error
	}{
		{"data", d.alone(examineData)}, {"lock", d.alone(examineLock)}, {"stores", d.examineStores}, {"runs", d.examineRuns}, {"profiles", d.alone(examineProfiles)},
		{"locks", d.examineRuntimeLocks}, {"archives", d.examineArchives}, {"memory", d.examineMemory}, {"ledger", d.alone(examineLedger)},
		{"shared memory", d.alone(examineShared)}, {"embedder", d.alone(examineEmbedder)}, {"models", d.alone(examineModels)},
		{"hooks", d.alone(examineHooks)}, {"leftovers", d.examineLeftovers}, {"space", d.examineSpace},
		{"heads", d.alone(examineHeads)}, {"events", d.alone(examineEvents)}, {"jobs", d.alone(examineJobs)}, {"clock", d.examineClock},
	}
	bar := workspace.NewProgress(d.Run)
	defer bar.Clear()
	for i, step := range steps {
		d.check = step.check
		bar.Draw("doctor: "+step.check, int64(i), int64(len(steps)))
		if err := step.look(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			d.problem("", "cannot be looked at: "+err.Error(), "")
		}
	}
	return nil
}

// alone is the step of a check that needs nothing of what other checks listed.
func (d *checkup) alone(look func(context.Context, *workspace.Run, *findings) error) func(context.Context) error {
	return func(ctx context.Context) error { return look(ctx, d.Run, d.findings) }
}
