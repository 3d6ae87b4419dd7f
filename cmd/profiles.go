package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/spf13/pflag"
)

// plannedStep is one step of a run, as data.
type plannedStep struct {
	kind  stepKind
	flags steps.StepFlags
	// refused says what its command would refuse: a flag, or that the server that
	// it asks is not configured.
	refused error
}

// command are the words that do the step by hand.
func (s plannedStep) command() []string {
	return append(strings.Fields(s.kind.name), s.flags...)
}

// profilePlan is what a run of a profile does: each step a command with its
// options, which were checked.
type profilePlan struct {
	profile string
	steps   []plannedStep
}

// planProfile makes the plan of a profile. lastRead is when the archives were
// last read in full without a problem. With the error of the first step that is
// refused comes the whole plan, for whoever only shows it.
func planProfile(a *app, name string, lastRead time.Time) (profilePlan, error) {
	config, known := a.Config.Profiles[name]
	if !known && name != operate.DefaultProfile {
		return profilePlan{}, steps.UnknownProfile(&a.Run.Settings, name)
	}
	plan := profilePlan{profile: name}
	if config.Steps == nil {
		config.Steps = steps.DefaultSteps(&a.Run.Settings)
	}
	if err := checkProfile(a, name, config); err != nil {
		return plan, err
	}
	about := night{reads: steps.Due(config.ArchiveVerify, lastRead, a.Now()), offSite: a.Config.Archive.Remote != "", grown: a.Config.Archive.Supersede}
	for _, step := range config.Steps {
		kind, _ := stepKindOf(step)
		for _, flags := range kind.flags(config, about) {
			planned := plannedStep{kind: kind, flags: flags}
			if err := kind.check(a, flags); err != nil {
				planned.refused = blameStep(a, name, kind, err)
			}
			plan.steps = append(plan.steps, planned)
		}
	}
	return plan, plan.refused()
}

// refused is the first error of its steps.
func (p profilePlan) refused() error {
	for _, step := range p.steps {
		if step.refused != nil {
			return step.refused
		}
	}
	return nil
}

// checkProfile refuses steps that are not known, and options of steps that the
// profile does not have: they would be taken for ones that count.
func checkProfile(a *app, name string, config workspace.ProfileConfig) error {
	key := "profiles." + name + ".steps"
	if len(config.Steps) == 0 {
		hint := "name steps, or leave the key out for the default: " + strings.Join(operate.DefaultSteps(), ", ")
		return failure.Usage(hint, "%s: %s is an empty list: a run would do nothing", workspace.OriginOf(&a.Run.Settings, key), key)
	}
	for _, step := range config.Steps {
		if _, known := stepKindOf(step); !known {
			hint := wording.DidYouMean(step, operate.StepNames(), "steps: "+strings.Join(operate.StepNames(), ", "))
			return failure.Usage(hint, "%s: %s: unknown step %q", workspace.OriginOf(&a.Run.Settings, key), key, step)
		}
	}
	for _, kind := range stepKinds() {
		section := "profiles." + name + "." + kind.section()
		if a.fileConfig().IsSet(section) && !slices.Contains(config.Steps, kind.name) {
			return failure.Usage("add it to "+key, "%s: %s has options for a step that the profile does not have", workspace.OriginOf(&a.Run.Settings, section), section)
		}
	}
	if _, err := steps.ReadEvery(config.ArchiveVerify); err != nil {
		key := "profiles." + name + ".archives_verify.read_every"
		return failure.Usage("write 7d, 0 (every time) or never", "%s: %s: %q is not an age", workspace.OriginOf(&a.Run.Settings, key), key, config.ArchiveVerify.ReadEvery)
	}
	return nil
}

// blameStep makes a complaint about a flag of a step one about the key that it
// comes from.
func blameStep(a *app, profile string, kind stepKind, err error) error {
	var f *failure.Error
	if !errors.As(err, &f) {
		return err
	}
	section := "profiles." + profile + "." + kind.section()
	key, text := section, ": "+f.Error()
	if name := workspace.LeadingFlag().FindStringSubmatch(f.Error()); name != nil {
		key, text = section+"."+strings.ReplaceAll(name[1], "-", "_"), strings.TrimPrefix(f.Error(), name[0])
	}
	stands := key
	if !a.fileConfig().IsSet(section) { // nothing is said of the step but its name
		stands = "profiles." + profile + ".steps"
	}
	told := *f
	told.Err = fmt.Errorf("%s: %s%s", workspace.OriginOf(&a.Run.Settings, stands), key, text)
	return &told
}

// optionsOf fills the options of a command as if its flags had been typed: those
// that are not come from the configuration.
func optionsOf(a *app, add func(*pflag.FlagSet), flags steps.StepFlags) (*pflag.FlagSet, error) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	add(fs)
	if err := fs.Parse(flags); err != nil {
		return fs, failure.Usage("", "%w", err)
	}
	v, err := a.readConfig()
	if err != nil {
		return fs, err
	}
	return fs, a.fillFlags(fs, v)
}
