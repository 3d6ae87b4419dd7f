package cmd

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/schedule"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// profileConfig is one profile of the configuration: which steps a run has, and
// what each is told. What is not there is as for the command that is typed.
type profileConfig struct {
	Steps         []string      `mapstructure:"steps" json:"steps"`
	Compact       compactStep   `mapstructure:"compact" json:"compact"`
	Archive       archiveStep   `mapstructure:"archive" json:"archive"`
	ExtractFacts  factsStep     `mapstructure:"extract_facts" json:"extract_facts"`
	Clean         cleanStep     `mapstructure:"clean" json:"clean"`
	ArchivePrune  pruneStep     `mapstructure:"archive_prune" json:"archive_prune"`
	ArchiveVerify archiveVerify `mapstructure:"archive_verify" json:"archive_verify"`
}

type compactStep struct {
	Agents      []string `mapstructure:"agents" json:"agents"` // none: all
	Threshold   int64    `mapstructure:"threshold" json:"threshold"`
	Strategy    string   `mapstructure:"strategy" json:"strategy"`
	Keep        int64    `mapstructure:"keep_recent_tokens" json:"keep_recent_tokens"`
	SkipSummary bool     `mapstructure:"skip_summary" json:"skip_summary"`
}

type archiveStep struct {
	Agents   []string `mapstructure:"agents" json:"agents"`
	Remember *bool    `mapstructure:"remember" json:"remember"` // nil: true
}

type factsStep struct {
	Agents        []string `mapstructure:"agents" json:"agents"`
	Max           *int     `mapstructure:"max" json:"max"`
	MinConfidence *float64 `mapstructure:"min_confidence" json:"min_confidence"`
}

type cleanStep struct {
	Agents []string `mapstructure:"agents" json:"agents"`
	MaxAge string   `mapstructure:"max_age" json:"max_age"` // "": clean.max_age
	Grace  string   `mapstructure:"grace" json:"grace"`     // "": clean.grace
}

type pruneStep struct {
	Agents     []string `mapstructure:"agents" json:"agents"`
	MaxAge     string   `mapstructure:"max_age" json:"max_age"`
	Keep       *int     `mapstructure:"keep" json:"keep"`
	Grace      string   `mapstructure:"grace" json:"grace"`
	LastCopies bool     `mapstructure:"last_copies" json:"last_copies"`
}

type archiveVerify struct {
	ReadEvery string `mapstructure:"read_every" json:"read_every"` // how often the copies are read in full: 7d, 0 or never
}

// stepFlags turns options into the flags that a person would type. Each method
// leaves out what is not configured.
type stepFlags []string

func (w stepFlags) text(flag, value string) stepFlags {
	if value == "" {
		return w
	}
	return append(w, flag, value)
}

func (w stepFlags) on(flag string, set bool) stepFlags {
	if !set {
		return w
	}
	return append(w, flag)
}

func (w stepFlags) number(flag string, value int64) stepFlags {
	if value == 0 {
		return w
	}
	return append(w, flag, strconv.FormatInt(value, 10))
}

// whose is the flag of one agent, or of all.
func whose(agent string) stepFlags {
	if agent == "" {
		return stepFlags{"--all"}
	}
	return stepFlags{"--agent", agent}
}

// agents are those of a step; "" stands for all.
func agents(named []string) []string {
	if len(named) == 0 {
		return []string{""}
	}
	return named
}

func (s compactStep) flags(agent string) stepFlags {
	return whose(agent).number("--threshold", s.Threshold).text("--strategy", s.Strategy).
		number("--keep-recent-tokens", s.Keep).on("--skip-summary", s.SkipSummary)
}

func (s archiveStep) flags(agent string) stepFlags {
	return whose(agent).on("--remember", s.Remember == nil || *s.Remember)
}

func (s factsStep) flags(agent string) stepFlags {
	w := whose(agent)
	if s.Max != nil {
		w = append(w, "--max", strconv.Itoa(*s.Max))
	}
	if s.MinConfidence != nil {
		w = append(w, "--min-confidence", strconv.FormatFloat(*s.MinConfidence, 'g', -1, 64))
	}
	return w
}

func (s cleanStep) flags(agent string) stepFlags {
	return stepFlags{}.text("--agent", agent).text("--max-age", s.MaxAge).text("--grace", s.Grace).on("--yes", true)
}

