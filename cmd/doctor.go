package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/web"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
)

func newDoctorCommand(a *app) *cobra.Command {
	var o audit.DoctorOptions
	var broken error
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check for unfinished runs, damage, leftover files and wrong permissions",
		Long: `Look at everything of this tool and at the session stores: runs that were cut
short, old logs that wait, locks, temporary files, the memory, the archives and
their receipts, free space, permissions, the configuration and the clock. It
reads and changes nothing; with --fix it finishes what earlier runs began and
removes what they left half-written, as the next compaction would.

What no run can finish is set aside, and its session is neither changed nor
deleted until that is decided: --fix tries once more, --give-up ends it and
loses nothing. What it had put aside is archived and remembered, no log is
touched, and its entry is kept.

Exit codes: 0 no warnings and no problems, 1 a warning or a problem, 4 an archive
or the memory is damaged.`,
		Example: `  sessctl doctor
  sessctl doctor --fix
  sessctl doctor --give-up 01KD3V
  sessctl doctor --json`,
		Args: usageArgs(cobra.NoArgs),
		// A configuration that cannot be read is a finding, not the end.
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if err := checkNames(c); err != nil {
				return err
			}
			if broken = a.configured(c); broken == nil {
				return a.startProfile()
			}
			return errors.Join(a.startProfile(), a.useDefaults(c))
		},
		RunE: func(c *cobra.Command, _ []string) error { return runDoctor(c.Context(), a, o, broken) },
	}
	c.Flags().BoolVar(&o.Fix, "fix", false, "finish what earlier runs began and remove what they left half-written")
	c.Flags().BoolVar(&o.TrustClock, "trust-clock", false, "the clock is right, and what was recorded in the future is not: clean and prune go on")
	c.Flags().StringVar(&o.GiveUp, "give-up", "", "end the unfinished run with this `id`, which --fix cannot finish")
	return c
}

// checkup is one run of doctor.
type checkup struct {
	*app
	check    string // what is being looked at
	findings []audit.Finding

	sessions workspace.Inventory
	stores   []session.Store
	intents  []compact.Intent
	receipts []compact.Receipt
	proofs   *audit.ReceiptAudit // holds the receipts against archives and memory
	offSite  int                 // archives whose file is only on object storage
}

func runDoctor(ctx context.Context, a *app, o audit.DoctorOptions, broken error) error {
	d := &checkup{app: a}
	fixed := o.Fix && broken == nil && o.GiveUp == ""
	var given *audit.GivenUp
	switch {
	case o.GiveUp != "" && broken != nil:
		return broken
	case o.GiveUp != "":
		var err error
		if given, err = removal.GiveUp(ctx, a.Run, o.GiveUp); err != nil {
			return err
		}
	case fixed:
		if err := audit.FixUp(ctx, a.Run); err != nil {
			return err
		}
	}
	if o.TrustClock {
		if err := audit.TrustClock(ctx, a.Run); err != nil {
			return err
		}
	}
	d.examineConfig(broken)
	if err := d.examine(ctx); err != nil {
		return err
	}
	return finishDoctor(a, audit.DoctorDocument{Schema: 1, Fixed: fixed, Findings: d.findings, GivenUp: given})
}

