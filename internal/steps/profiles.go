package steps

import (
	"cmp"
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

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/schedule"
	"go.yaml.in/yaml/v3"
)

// DefaultSteps are the steps of a profile that names none: where many hosts share a
// memory, with a push.
func DefaultSteps(a *workspace.Settings) []string {
	if workspace.Shares(a) {
		return append(operate.DefaultSteps(), operate.StepPush)
	}
	return operate.DefaultSteps()
}

// StepFlags turns options into the flags that a person would type. Each method
// leaves out what is not configured.
type StepFlags []string

// Text adds a flag with a text, if there is one.
func (w StepFlags) Text(flag, value string) StepFlags {
	if value == "" {
		return w
	}
	return append(w, flag, value)
}

// On adds a flag if it is on.
func (w StepFlags) On(flag string, set bool) StepFlags {
	if !set {
		return w
	}
	return append(w, flag)
}

// Number adds a flag with a number, if there is one.
func (w StepFlags) Number(flag string, value int64) StepFlags {
	if value == 0 {
		return w
	}
	return append(w, flag, strconv.FormatInt(value, 10))
}

// Whose is the flag of one agent, or of all.
func Whose(agent string) StepFlags {
	if agent == "" {
		return StepFlags{"--all"}
	}
	return StepFlags{"--agent", agent}
}

// OfAgents puts the agents that a name means in its place.
func (w StepFlags) OfAgents(meant func(name string) agentset.Set) StepFlags {
	i := slices.Index(w, "--agent")
	if i < 0 {
		return w
	}
	w = slices.Clone(w)
	w[i+1] = string(meant(w[i+1]))
	return w
}

// agents are those of a step; "" stands for all.
func agents(named []string) []string {
	if len(named) == 0 {
		return []string{""}
	}
	return named
}

// CompactStepFlags are the options that the step stands for.
func CompactStepFlags(s workspace.CompactStep, agent string) StepFlags {
	return Whose(agent).Text("--threshold", s.Threshold).Text("--strategy", s.Strategy).
		Number("--keep-recent-tokens", s.Keep).On("--skip-summary", s.SkipSummary)
}

// ArchiveStepFlags are the options that the step stands for.
func ArchiveStepFlags(s workspace.ArchiveStep, agent string, supersede bool) StepFlags {
	return Whose(agent).On("--remember", s.Remember == nil || *s.Remember).On("--supersede", supersede)
}

// FactsStepFlags are the options that the step stands for.
func FactsStepFlags(s workspace.FactsStep, agent string) StepFlags {
	w := Whose(agent)
	if s.Max != nil {
		w = append(w, "--max", strconv.Itoa(*s.Max))
	}
	if s.MinConfidence != nil {
		w = append(w, "--min-confidence", strconv.FormatFloat(*s.MinConfidence, 'g', -1, 64))
	}
	return w
}

// CleanStepFlags are the options that the step stands for.
func CleanStepFlags(s workspace.CleanStep, agent string) StepFlags {
	return StepFlags{}.Text("--agent", agent).Text("--max-age", s.MaxAge).Text("--grace", s.Grace).On("--force", s.Force).On("--yes", true)
}

// PruneStepFlags are the options that the step stands for.
func PruneStepFlags(s workspace.PruneStep, agent string) StepFlags {
	w := StepFlags{}.Text("--agent", agent).Text("--max-age", s.MaxAge)
	if s.Keep != nil {
		w = append(w, "--keep", strconv.Itoa(*s.Keep))
	}
	return w.Text("--grace", s.Grace).On("--last-copies", s.LastCopies).On("--force", s.Force).On("--yes", true)
}

// defaultReadEvery is how often archives are read in full where nothing else is
// configured; in between they are looked at (docs/dev/decisions.md D26).
const defaultReadEvery = "7d"

// ReadEvery is the configured time between two full reads, negative for never.
func ReadEvery(s workspace.ArchiveVerify) (time.Duration, error) {
	switch s.ReadEvery {
	case "never":
		return -1, nil
	case "":
		return workspace.ParseAgo(defaultReadEvery)
	case "0":
		return 0, nil
	}
	every, err := workspace.ParseAgo(s.ReadEvery)
	if err == nil && every < 0 {
		err = errors.New("it is negative")
	}
	return every, err
}