func (s pruneStep) flags(agent string) stepFlags {
	w := stepFlags{}.text("--agent", agent).text("--max-age", s.MaxAge)
	if s.Keep != nil {
		w = append(w, "--keep", strconv.Itoa(*s.Keep))
	}
	return w.text("--grace", s.Grace).on("--last-copies", s.LastCopies).on("--yes", true)
}

// defaultReadEvery is how often archives are read in full where nothing else is
// configured; in between they are looked at (docs/dev/decisions.md D26).
const defaultReadEvery = "7d"

// readEvery is the configured time between two full reads, negative for never.
func (s archiveVerify) readEvery() (time.Duration, error) {
	switch s.ReadEvery {
	case "never":
		return -1, nil
	case "":
		return parseAgo(defaultReadEvery)
	case "0":
		return 0, nil
	}
	every, err := parseAgo(s.ReadEvery)
	if err == nil && every < 0 {
		err = errors.New("it is negative")
	}
	return every, err
}

// due reports whether the copies are to be read in full. A full read that lies
// in the future, because the clock was set back, does not count.
func (s archiveVerify) due(last, now time.Time) bool {
	every, err := s.readEvery()
	age := now.Sub(last)
	return err == nil && every >= 0 && (age < 0 || age >= every)
}

// isProfileKey reports whether a key of the file is one of a profile: a profile
// without a value is one that is all defaults.
func isProfileKey(key string, value any) bool {
	parts := strings.SplitN(key, ".", 3)
	if parts[0] != "profiles" || len(parts) < 2 || !profileName().MatchString(parts[1]) {
		return key == "profiles" && value == nil
	}
	if len(parts) == 2 {
		return value == nil
	}
	return slices.Contains(keysBelow(reflect.TypeFor[profileConfig](), ""), parts[2])
}

// addBareProfiles adds the profiles that are named and say nothing.
func (c *config) addBareProfiles(keys []string) {
	for _, key := range keys {
		name, below := strings.CutPrefix(key, "profiles.")
		if _, known := c.Profiles[name]; known || !below || strings.Contains(name, ".") {
			continue
		}
		if c.Profiles == nil {
			c.Profiles = map[string]profileConfig{}
		}
		c.Profiles[name] = profileConfig{}
	}
}

