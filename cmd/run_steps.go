package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/retention"
)

// stepKind is a command as a step of a profile.
type stepKind struct {
	name string
	// flags are those of each command that the configuration of the step makes,
	// one for each agent that it names. read says that archives are to be read in
	// full.
	flags func(c profileConfig, read bool) []stepFlags
	// check refuses flags that the command would refuse.
	check func(a *app, flags stepFlags) error
	// run carries the command out, or with dryRun makes and prints its plan.
	run func(ctx context.Context, a *app, flags stepFlags, dryRun bool) error
	// tell sums up the document of the command.
	tell func(document any) stepResult
}

// section is the key of the step's options below that of the profile.
func (k stepKind) section() string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(k.name)
}

// stepResult is what a step has done.
type stepResult struct {
	changed  int
	summary  string
	problems []string
	damage   []problem // that a verification has found
}

// stepKinds are all steps that a profile can have.
func stepKinds() []stepKind {
	return []stepKind{
		newStepKind(operate.StepCompact, parseCompact, runCompact, tellCompact,
			func(c profileConfig, _ bool) []stepFlags { return perAgent(c.Compact.Agents, c.Compact.flags) }),
		newStepKind(operate.StepArchive, parseArchive, runArchive, tellArchive,
			func(c profileConfig, _ bool) []stepFlags { return perAgent(c.Archive.Agents, c.Archive.flags) }),
		newStepKind(operate.StepExtractFacts, parseFacts, runExtractFacts, tellFacts,
			func(c profileConfig, _ bool) []stepFlags {
				return perAgent(c.ExtractFacts.Agents, c.ExtractFacts.flags)
			}),
		newStepKind(operate.StepArchiveVerify, parseVerify, runArchiveVerify, tellVerify,
			func(_ profileConfig, read bool) []stepFlags { return []stepFlags{stepFlags{}.on("--quick", !read)} }),
		newStepKind(operate.StepArchiveUpload, parseUpload, runArchiveUpload, tellUpload,
			func(profileConfig, bool) []stepFlags { return []stepFlags{{}} }),
		newStepKind(operate.StepClean, parseClean, runClean, tellClean,
			func(c profileConfig, _ bool) []stepFlags { return perAgent(c.Clean.Agents, c.Clean.flags) }),
		newStepKind(operate.StepArchivePrune, parsePrune, runPrune, tellPrune,
			func(c profileConfig, _ bool) []stepFlags {
				return perAgent(c.ArchivePrune.Agents, c.ArchivePrune.flags)
			}),
		newStepKind(operate.StepPush, parsePush, runPush, tellPush,
			func(profileConfig, bool) []stepFlags { return []stepFlags{{}} }),
	}
}

func stepKindOf(name string) (stepKind, bool) {
	kinds := stepKinds()
	i := slices.IndexFunc(kinds, func(k stepKind) bool { return k.name == name })
	if i < 0 {
		return stepKind{}, false
	}
	return kinds[i], true
}

func perAgent(named []string, flags func(agent string) stepFlags) (all []stepFlags) {
	for _, agent := range agents(named) {
		all = append(all, flags(agent))
	}
	return all
}

// newStepKind makes a step of a command: parse reads its flags, run carries it
// out, tell sums up its document, of type D.
func newStepKind[O, D any](name string, parse func(*app, stepFlags) (O, error), run func(context.Context, *app, O) error,
	tell func(D) stepResult, flags func(profileConfig, bool) []stepFlags) stepKind {
	return stepKind{
		name: name, flags: flags,
		check: func(a *app, flags stepFlags) error {
			_, err := parse(a, flags)
			return err
		},
		run: func(ctx context.Context, a *app, flags stepFlags, dryRun bool) error {
			options, err := parse(a, slices.Clone(flags).on("--dry-run", dryRun))
			if err != nil {
				return err
			}
			return run(ctx, a, options)
		},
		tell: func(document any) stepResult {
			d, ok := document.(D)
			if !ok {
				return stepResult{} // it failed before there was one
			}
			return tell(d)
		},
	}
}