// examine takes every step of the checkup. Only a context that ended is an
// error.
func (d *checkup) examine(ctx context.Context) error {
	steps := []struct {
		check string
		look  func(context.Context) error
	}{
		{"data", d.examineData}, {"lock", d.examineLock}, {"stores", d.examineStores}, {"runs", d.examineRuns},
		{"locks", d.examineRuntimeLocks}, {"archives", d.examineArchives}, {"memory", d.examineMemory}, {"shared memory", d.examineShared}, {"embedder", d.examineEmbedder},
		{"models", d.examineModels}, {"hooks", d.examineHooks}, {"leftovers", d.examineLeftovers}, {"space", d.examineSpace}, {"events", d.examineEvents}, {"clock", d.examineClock},
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

func (d *checkup) add(f audit.Finding) {
	f.Check = d.check
	d.findings = append(d.findings, f)
}

func (d *checkup) ok(path, format string, args ...any) {
	d.add(audit.Finding{Severity: audit.SeverityOK, Path: path, Message: fmt.Sprintf(format, args...)})
}

func (d *checkup) note(path, message, advice string) {
	d.add(audit.Finding{Severity: audit.SeverityNote, Path: path, Message: message, Advice: advice})
}

func (d *checkup) warn(path, message, advice string) {
	d.add(audit.Finding{Severity: audit.SeverityWarning, Path: path, Message: message, Advice: advice})
}

func (d *checkup) problem(path, message, advice string) {
	d.add(audit.Finding{Severity: audit.SeverityProblem, Path: path, Message: message, Advice: advice})
}

// damaged is a problem of an archive or of the memory.
func (d *checkup) damaged(path, message, advice string) {
	d.add(audit.Finding{Severity: audit.SeverityProblem, Path: path, Message: message, Advice: advice, Integrity: true})
}

func finishDoctor(a *app, doc audit.DoctorDocument) error {
	if doc.Findings == nil {
		doc.Findings = []audit.Finding{}
	}
	var err error
	if a.JSON {
		err = a.printJSON(doc)
	} else {
		err = renderDoctor(a, doc)
	}
	switch {
	case err != nil:
		return err
	case slices.ContainsFunc(doc.Findings, func(f audit.Finding) bool { return f.Integrity }):
		return &failure.Outcome{Exit: failure.ExitIntegrity}
	case slices.ContainsFunc(doc.Findings, audit.Finding.Matters):
		return &failure.Outcome{Exit: failure.ExitFailed}
	}
	return nil
}

// renderDoctor prints a line a finding, and what to do below it; with --quiet
// only what makes the exit code.
func renderDoctor(a *app, doc audit.DoctorDocument) error {
	var b strings.Builder
	count := map[audit.Severity]int{}
	b.WriteString(removal.Describe(doc.GivenUp))
	for _, f := range doc.Findings {
		count[f.Severity]++
		if a.Quiet && !f.Matters() {
			continue
		}
		text := f.Message
		if f.Path != "" && !strings.HasPrefix(text, f.Path+":") {
			text = f.Path + ": " + text
		}
		fmt.Fprintf(&b, "%-8s %-9s %s\n", f.Severity, f.Check, wording.Visible(text))
		if f.Advice != "" {
			fmt.Fprintf(&b, "%18s -> %s\n", "", wording.Visible(f.Advice))
		}
	}
	if !a.Quiet || slices.ContainsFunc(doc.Findings, audit.Finding.Matters) {
		fmt.Fprintf(&b, "%s, %s, %s\n", wording.Plural(count[audit.SeverityProblem], "problem"), wording.Plural(count[audit.SeverityWarning], "warning"), wording.Plural(count[audit.SeverityNote], "note"))
	}
	_, err := fmt.Fprint(a.Out, b.String())
	return err
}

// examineConfig reports a configuration that cannot be used, and one that
// others can change.
func (d *checkup) examineConfig(broken error) {
	d.check = "config"
	path := workspace.ConfigFile(&d.app.Run.Settings)
	if broken != nil {
		const without = "; the checks below use the variables and the defaults"
		advice := "docs/configuration.md lists the keys" + without
		if f := (*failure.Error)(nil); errors.As(broken, &f) && f.Hint != "" {
			advice = f.Hint + without
		}
		d.problem(path, broken.Error(), advice)
		return
	}
	if unusable := unusableSettings(d.app); len(unusable) > 0 {
		for _, err := range unusable {
			d.unusableSetting(path, err)
		}
		return
	}
	meant := workspace.Mistyped(os.Environ())
	for _, name := range slices.Sorted(maps.Keys(meant)) {
		d.warn("", "the variable "+name+" belongs to no setting and has no effect", "did you mean "+meant[name]+"? docs/configuration.md lists them")
	}
	info, err := os.Stat(path)
	if err != nil {
		d.ok("", "no configuration file; defaults and variables are used")
		return
	}
	if audit.WritableByOthers(info) {
		d.warn(path, "others can change it", "chmod go-w it")
		return
	}
	d.ok(path, "the configuration is read")
}

// unusableSettings are the errors that commands would end with later, when nobody
// looks: one for each profile, and for the settings of the monitor and the server.
func unusableSettings(a *app) (all []error) {
	for _, name := range steps.ProfileNames(&a.Run.Settings) {
		_, err := planProfile(a, name, time.Time{})
		all = append(all, err)
	}
	_, monitorErr := workspace.MonitorSettings(&a.Run.Settings)
	_, schedulesErr := serveSchedules(a)
	_, zoneErr := web.ServeZone(a.Run)
	all = append(all, monitorErr, schedulesErr, zoneErr)
	told := map[string]bool{} // a schedule repeats what is wrong with its profile
	return slices.DeleteFunc(all, func(err error) bool {
		if err == nil || told[err.Error()] {
			return true
		}
		told[err.Error()] = true
		return false
	})
}

func (d *checkup) unusableSetting(path string, err error) {
	advice := "docs/configuration.md lists the keys"
	if f := (*failure.Error)(nil); errors.As(err, &f) && f.Hint != "" {
		advice = f.Hint
	}
	d.problem(path, err.Error(), advice)
}

// examineRuns reports the changes that earlier runs began, and what settling
// them will do.
func (d *checkup) examineRuns(context.Context) error {
	journal := d.Journal()
	intents, unreadable, err := journal.Examine()
	if err != nil {
		return err
	}
	for _, u := range unreadable {
		id := strings.TrimSuffix(filepath.Base(u.Path), ".json")
		d.problem(u.Path, u.Err.Error()+"; until it is decided, nothing is deleted", "update sessctl, if a newer one has made it; "+removal.AdviseGiveUp(id))
	}
	d.intents = intents
	waiting := map[string]bool{}
	for _, in := range intents {
		waiting[in.Rotation.Kept] = true
		d.examineRun(journal.Path(in.ID), in)
	}
	given, err := journal.GivenUp().List()
	if err != nil {
		return err
	}
	for _, s := range d.sessions.Sessions {
		if !strings.Contains(s.Path, ".rotated.") || waiting[s.Path] {
			continue
		}
		if slices.ContainsFunc(given, func(in compact.Intent) bool { return in.Names(s.Path) }) {
			d.note(s.Path, "an old log; the change that put it aside was given up", "sessctl archive --session "+s.ID+" makes sure that its bytes are in the archive; remove it when you do not need it")
		} else {
			d.warn(s.Path, "a log that was rotated away, and no run remembers it", "sessctl archive --session "+s.ID+" makes sure that its bytes are in the archive")
		}
	}
	if len(intents)+len(unreadable) == 0 {
		d.ok(journal.Dir, "no run was left unfinished")
	}
	return nil
}

// examineRun reports one change.
func (d *checkup) examineRun(path string, in compact.Intent) {
	r := in.Rotation
	what := fmt.Sprintf("%s, begun %s ago", in, wording.Age(d.Now().Sub(r.At)))
	if _, ok := workspace.StoresByRoot(d.stores)(r.Runtime, r.Store); !ok && r.Store != "" {
		d.warn(path, what+": its store "+r.Store+" is not found", "name it with --store "+r.Runtime+"="+r.Store+"; if it is gone for good: "+removal.AdviseGiveUp(in.ID))
		return
	}
	if note, stuck := d.Journal().Note(in.ID); stuck {
		d.problem(path, what+", could not be finished: "+note.Reason+"; until it is decided, its session is neither changed nor deleted", d.adviseStuck(in))
		return
	}
	if !in.Switched {
		d.warn(path, what+", is not finished: settling finishes it, or drops it if the session has gone on", audit.AdviseFix)
		return
	}
	info, err := os.Lstat(r.Kept)
	switch {
	case r.Kept == "" || os.IsNotExist(err):
		d.note(path, what+", is done: settling drops the entry", audit.AdviseFix)
	case err != nil:
		d.warn(r.Kept, err.Error(), "")
	case info.Size() != in.Settled:
		d.warn(r.Kept, fmt.Sprintf("%s: %d bytes reached the old log since: settling archives and remembers them", what, info.Size()-in.Settled), audit.AdviseFix)
	case in.Late != nil && in.Late.Proof.Waiting:
		d.note(r.Kept, fmt.Sprintf("%s: what was added to the old log since is archived and remembered, and waits for the session that follows to begin and to be idle: %s", what, in.Late.Proof.Reason), "")
	default:
		d.note(r.Kept, what+": the old log is kept until nobody can write it any more", "")
	}
}

// examineRuntimeLocks reports the runtimes' own locks: whose they are, and
// whether they still count.
func (d *checkup) examineRuntimeLocks(ctx context.Context) error {
	seen := 0
	for _, store := range d.stores {
		lister := store.Capabilities().Locks
		if lister == nil {
			continue
		}
		locks, err := lister.Locks(ctx, d.Now())
		if err != nil {
			return err
		}
		for _, lock := range locks {
			d.examineRuntimeLock(lock)
		}
		seen += len(locks)
	}
	if seen == 0 {
		d.ok("", "no runtime holds a lock")
	}
	return nil
}

func (d *checkup) examineRuntimeLock(l session.RuntimeLock) {
	age := wording.Age(d.Now().Sub(l.Since))
	const remove = "the runtime removes it by itself"
	switch {
	case !l.Stale && l.Process == 0:
		d.note(l.Path, fmt.Sprintf("a lock that does not say whose it is, %s old: the session is taken for busy", age), "")
	case !l.Stale:
		d.note(l.Path, fmt.Sprintf("process %d holds it since %s: the session is busy", l.Process, age), "")
	case l.Process == 0:
		d.note(l.Path, fmt.Sprintf("a lock that does not say whose it is, %s old: it does not count", age), remove)
	case l.Alive:
		d.note(l.Path, fmt.Sprintf("process %d has had it for %s, longer than the runtime itself allows: it does not count", l.Process, age), remove)
	default:
		d.note(l.Path, fmt.Sprintf("left by process %d, which is gone, %s ago: it does not count", l.Process, age), remove)
	}
}

// examineLeftovers reports temporary files of killed runs.
func (d *checkup) examineLeftovers(ctx context.Context) error {
	places, err := d.placesOfLeftovers(ctx)
	if err != nil {
		return err
	}
	found := 0
	for _, place := range places {
		paths, err := durable.Leftovers(place.Dir, 0)
		if err != nil {
			d.warn(place.Dir, err.Error(), "")
			continue
		}
		found += len(paths)
		for _, path := range paths {
			d.note(path, "half-written by a run that was cut off", place.Advice)
		}
	}
	if found == 0 {
		d.ok("", "no temporary files")
	}
	return nil
}
