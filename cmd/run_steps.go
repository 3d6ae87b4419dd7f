package cmd

import (
	"context"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/spf13/pflag"
)

// stepKind is a command as a step of a profile.
type stepKind struct {
	name string
	// flags are those of each command that the configuration of the step makes,
	// one for each agent that it names.
	flags func(c workspace.ProfileConfig, about night) []steps.StepFlags
	// check refuses flags that the command would refuse.
	check func(a *app, flags steps.StepFlags) error
	// run carries the command out, or with dryRun makes and prints its plan.
	run func(ctx context.Context, a *app, flags steps.StepFlags, dryRun bool) error
	// tell sums up the document of the command.
	tell func(document any) steps.StepResult
}

// night is what a run of a profile knows beside its configuration.
type night struct {
	reads   bool // the archives here are to be read in full
	offSite bool // there is object storage
	grown   bool // older archives that newer ones begin with are kept only in these
}

// section is the key of the step's options below that of the profile.
func (k stepKind) section() string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(k.name)
}

// stepKinds are all steps that a profile can have.
func stepKinds() []stepKind {
	return []stepKind{
		newStepKind(operate.StepCompact, parseCompact, runCompact, steps.TellCompact,
			func(c workspace.ProfileConfig, _ night) []steps.StepFlags {
				return steps.PerAgent(c.Compact.Agents, func(agent string) steps.StepFlags { return steps.CompactStepFlags(c.Compact, agent) })
			}),
		newStepKind(operate.StepArchive, parseArchive, runArchive, steps.TellArchive,
			func(c workspace.ProfileConfig, about night) []steps.StepFlags {
				return steps.PerAgent(c.Archive.Agents, func(agent string) steps.StepFlags { return steps.ArchiveStepFlags(c.Archive, agent, about.grown) })
			}),
		newStepKind(operate.StepExtractFacts, parseFacts, runExtractFacts, steps.TellFacts,
			func(c workspace.ProfileConfig, _ night) []steps.StepFlags {
				return steps.PerAgent(c.ExtractFacts.Agents, func(agent string) steps.StepFlags { return steps.FactsStepFlags(c.ExtractFacts, agent) })
			}),
		newStepKind(operate.StepArchiveVerify, parseVerify, runVerifyStep, steps.TellVerify,
			func(c workspace.ProfileConfig, about night) []steps.StepFlags {
				return []steps.StepFlags{steps.VerifyFlags(c.ArchiveVerify, about.reads, about.offSite)}
			}),
		newStepKind(operate.StepArchiveUpload, parseUpload, runArchiveUpload, steps.TellUpload,
			func(workspace.ProfileConfig, night) []steps.StepFlags { return []steps.StepFlags{{}} }),
		newStepKind(operate.StepClean, parseClean, runClean, steps.TellClean,
			func(c workspace.ProfileConfig, _ night) []steps.StepFlags {
				return steps.PerAgent(c.Clean.Agents, func(agent string) steps.StepFlags { return steps.CleanStepFlags(c.Clean, agent) })
			}),
		newStepKind(operate.StepArchivePrune, parsePrune, runPrune, steps.TellPrune,
			func(c workspace.ProfileConfig, _ night) []steps.StepFlags {
				return steps.PerAgent(c.ArchivePrune.Agents, func(agent string) steps.StepFlags { return steps.PruneStepFlags(c.ArchivePrune, agent) })
			}),
		newStepKind(operate.StepPush, parsePush, runPush, steps.TellPush,
			func(workspace.ProfileConfig, night) []steps.StepFlags { return []steps.StepFlags{{}} }),
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

// newStepKind makes a step of a command: parse reads its flags, run carries it
// out, tell sums up its document, of type D.
func newStepKind[O, D any](name string, parse func(*app, steps.StepFlags) (O, error), run func(context.Context, *app, O) error,
	tell func(D) steps.StepResult, flags func(workspace.ProfileConfig, night) []steps.StepFlags) stepKind {
	return stepKind{
		name: name, flags: flags,
		check: func(a *app, flags steps.StepFlags) error {
			_, err := parse(a, flags)
			return err
		},
		run: func(ctx context.Context, a *app, flags steps.StepFlags, dryRun bool) error {
			flags = flags.OfAgents(func(name string) agentset.Set { return selection.AgentsMeantAtMost(ctx, a.Run, name) })
			options, err := parse(a, slices.Clone(flags).On("--dry-run", dryRun))
			if err != nil {
				return err
			}
			return run(ctx, a, options)
		},
		tell: func(document any) steps.StepResult {
			d, ok := document.(D)
			if !ok {
				return steps.StepResult{} // it failed before there was one
			}
			return tell(d)
		},
	}
}

func parseCompact(a *app, flags steps.StepFlags) (o selection.CompactOptions, err error) {
	fs, err := optionsOf(a, func(fs *pflag.FlagSet) { addCompactFlags(&o, fs) }, flags)
	if err != nil {
		return o, err
	}
	o.ThresholdAsked, o.KeepAsked = fs.Changed("threshold"), fs.Changed("keep-recent-tokens")
	return o, steps.ValidateCompact(&o)
}

func parseArchive(a *app, flags steps.StepFlags) (o steps.ArchiveOptions, err error) {
	_, err = optionsOf(a, func(fs *pflag.FlagSet) { addArchiveFlags(&o, fs) }, flags)
	return o, err
}

func parseFacts(a *app, flags steps.StepFlags) (o steps.FactsOptions, err error) {
	if _, err = optionsOf(a, func(fs *pflag.FlagSet) { addFactsFlags(&o, fs) }, flags); err != nil {
		return o, err
	}
	return o, o.Validate()
}

// parseVerify takes --dry-run for a plan: the command has no such flag, because
// it changes nothing.
func parseVerify(a *app, flags steps.StepFlags) (o audit.VerifyOptions, err error) {
	o.Plan = slices.Contains(flags, "--dry-run")
	flags = slices.DeleteFunc(slices.Clone(flags), func(flag string) bool { return flag == "--dry-run" })
	if _, err = optionsOf(a, func(fs *pflag.FlagSet) { addVerifyFlags(&o, fs) }, flags); err != nil {
		return o, err
	}
	o.ReadCopies = slices.ContainsFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, "--read-data=") })
	return o, o.Validate()
}