func parseCompact(a *app, flags stepFlags) (o compactOptions, err error) {
	fs, err := a.optionsOf(o.addFlags, flags)
	if err != nil {
		return o, err
	}
	o.thresholdAsked, o.keepAsked = fs.Changed("threshold"), fs.Changed("keep-recent-tokens")
	return o, o.validate()
}

func parseArchive(a *app, flags stepFlags) (o archiveOptions, err error) {
	_, err = a.optionsOf(o.addFlags, flags)
	return o, err
}

func parseFacts(a *app, flags stepFlags) (o factsOptions, err error) {
	if _, err = a.optionsOf(o.addFlags, flags); err != nil {
		return o, err
	}
	return o, o.validate()
}

// parseVerify takes --dry-run for a plan: the command has no such flag, because
// it changes nothing.
func parseVerify(a *app, flags stepFlags) (o verifyOptions, err error) {
	o.plan = slices.Contains(flags, "--dry-run")
	flags = slices.DeleteFunc(slices.Clone(flags), func(flag string) bool { return flag == "--dry-run" })
	_, err = a.optionsOf(o.addFlags, flags)
	return o, err
}

func parseClean(a *app, flags stepFlags) (o cleanOptions, err error) {
	if _, err = a.optionsOf(o.addFlags, flags); err != nil {
		return o, err
	}
	return o, o.validate()
}

func parseUpload(a *app, flags stepFlags) (o uploadOptions, err error) {
	if _, err = a.optionsOf(o.addFlags, flags); err == nil && a.config.Archive.Remote == "" {
		err = errNoRemote()
	}
	return o, err
}

func parsePrune(a *app, flags stepFlags) (o pruneOptions, err error) {
	if _, err = a.optionsOf(o.addFlags, flags); err != nil {
		return o, err
	}
	if err = o.validate(); err == nil && o.localKeep > 0 && a.config.Archive.Remote == "" {
		err = errNoRemote()
	}
	return o, err
}

func parsePush(a *app, flags stepFlags) (o pushOptions, err error) {
	if _, err = a.optionsOf(o.addFlags, flags); err == nil && !a.shares() {
		err = errNoShared()
	}
	return o, err
}

// say joins what there is to say of a step.
func (t *tally) say(nothing string) string {
	if t.total() == 0 {
		return nothing
	}
	return t.String()
}

func tellCompact(doc compactDocument) (r stepResult) {
	var t tally
	var tokens int64
	for _, s := range doc.Sessions {
		switch idle := idleReason(s); {
		case idle != "":
			t.add(idle, 1)
			continue
		case s.Outcome == compact.Partial:
			r.changed++
			t.add("archived and remembered", 1)
			continue
		case s.Outcome == compact.Compacted:
			tokens += max(s.TokensBefore-s.TokensAfter, 0)
			r.changed++
		case s.Outcome == compact.Failed:
			r.problems = append(r.problems, problemOf(s.Agent, s.Session, s.Reason))
		}
		t.add(string(s.Outcome), 1)
	}
	r.summary = t.say("no sessions")
	if tokens > 0 {
		r.summary += fmt.Sprintf("; %s tokens less", formatCount(tokens))
	}
	return r
}

// problemOf says what is wrong with a session.
func problemOf(agent, session, reason string) string {
	return strings.TrimSpace(agent+" "+session) + ": " + reason
}

func tellArchive(doc archiveDocument) (r stepResult) {
	var t tally
	for _, row := range doc.Archives {
		switch {
		case row.Outcome == "failed":
			r.problems = append(r.problems, problemOf(row.Agent, row.Session, row.Reason))
			fallthrough
		case row.Outcome != "archived":
			t.add(row.Outcome, 1)
		case row.Unchanged:
			t.add("unchanged", 1)
		case row.Remembered:
			r.changed++
			t.add("archived and remembered", 1)
		default:
			r.changed++
			t.add("archived", 1)
		}
	}
	r.summary = t.say("no sessions")
	return r
}