// defaultReadRemote is which part of the copies on object storage is read in each run
// where nothing else is configured: all of them in a month of nights.
const defaultReadRemote = "3%"

// VerifyFlags are the flags of the step that verifies archives. local says that the
// copies here are to be read, and remote that there is object storage.
func VerifyFlags(s workspace.ArchiveVerify, local, remote bool) StepFlags {
	part := cmp.Or(s.ReadRemote, defaultReadRemote)
	flags := StepFlags{}.On("--quick", !local)
	if !remote || part == "never" {
		return flags
	}
	return flags.On("--remote", true).On("--read-data="+part, true) // one word: its value may be left out
}

// Due reports whether the copies are to be read in full. A full read that lies
// in the future, because the clock was set back, does not count.
func Due(s workspace.ArchiveVerify, last, now time.Time) bool {
	every, err := ReadEvery(s)
	age := now.Sub(last)
	return err == nil && every >= 0 && (age < 0 || age >= every)
}

// IsProfileKey reports whether a key of the file is one of a profile: a profile
// without a value is one that is all defaults.
func IsProfileKey(key string, value any) bool {
	parts := strings.SplitN(key, ".", 3)
	if parts[0] != "profiles" || len(parts) < 2 || !profileName().MatchString(parts[1]) {
		return key == "profiles" && value == nil
	}
	if len(parts) == 2 {
		return value == nil
	}
	return slices.Contains(keysBelow(reflect.TypeFor[workspace.ProfileConfig](), ""), parts[2])
}

// AddBareProfiles adds the profiles that are named and say nothing.
func AddBareProfiles(c *workspace.Config, keys []string) {
	for _, key := range keys {
		name, below := strings.CutPrefix(key, "profiles.")
		if _, known := c.Profiles[name]; known || !below || strings.Contains(name, ".") {
			continue
		}
		if c.Profiles == nil {
			c.Profiles = map[string]workspace.ProfileConfig{}
		}
		c.Profiles[name] = workspace.ProfileConfig{}
	}
}

// profileName keeps names of profiles to what can be part of the name of a unit
// of systemd as it is.
var profileName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`) })

const profileNameHint = "names of profiles have small letters, digits, - and _, and begin with a letter or a digit"

// CheckProfileNames refuses names in the file that are none. The keys that were
// read do not tell: their letters are small by then.
func CheckProfileNames(run *workspace.Run) error {
	for _, key := range namesOf(workspace.YamlOf(workspace.ConfigFile(&run.Settings)), "profiles") {
		switch {
		case key.Value == schedule.Monitor:
			return failure.Usage("sessctl schedule install monitor is for sessctl monitor; call the profile something else", "%s:%d: profiles: %s cannot be the name of a profile", workspace.ConfigFile(&run.Settings), key.Line, key.Value)
		case key.Value != "<<" && !profileName().MatchString(key.Value):
			return failure.Usage(profileNameHint, "%s:%d: profiles: %q cannot be the name of a profile", workspace.ConfigFile(&run.Settings), key.Line, key.Value)
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

// ProfileKeysLike are the keys that a mistyped one of a profile may have meant.
func ProfileKeysLike(key string) []string {
	parts := strings.SplitN(key, ".", 3)
	if parts[0] != "profiles" || len(parts) < 3 {
		return nil
	}
	keys := keysBelow(reflect.TypeFor[workspace.ProfileConfig](), "")
	for i := range keys {
		keys[i] = "profiles." + parts[1] + "." + keys[i]
	}
	return keys
}

// UnknownProfile refuses a profile that the configuration has none of.
func UnknownProfile(a *workspace.Settings, name string) error {
	known := append(slices.Sorted(maps.Keys(a.Config.Profiles)), operate.DefaultProfile)
	hint := fmt.Sprintf("describe it under profiles.%s in %s; docs/nightly.md has an example", name, workspace.ConfigFile(a))
	if !profileName().MatchString(name) {
		hint = profileNameHint
	}
	return &failure.Error{Code: "unknown_profile", Exit: failure.ExitUsage, Hint: wording.DidYouMean(name, known, hint), Err: fmt.Errorf("no profile %q is configured", name)}
}
