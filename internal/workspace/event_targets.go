package workspace

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
	"go.yaml.in/yaml/v3"
)

// CheckEvents refuses an events.url that cannot be one.
func CheckEvents(a *Settings) error {
	raw := a.Config.Events.URL
	if _, err := outbox.ParseURL(raw); raw != "" && err != nil {
		return failure.Usage("http://host/path, or https", "events.url is no URL that events can be sent to")
	}
	return nil
}

// eventsConfig says who is told of events (docs/events.md).
type eventsConfig struct {
	URL          string              `mapstructure:"url" json:"-"` // may hold a token
	Source       string              `mapstructure:"source" json:"source"`
	Webhooks     []webhookConfig     `mapstructure:"webhooks" json:"-"`
	Commands     []commandConfig     `mapstructure:"commands" json:"-"`
	Healthchecks []healthcheckConfig `mapstructure:"healthchecks" json:"-"`
}

// eventDefaults are the defaults of events.*: nobody is told.
func eventDefaults() map[string]any {
	return map[string]any{"events.url": "", "events.source": "", "events.webhooks": []any{}, "events.commands": []any{}, "events.healthchecks": []any{}}
}

// AddressConfig is where an address comes from that may hold a token: one of the
// three is set.
type AddressConfig struct {
	URL  string `mapstructure:"url"`
	Env  string `mapstructure:"url_env"`
	File string `mapstructure:"url_file"`
}

type webhookConfig struct {
	Name          string `mapstructure:"name"`
	AddressConfig `mapstructure:",squash"`
	SecretFile    string   `mapstructure:"secret_file"`
	SecretEnv     string   `mapstructure:"secret_env"`
	Types         []string `mapstructure:"types"`
}

type commandConfig struct {
	Name    string        `mapstructure:"name"`
	Run     []string      `mapstructure:"run"`
	Timeout time.Duration `mapstructure:"timeout"`
	Types   []string      `mapstructure:"types"`
}

type healthcheckConfig struct {
	Name          string `mapstructure:"name"`
	AddressConfig `mapstructure:",squash"`
	Profile       string `mapstructure:"profile"` // "" for all
}

// legacyTarget is the name of the target that events.url makes.
const legacyTarget = "events.url"

// NamedTarget is a target and what kind it is, for people.
type NamedTarget struct {
	outbox.Target
	Kind  string // webhook, command, healthchecks
	Where string // host or program
}

// EventTargets are the targets of the configuration. Where an address or a
// secret cannot be read the target is one that fails, so that its events wait
// until it can.
func EventTargets(run *Run) ([]NamedTarget, error) {
	if err := CheckEvents(&run.Settings); err != nil {
		return nil, err
	}
	var all []NamedTarget
	if raw := run.Config.Events.URL; raw != "" {
		all = append(all, webhookTarget(&run.Settings, webhookConfig{Name: legacyTarget, AddressConfig: AddressConfig{URL: raw}, Types: []string{outbox.Compacted}}, true))
	}
	for _, w := range run.Config.Events.Webhooks {
		all = append(all, webhookTarget(&run.Settings, w, false))
	}
	for _, c := range run.Config.Events.Commands {
		all = append(all, commandTarget(&run.Settings, c))
	}
	for _, h := range run.Config.Events.Healthchecks {
		all = append(all, healthchecksTarget(&run.Settings, h))
	}
	known := map[string]bool{}
	for _, t := range all {
		if known[t.Name] {
			return nil, failure.Usage("give each a name of its own with name:", "two targets of events are called %s", t.Name)
		}
		known[t.Name] = true
	}
	return all, nil
}

func webhookTarget(a *Settings, c webhookConfig, plain bool) NamedTarget {
	to, err := a.Address(c.AddressConfig)
	t := NamedTarget{Kind: "webhook", Where: hostOf(to), Target: outbox.Target{Name: cmp.Or(c.Name, hostOf(to), c.Env, c.File), Types: typesOrAll(c.Types)}}
	t.Sender = Failing{err}
	if err == nil {
		hook := outbox.Webhook{URL: to, Source: EventSource(a), Plain: plain, Now: a.Now}
		if c.SecretEnv+c.SecretFile != "" {
			hook.Secret = func() (string, error) { return a.secret(c.SecretFile, c.SecretEnv) }
		}
		t.Sender = hook
	}
	return t
}

func commandTarget(a *Settings, c commandConfig) NamedTarget {
	return NamedTarget{Kind: "command", Where: c.Run[0], Target: outbox.Target{
		Name: cmp.Or(c.Name, filepath.Base(c.Run[0])), Types: typesOrAll(c.Types),
		Sender: outbox.Command{Run: c.Run, Source: EventSource(a), Env: os.Environ(), Timeout: c.Timeout},
	}}
}

func healthchecksTarget(a *Settings, c healthcheckConfig) NamedTarget {
	name := "healthchecks"
	if c.Profile != "" {
		name += " " + c.Profile
	}
	to, err := a.Address(c.AddressConfig)
	t := NamedTarget{Kind: "healthchecks", Where: hostOf(to), Target: outbox.Target{
		Name: cmp.Or(c.Name, name), Types: outbox.HealthchecksTypes(), Subject: c.Profile, Latest: true, Sender: Failing{err},
	}}
	if err == nil {
		t.Sender = outbox.Healthchecks{URL: to, Now: a.Now}
	}
	return t
}