func tellFacts(doc factsDocument) (r stepResult) {
	var t tally
	for _, s := range doc.Sessions {
		r.changed += s.Stored
		if s.Outcome == factsFailed {
			r.problems = append(r.problems, problemOf(s.Agent, s.Session, s.Reason))
		}
		t.add(s.Outcome, 1)
	}
	r.summary = t.say("no sessions")
	if r.changed > 0 {
		r.summary = plural(r.changed, "new fact") + "; " + r.summary
	}
	return r
}

func tellVerify(doc verifyDocument) (r stepResult) {
	how := map[bool]string{true: "read", false: "checked without reading"}[doc.ReadData]
	r.summary = fmt.Sprintf("%s (%s) %s, %s checked", plural(doc.Checked, "archive"), formatBytes(doc.Bytes), how, plural(doc.Receipts, "receipt"))
	for _, p := range doc.Problems {
		r.problems = append(r.problems, p.text())
	}
	r.damage = doc.Problems
	if len(r.problems) > 0 {
		r.summary += ", " + plural(len(r.problems), "problem")
	}
	return r
}

// text is a problem, and where it is.
func (p problem) text() string {
	if strings.Contains(p.Message, p.Path) {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

func tellClean(doc cleanDocument) stepResult {
	outcomes := make([]string, 0, len(doc.Sessions))
	for _, row := range doc.Sessions {
		outcomes = append(outcomes, row.Outcome)
	}
	return tellDeletions(outcomes, doc.Bytes, doc.Spared)
}

func tellUpload(doc uploadDocument) (r stepResult) {
	var t tally
	for _, row := range doc.Archives {
		if row.Outcome == outcomeFailed {
			r.problems = append(r.problems, strings.Join([]string{row.Agent, row.Session, row.Reason}, ": "))
		} else {
			r.changed++
		}
	}
	t.add(outcomeOffSite, r.changed)
	r.summary = t.say("all archives are off-site")
	return r
}

func tellPrune(doc pruneDocument) stepResult {
	outcomes := make([]string, 0, len(doc.Archives))
	for _, row := range doc.Archives {
		outcomes = append(outcomes, row.Outcome)
	}
	return tellDeletions(outcomes, doc.Bytes, doc.Spared)
}

func tellPush(doc pushDocument) (r stepResult) {
	r.changed = doc.Stored + doc.Gone + doc.Removed + doc.Honoured
	r.summary = "nothing new to send"
	if r.changed > 0 {
		r.summary = fmt.Sprintf("%s sent and read back", plural(doc.Sent, "record"))
	}
	if doc.LeftToSend > 0 {
		r.problems = append(r.problems, plural(doc.LeftToSend, "record")+" left to send")
	}
	return r
}

// tellDeletions sums up what went, of so many bytes, and what stayed.
func tellDeletions(outcomes []string, bytes int64, spared []string) (r stepResult) {
	count := map[string]int{}
	for _, outcome := range outcomes {
		count[outcome]++
	}
	r.changed = len(outcomes) - count[pruneKept]
	var t tally
	t.add("into the trash", count[retention.ActionTrash])
	t.add("only off-site", count[outcomeOffSite])
	t.add("removed from the trash", count[retention.ActionPurge])
	t.add("kept", count[pruneKept])
	r.summary = t.say("nothing is old enough")
	if r.changed > 0 {
		r.summary += " (" + formatBytes(bytes) + ")"
	}
	if len(spared) > 0 {
		r.problems = append(r.problems, fmt.Sprintf("more than half of what %s have would be deleted: it is kept", strings.Join(spared, ", ")))
	}
	return r
}