func parseClean(a *app, flags steps.StepFlags) (o removal.CleanOptions, err error) {
	if _, err = optionsOf(a, func(fs *pflag.FlagSet) { addCleanFlags(&o, fs) }, flags); err != nil {
		return o, err
	}
	return o, o.Validate()
}

func parseUpload(a *app, flags steps.StepFlags) (o workspace.UploadOptions, err error) {
	if _, err = optionsOf(a, func(fs *pflag.FlagSet) { addUploadFlags(&o, fs) }, flags); err == nil && a.Config.Archive.Remote == "" {
		err = workspace.ErrNoRemote()
	}
	return o, err
}

func parsePrune(a *app, flags steps.StepFlags) (o removal.PruneOptions, err error) {
	if _, err = optionsOf(a, func(fs *pflag.FlagSet) { addPruneFlags(&o, fs) }, flags); err != nil {
		return o, err
	}
	if err = o.Validate(); err == nil && o.KeepLocal > 0 && a.Config.Archive.Remote == "" {
		err = workspace.ErrNoRemote()
	}
	return o, err
}

func parsePush(a *app, flags steps.StepFlags) (o recall.PushOptions, err error) {
	if _, err = optionsOf(a, func(fs *pflag.FlagSet) { addPushFlags(&o, fs) }, flags); err == nil && !workspace.Shares(&a.Run.Settings) {
		err = workspace.ErrNoShared()
	}
	return o, err
}