// profileName keeps names of profiles to what can be part of the name of a unit
// of systemd as it is.
var profileName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`) })

const profileNameHint = "names of profiles have small letters, digits, - and _, and begin with a letter or a digit"

// checkProfileNames refuses names in the file that are none. The keys that were
// read do not tell: their letters are small by then.
func (a *invocation) checkProfileNames() error {
	for _, key := range namesOf(yamlOf(a.configFile()), "profiles") {
		switch {
		case key.Value == schedule.Monitor:
			return usageError("sessctl schedule install monitor is for sessctl monitor; call the profile something else", "%s:%d: profiles: %s cannot be the name of a profile", a.configFile(), key.Line, key.Value)
		case key.Value != "<<" && !profileName().MatchString(key.Value):
			return usageError(profileNameHint, "%s:%d: profiles: %q cannot be the name of a profile", a.configFile(), key.Line, key.Value)
		}
	}
	return nil
}

// namesOf are the keys below a key at the top of a document.
func namesOf(document *yaml.Node, name string) (keys []*yaml.Node) {
	if document == nil || document.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(document.Content); i += 2 {
		below := document.Content[i+1]
		if below.Kind == yaml.AliasNode {
			below = below.Alias
		}
		if !strings.EqualFold(document.Content[i].Value, name) || below.Kind != yaml.MappingNode {
			continue
		}
		for at := 0; at < len(below.Content); at += 2 {
			keys = append(keys, below.Content[at])
		}
	}
	return keys
}

// keysBelow are the keys of a type of the configuration, with dots.
func keysBelow(t reflect.Type, prefix string) (keys []string) {
	for i := range t.NumField() {
		name := prefix + t.Field(i).Tag.Get("mapstructure")
		if of := t.Field(i).Type; of.Kind() == reflect.Struct {
			keys = append(keys, keysBelow(of, name+".")...)
			continue
		}
		keys = append(keys, name)
	}
	return keys
}

// profileKeysLike are the keys that a mistyped one of a profile may have meant.
func profileKeysLike(key string) []string {
	parts := strings.SplitN(key, ".", 3)
	if parts[0] != "profiles" || len(parts) < 3 {
		return nil
	}
	keys := keysBelow(reflect.TypeFor[profileConfig](), "")
	for i := range keys {
		keys[i] = "profiles." + parts[1] + "." + keys[i]
	}
	return keys
}

// plannedStep is one step of a run, as data.
type plannedStep struct {
	kind  stepKind
	flags stepFlags
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
func (a *app) planProfile(name string, lastRead time.Time) (profilePlan, error) {
	config, known := a.config.Profiles[name]
	if !known && name != operate.DefaultProfile {
		return profilePlan{}, a.unknownProfile(name)
	}
	plan := profilePlan{profile: name}
	if config.Steps == nil {
		config.Steps = operate.DefaultSteps()
	}
	if err := a.checkProfile(name, config); err != nil {
		return plan, err
	}
	for _, step := range config.Steps {
		kind, _ := stepKindOf(step)
		for _, flags := range kind.flags(config, config.ArchiveVerify.due(lastRead, a.now())) {
			planned := plannedStep{kind: kind, flags: flags}
			if err := kind.check(a, flags); err != nil {
				planned.refused = a.blameStep(name, kind, err)
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

func (a *invocation) unknownProfile(name string) error {
	known := append(slices.Sorted(maps.Keys(a.config.Profiles)), operate.DefaultProfile)
	hint := fmt.Sprintf("describe it under profiles.%s in %s; docs/nightly.md has an example", name, a.configFile())
	if !profileName().MatchString(name) {
		hint = profileNameHint
	}
	return &failure{code: "unknown_profile", exit: exitUsage, hint: didYouMean(name, known, hint), err: fmt.Errorf("no profile %q is configured", name)}
}

// checkProfile refuses steps that are not known, and options of steps that the
// profile does not have: they would be taken for ones that count.
func (a *app) checkProfile(name string, config profileConfig) error {
	key := "profiles." + name + ".steps"
	if len(config.Steps) == 0 {
		hint := "name steps, or leave the key out for the default: " + strings.Join(operate.DefaultSteps(), ", ")
		return usageError(hint, "%s: %s is an empty list: a run would do nothing", a.originOf(key), key)
	}
	for _, step := range config.Steps {
		if _, known := stepKindOf(step); !known {
			hint := didYouMean(step, operate.StepNames(), "steps: "+strings.Join(operate.StepNames(), ", "))
			return usageError(hint, "%s: %s: unknown step %q", a.originOf(key), key, step)
		}
	}
	for _, kind := range stepKinds() {
		section := "profiles." + name + "." + kind.section()
		if a.fileConfig().IsSet(section) && !slices.Contains(config.Steps, kind.name) {
			return usageError("add it to "+key, "%s: %s has options for a step that the profile does not have", a.originOf(section), section)
		}
	}
	if _, err := config.ArchiveVerify.readEvery(); err != nil {
		key := "profiles." + name + ".archive_verify.read_every"
		return usageError("write 7d, 0 (every time) or never", "%s: %s: %q is not an age", a.originOf(key), key, config.ArchiveVerify.ReadEvery)
	}
	return nil
}

// blameStep makes a complaint about a flag of a step one about the key that it
// comes from.
func (a *app) blameStep(profile string, kind stepKind, err error) error {
	var f *failure
	if !errors.As(err, &f) {
		return err
	}
	section := "profiles." + profile + "." + kind.section()
	key, text := section, ": "+f.Error()
	if name := leadingFlag().FindStringSubmatch(f.Error()); name != nil {
		key, text = section+"."+strings.ReplaceAll(name[1], "-", "_"), strings.TrimPrefix(f.Error(), name[0])
	}
	stands := key
	if !a.fileConfig().IsSet(section) { // nothing is said of the step but its name
		stands = "profiles." + profile + ".steps"
	}
	told := *f
	told.err = fmt.Errorf("%s: %s%s", a.originOf(stands), key, text)
	return &told
}

// optionsOf fills the options of a command as if its flags had been typed: those
// that are not come from the configuration.
func (a *app) optionsOf(add func(*pflag.FlagSet), flags stepFlags) (*pflag.FlagSet, error) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	add(fs)
	if err := fs.Parse(flags); err != nil {
		return fs, usageError("", "%w", err)
	}
	v, err := a.readConfig()
	if err != nil {
		return fs, err
	}
	return fs, a.fillFlags(fs, v)
}
