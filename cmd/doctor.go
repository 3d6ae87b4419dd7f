package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

func newDoctorCommand(a *app) *cobra.Command {
	var fix bool
	var broken error
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is unfinished, damaged, left over or open to others",
		Long: `Look at everything of this tool and at the session stores: runs that were cut
short, old logs that wait, locks, temporary files, the memory, the archives and
their receipts, free space, permissions, the configuration and the clock. It
reads and changes nothing; with --fix it finishes what earlier runs began and
removes what they left half-written, as the next compaction would.

Exit codes: 0 nothing above a note, 1 a warning or a problem, 4 an archive or
the memory is damaged.`,
		Example: `  sessctl doctor
  sessctl doctor --fix
  sessctl doctor --json`,
		Args: usageArgs(cobra.NoArgs),
		// A configuration that cannot be read is a finding, not the end.
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			broken = a.loadConfig(c)
			return errors.Join(a.startProfile(), a.withoutConfig(broken))
		},
		RunE: func(c *cobra.Command, _ []string) error { return runDoctor(c.Context(), a, fix, broken) },
	}
	c.Flags().BoolVar(&fix, "fix", false, "finish what earlier runs began and remove what they left half-written")
	return c
}

// severity says how much a finding matters.
type severity string

// The severities, mildest first.
const (
	severityOK      severity = "ok"
	severityNote    severity = "note"
	severityWarning severity = "warning"
	severityProblem severity = "problem"
)

// finding is one thing that doctor saw.
type finding struct {
	Severity  severity `json:"severity"`
	Check     string   `json:"check"` // what was looked at: config, data, lock, runs, ...
	Path      string   `json:"path"`
	Message   string   `json:"message"`
	Advice    string   `json:"advice"`    // what to do, or ""
	Integrity bool     `json:"integrity"` // an archive or the memory is damaged
}

// doctorDocument is `doctor --json`.
type doctorDocument struct {
	Schema   int       `json:"schema"`
	Fixed    bool      `json:"fixed"` // --fix was given and ran to its end
	Findings []finding `json:"findings"`
}

// checkup is one run of doctor.
type checkup struct {
	*app
	check    string // what is being looked at
	findings []finding

	sessions inventory
	stores   []session.Store
	intents  []compact.Intent
	receipts []compact.Receipt
}

func runDoctor(ctx context.Context, a *app, fix bool, broken error) error {
	d := &checkup{app: a}
	if fix && broken == nil {
		if err := fixUp(ctx, a); err != nil {
			return err
		}
	}
	d.examineConfig(broken)
	for _, step := range []struct {
		check string
		look  func(context.Context) error
	}{
		{"data", d.examineData}, {"lock", d.examineLock}, {"stores", d.examineStores}, {"runs", d.examineRuns},
		{"locks", d.examineRuntimeLocks}, {"archives", d.examineArchives}, {"memory", d.examineMemory},
		{"leftovers", d.examineLeftovers}, {"space", d.examineSpace}, {"clock", d.examineClock},
	} {
		d.check = step.check
		if err := step.look(ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			d.problem("", "cannot be looked at: "+err.Error(), "")
		}
	}
	return finishDoctor(a, doctorDocument{Schema: 1, Fixed: fix && broken == nil, Findings: d.findings})
}

// fixUp does what every state-changing command does first. The memory is only
// opened if an earlier run left something to settle.
func fixUp(ctx context.Context, a *app) error {
	if !exists(a.dataDir()) {
		return nil // no run ever began
	}
	all, _, err := a.listStores(ctx)
	if f := (*failure)(nil); err != nil && !(errors.As(err, &f) && f.code == "no_store") {
		return err
	}
	h, err := a.openVault(ctx, "compact")
	if err != nil {
		return err
	}
	defer h.close()
	if _, err := h.settleVault(ctx, a, all.sessions, settling()); err != nil {
		return err
	}
	return a.closeMemory(ctx)
}

// closeMemory opens the memory and closes it again, so that what a killed run
// left in its log is written into it. A damaged one is looked at later.
func (a *app) closeMemory(ctx context.Context) error {
	if !exists(filepath.Join(a.memoryDir(), "memory.db-wal")) {
		return nil
	}
	store, err := memory.Open(ctx, a.memoryDir(), memory.Options{})
	if errors.Is(err, memory.ErrCorrupt) || errors.Is(err, memory.ErrNewerSchema) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open memory: %w", err)
	}
	return store.Close()
}

func (d *checkup) add(f finding) {
	f.Check = d.check
	d.findings = append(d.findings, f)
}

func (d *checkup) ok(path, format string, args ...any) {
	d.add(finding{Severity: severityOK, Path: path, Message: fmt.Sprintf(format, args...)})
}

func (d *checkup) note(path, message, advice string) {
	d.add(finding{Severity: severityNote, Path: path, Message: message, Advice: advice})
}

func (d *checkup) warn(path, message, advice string) {
	d.add(finding{Severity: severityWarning, Path: path, Message: message, Advice: advice})
}

func (d *checkup) problem(path, message, advice string) {
	d.add(finding{Severity: severityProblem, Path: path, Message: message, Advice: advice})
}

// damaged is a problem of an archive or of the memory.
func (d *checkup) damaged(path, message, advice string) {
	d.add(finding{Severity: severityProblem, Path: path, Message: message, Advice: advice, Integrity: true})
}

func finishDoctor(a *app, doc doctorDocument) error {
	if doc.Findings == nil {
		doc.Findings = []finding{}
	}
	var err error
	if a.global.JSON {
		err = a.printJSON(doc)
	} else {
		err = renderDoctor(a, doc)
	}
	switch {
	case err != nil:
		return err
	case slices.ContainsFunc(doc.Findings, func(f finding) bool { return f.Integrity }):
		return &outcomeError{exit: exitIntegrity}
	case slices.ContainsFunc(doc.Findings, func(f finding) bool { return f.Severity == severityWarning || f.Severity == severityProblem }):
		return &outcomeError{exit: exitFailed}
	}
	return nil
}

// renderDoctor prints a line a finding, and what to do below it.
func renderDoctor(a *app, doc doctorDocument) error {
	var b strings.Builder
	count := map[severity]int{}
	for _, f := range doc.Findings {
		count[f.Severity]++
		text := f.Message
		if f.Path != "" {
			text = f.Path + ": " + text
		}
		fmt.Fprintf(&b, "%-8s %-9s %s\n", f.Severity, f.Check, visible(text))
		if f.Advice != "" {
			fmt.Fprintf(&b, "%18s -> %s\n", "", visible(f.Advice))
		}
	}
	fmt.Fprintf(&b, "%s, %s, %s\n", plural(count[severityProblem], "problem"), plural(count[severityWarning], "warning"), plural(count[severityNote], "note"))
	_, err := fmt.Fprint(a.Out, b.String())
	return err
}