// typesOrAll is what a target asks for: everything if it does not say.
func typesOrAll(types []string) []string {
	if len(types) == 0 {
		return outbox.Types()
	}
	return types
}

func hostOf(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.Host
}

// EventSource is the source of envelopes: which machine tells.
func EventSource(a *Settings) string {
	if a.Config.Events.Source != "" {
		return a.Config.Events.Source
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return "//" + url.PathEscape(host) + "/sessctl"
}

// Address reads an address from where the configuration says. The error never
// repeats it.
func (s *Settings) Address(c AddressConfig) (*url.URL, error) {
	raw, from := c.URL, "url"
	switch {
	case c.Env != "":
		raw, from = strings.TrimSpace(s.Getenv(c.Env)), "the variable "+c.Env
	case c.File != "":
		text, err := wording.OneLineOf(c.File)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.File, err)
		}
		raw, from = text, c.File
	}
	u, err := outbox.ParseURL(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return u, nil
}

// secret reads what events are signed with.
func (s *Settings) secret(file, variable string) (string, error) {
	if file != "" {
		secret, err := wording.OneLineOf(file)
		if err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		return secret, nil
	}
	if secret := strings.TrimSpace(s.Getenv(variable)); secret != "" {
		return secret, nil
	}
	return "", fmt.Errorf("the variable %s, which is to hold the secret, is empty", variable)
}

// Failing is the Sender of a target that cannot be used for now.
type Failing struct{ Err error }

// EventsHint is the hint for what a target of events takes.
const EventsHint = "docs/events.md shows how targets are written; a command is [{name: log, run: [logger, -t, sessctl]}], a webhook [{name: ops, url: \"https://example.org/hook\"}]"

// ListKeys are the keys whose values are lists of targets, and what an entry has.
func ListKeys() map[string][]string {
	address := []string{"name", "url", "url_env", "url_file"}
	return map[string][]string{
		"events.webhooks":     append([]string{"secret_file", "secret_env", "types"}, address...),
		"events.commands":     {"name", "run", "timeout", "types"},
		"events.healthchecks": append([]string{"profile"}, address...),
	}
}

// CheckTargetList is the error for a list of targets that cannot be used. It
// repeats no value but types and names, since addresses may hold tokens.
func CheckTargetList(key string, value any) error {
	if !strings.HasPrefix(key, "events.") {
		return nil // most keys, of which every start has a hundred
	}
	fields, ours := ListKeys()[key]
	if !ours {
		return nil
	}
	entries, isList := value.([]any)
	if !isList {
		return failure.Usage(EventsHint, "%s takes a list, each entry with some of: %s", key, strings.Join(fields, ", "))
	}
	for i, entry := range entries {
		if err := checkTarget(key, entry, fields); err != nil {
			return failure.Usage(wording.DidYouMean(err.typed, err.known, EventsHint), "%s: entry %d: %s", key, i+1, err.message)
		}
	}
	return nil
}

// targetError is what is wrong with an entry, and the word that is not known.
type targetError struct {
	message, typed string
	known          []string
}

func checkTarget(key string, entry any, fields []string) *targetError {
	of, ok := entry.(map[string]any)
	if !ok {
		return &targetError{message: "it is not a mapping of " + strings.Join(fields, ", ")}
	}
	for field, value := range of {
		if !slices.Contains(fields, field) {
			return &targetError{"unknown key " + field, field, fields}
		}
		if problem := checkField(field, value); problem != nil {
			return problem
		}
	}
	has := func(names ...string) (n int) {
		for _, name := range names {
			if _, there := of[name]; there {
				n++
			}
		}
		return n
	}
	switch {
	case key == "events.commands" && has("run") == 0:
		return &targetError{message: "it has no run: the program and its arguments, as a list"}
	case key != "events.commands" && has("url", "url_env", "url_file") != 1:
		return &targetError{message: "it needs one of url, url_env and url_file"}
	case has("secret_file", "secret_env") > 1:
		return &targetError{message: "it has both secret_file and secret_env"}
	}
	return nil
}

// checkField checks the value of one key of an entry.
func checkField(field string, value any) *targetError {
	text, isText := value.(string)
	switch field {
	case "types", "run":
		words, ok := texts(value)
		if !ok || len(words) == 0 {
			return &targetError{message: field + " takes a list of texts"}
		}
		for _, word := range words {
			if field == "types" && !slices.Contains(outbox.Types(), word) {
				return &targetError{fmt.Sprintf("unknown type of events %q; there are: %s", word, strings.Join(outbox.Types(), ", ")), word, outbox.Types()}
			}
		}
	case "timeout":
		if d, err := time.ParseDuration(text); err != nil || d <= 0 {
			return &targetError{message: "timeout takes " + ADuration}
		}
	case "url":
		if _, err := outbox.ParseURL(text); err != nil {
			return &targetError{message: "url: " + err.Error()}
		}
	default:
		if !isText || text == "" {
			return &targetError{message: field + " takes a text"}
		}
	}
	return nil
}

// texts is a value of the configuration as a list of texts.
func texts(value any) (words []string, ok bool) {
	list, ok := value.([]any)
	for _, item := range list {
		word, isText := item.(string)
		if !isText || word == "" {
			return nil, false
		}
		words = append(words, word)
	}
	return words, ok
}

// listOfTargets reads a list of targets from a variable. What is none is left as
// it is, and refused like a text in the file.
func listOfTargets(text string) any {
	var list []any
	if err := yaml.Unmarshal([]byte(text), &list); err != nil {
		return text
	}
	return list
}
