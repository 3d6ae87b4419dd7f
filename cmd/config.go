package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// config is the whole configuration, typed. The keys of the file are the
// mapstructure names, nested by dots; each is also SESSCTL_<KEY> with dots as
// underscores. Unknown keys are errors.
type config struct {
	DataDir    string           `mapstructure:"data_dir" json:"data_dir"`
	Stores     []string         `mapstructure:"stores" json:"stores"`
	Workers    int              `mapstructure:"workers" json:"workers"`     // logs that are read at a time
	LockWait   time.Duration    `mapstructure:"lock_wait" json:"lock_wait"` // for another sessctl; 0 = not at all
	Compaction compactionConfig `mapstructure:"compaction" json:"compaction"`
	OpenClaw   openClawConfig   `mapstructure:"openclaw" json:"openclaw"`
	Archive    archiveConfig    `mapstructure:"archive" json:"archive"`
	Embed      embedConfig      `mapstructure:"embed" json:"embed"`
	Clean      cleanConfig      `mapstructure:"clean" json:"clean"`
	Memory     memoryConfig     `mapstructure:"memory" json:"memory"`
	Recall     recallConfig     `mapstructure:"recall" json:"recall"`
	Hooks      hooksConfig      `mapstructure:"hooks" json:"hooks"`
	Annabelle  annabelleConfig  `mapstructure:"annabelle" json:"annabelle"`
	MacStats   macStatsConfig   `mapstructure:"macstats" json:"macstats"`
	Yarnnn     yarnnnConfig     `mapstructure:"yarnnn" json:"yarnnn"`
	Summarize  modelConfig      `mapstructure:"summarize" json:"summarize"`
	Facts      modelConfig      `mapstructure:"facts" json:"facts"`
	LLM        llmConfig        `mapstructure:"llm" json:"llm"`
	Events     eventsConfig     `mapstructure:"events" json:"events"`
	Serve      serveConfig      `mapstructure:"serve" json:"serve"`
	// Profiles are the unattended runs that the file describes, by their names.
	Profiles map[string]profileConfig `mapstructure:"profiles" json:"profiles"`
	Monitor  monitorConfig            `mapstructure:"monitor" json:"monitor"`
}

type compactionConfig struct {
	Threshold int64         `mapstructure:"threshold" json:"threshold"`       // tokens
	Quiet     time.Duration `mapstructure:"quiet_period" json:"quiet_period"` // how long a session must be untouched
	Strategy  string        `mapstructure:"strategy" json:"strategy"`
	Gateway   string        `mapstructure:"gateway" json:"gateway"`                       // auto, never or require
	Keep      int64         `mapstructure:"keep_recent_tokens" json:"keep_recent_tokens"` // 0 = the runtime's own
	Reserve   int64         `mapstructure:"reserve_tokens" json:"reserve_tokens"`         // of the window, for the answer
	Window    int64         `mapstructure:"context_window" json:"context_window"`         // tokens; 0 = the runtime's own
}

type openClawConfig struct {
	Command  string        `mapstructure:"command" json:"command"`   // the runtime's program, to ask its gateway where its socket cannot be used
	Deadline time.Duration `mapstructure:"deadline" json:"deadline"` // of one question
	Wait     time.Duration `mapstructure:"wait" json:"wait"`         // for the end of a turn
}

type archiveConfig struct {
	Dir         string `mapstructure:"dir" json:"dir"`
	Compression string `mapstructure:"compression" json:"compression"`

	Remote     string   `mapstructure:"remote" json:"remote"`         // s3://bucket/prefix, "" for none
	Endpoint   string   `mapstructure:"endpoint" json:"endpoint"`     // of the storage, "" is Amazon's
	Region     string   `mapstructure:"region" json:"region"`         // "" lets the storage say
	LocalKeep  string   `mapstructure:"local_keep" json:"local_keep"` // after which age an archive that is off-site may leave this disk, "" for never
	Retain     string   `mapstructure:"retain" json:"retain"`         // how long the storage keeps copies from being deleted
	Recipients []string `mapstructure:"recipients" json:"recipients"` // of age
	Identity   string   `mapstructure:"identity" json:"identity"`     // a file of age
}

type embedConfig struct {
	Provider   string        `mapstructure:"provider" json:"provider"`
	Model      string        `mapstructure:"model" json:"model"`           // "" = the provider's own
	BaseURL    string        `mapstructure:"base_url" json:"base_url"`     // "" = the provider's own
	Dimensions int           `mapstructure:"dimensions" json:"dimensions"` // to ask for; 0 = the model's own
	APIKeyEnv  string        `mapstructure:"api_key_env" json:"api_key_env"`
	APIKeyFile string        `mapstructure:"api_key_file" json:"api_key_file"`
	Timeout    time.Duration `mapstructure:"timeout" json:"timeout"` // of one text
}

type cleanConfig struct {
	MaxAge string `mapstructure:"max_age" json:"max_age"`
	Grace  string `mapstructure:"grace" json:"grace"`
}

type memoryConfig struct {
	OutputLimit int64        `mapstructure:"output_limit" json:"output_limit"` // bytes of one output of a tool that are remembered
	Remote      remoteConfig `mapstructure:"remote" json:"remote"`
}

type recallConfig struct {
	Limit int    `mapstructure:"limit" json:"limit"`
	Rank  string `mapstructure:"rank" json:"rank"`
}

type hooksConfig struct {
	Brief int `mapstructure:"brief" json:"brief"` // characters of the last summary that an agent is told when its session starts again; 0 = none
}

type llmConfig struct {
	MaxCalls int `mapstructure:"max_calls" json:"max_calls"` // of one run, to models
}

// modelConfig says who writes: summaries, or facts.
type modelConfig struct {
	Provider string        `mapstructure:"provider" json:"provider"`
	Model    string        `mapstructure:"model" json:"model"`
	BaseURL  string        `mapstructure:"base_url" json:"base_url"`
	KeyEnv   string        `mapstructure:"api_key_env" json:"api_key_env"`   // name of the variable that holds the key
	KeyFile  string        `mapstructure:"api_key_file" json:"api_key_file"` // file that holds it
	Timeout  time.Duration `mapstructure:"timeout" json:"timeout"`           // of one call; 0 = the provider's
	Window   int           `mapstructure:"window" json:"window"`             // tokens the model reads; 0 = 32000
}

// recallDefaults are those of what is told of the memory.
func recallDefaults() map[string]any {
	return map[string]any{"recall.limit": 5, "recall.rank": "hybrid", "hooks.brief": 0}
}

// defaults is the lowest layer: flags > SESSCTL_* > file > defaults.
func defaults() map[string]any {
	all := map[string]any{
		"compaction.keep_recent_tokens": 0,
		"compaction.reserve_tokens":     16_384,
		"compaction.context_window":     0,
		"data_dir":                      "",
		"stores":                        []string{},
		"workers":                       2,
		"lock_wait":                     0,
		"compaction.threshold":          150_000,
		"compaction.quiet_period":       "1m",
		"compaction.strategy":           "",
		"compaction.gateway":            "auto",
		"openclaw.command":              "openclaw",
		"openclaw.deadline":             30 * time.Second,
		"openclaw.wait":                 15 * time.Second,
		"embed.provider":                "builtin",
		"embed.model":                   "",
		"embed.base_url":                "",
		"embed.dimensions":              0,
		"embed.api_key_env":             "",
		"embed.api_key_file":            "",
		"embed.timeout":                 "30s",
		"clean.max_age":                 "",
		"clean.grace":                   "7d",
		"macstats.lessons_agent":        "",
		"annabelle.threshold_chars":     20_000,
		"annabelle.min_turns":           8,
		"annabelle.cooldown":            "2m",
		"annabelle.keep_recent_turns":   5,
		"yarnnn.dsn":                    "",
		"yarnnn.user_id":                "",
		"yarnnn.inactivity":             "4h",
		"yarnnn.min_user_messages":      5,
		"summarize.provider":            "extractive",
		"summarize.model":               "",
		"summarize.base_url":            "",
		"summarize.api_key_env":         "",
		"summarize.api_key_file":        "",
		"summarize.timeout":             0,
		"summarize.window":              0,
		"facts.provider":                "extractive",
		"facts.model":                   "",
		"facts.base_url":                "",
		"facts.api_key_env":             "",
		"facts.api_key_file":            "",
		"facts.timeout":                 0,
		"facts.window":                  0,
		"llm.max_calls":                 50,
		"memory.output_limit":           compact.DefaultOutputLimit,
	}
	for _, more := range []map[string]any{recallDefaults(), monitorDefaults(), eventDefaults(), serveDefaults(), remoteDefaults(), archiveDefaults()} {
		maps.Copy(all, more)
	}
	return all
}

// configAnnotation marks a flag that a configuration key can fill.
const configAnnotation = "sessctl_config_key"

func fromConfig(fs *pflag.FlagSet, flag, key string) {
	if err := fs.SetAnnotation(flag, configAnnotation, []string{key}); err != nil {
		panic(err) // the flag's name is misspelt in the source
	}
}

// loadConfig reads the layers once and fills every flag of the command that
// the user did not type.
func (a *app) loadConfig(c *cobra.Command) error {
	v, err := a.readConfig()
	if err != nil {
		return err
	}
	if err := a.checkConfig(v); err != nil {
		return err
	}
	if err := a.config.checkStores(); err != nil {
		return a.blameKey(err)
	}
	return a.fillFlags(c.Flags(), v)
}

// fillFlags fills every flag that was not typed.
func (a *app) fillFlags(fs *pflag.FlagSet, v *viper.Viper) error {
	var failed error
	fs.VisitAll(func(f *pflag.Flag) {
		if key := f.Annotations[configAnnotation]; len(key) == 1 && !f.Changed && failed == nil {
			failed = a.fillFlag(f, v, key[0])
		}
	})
	return failed
}

func (a *app) readConfig() (*viper.Viper, error) {
	v := viper.New()
	for key, value := range defaults() {
		v.SetDefault(key, value)
	}
	if err := readConfigFile(v, a.configFile(), a.global.ConfigFile != ""); err != nil {
		return nil, err
	}
	for key := range defaults() {
		if value := a.getenv(envName(key)); value != "" {
			v.Set(key, envValue(key, value))
		}
	}
	return v, nil
}

// maxConfig bounds the configuration file, in bytes.
const maxConfig = 1 << 20

func readConfigFile(v *viper.Viper, path string, required bool) error {
	text, err := durable.ReadSmall(path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) && !required {
		return nil
	}
	if err != nil {
		return usageError("", "read configuration: %w", err)
	}
	v.SetConfigType("yaml")
	if err := v.ReadConfig(bytes.NewReader(text)); err != nil {
		return usageError("the file is YAML, see docs/configuration.md", "%s: read configuration: %w", path, oneLine(err))
	}
	return nil
}

// configFile is the path of the configuration, or "": without a home directory a file
// below the working directory is nobody's configuration.
func (a *settings) configFile() string {
	if a.global.ConfigFile != "" {
		return a.global.ConfigFile
	}
	if file := a.getenv("SESSCTL_CONFIG"); file != "" {
		return file
	}
	if dir := a.xdg("XDG_CONFIG_HOME", ".config"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sessctl", "config.yaml")
	}
	return ""
}

// fillFlag sets a flag from a key; the error names the file and the line, or the
// variable.
func (a *app) fillFlag(f *pflag.Flag, v *viper.Viper, key string) error {
	var err error
	if list, ok := f.Value.(pflag.SliceValue); ok {
		err = list.Replace(v.GetStringSlice(key))
	} else if value := v.GetString(key); value != "" {
		err = f.Value.Set(value)
	}
	if err != nil {
		if kind := kindOf(key); kind != aText {
			return a.wrongKind(key, kind, v.Get(key))
		}
		return usageError(keysHint, "%s: %s: %w", a.originOf(key), key, err)
	}
	return nil
}

func envName(key string) string {
	return "SESSCTL_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// envValue splits lists: paths are separated as in $PATH. A list of targets is
// written as in the file.
func envValue(key, value string) any {
	if _, targets := listKeys()[key]; targets || key == schedulesKey {
		return listOfTargets(value)
	}
	switch key {
	case "stores":
		return filepath.SplitList(value)
	case "serve.allowed_hosts":
		return strings.Split(value, ",")
	}
	return value
}

// xdg returns a base directory: the variable's if that is an absolute path,
// else the given one under the home directory.
func (a *settings) xdg(variable, underHome string) string {
	if dir := a.getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(a.home(), underHome)
}

func (a *settings) home() string {
	if home := a.getenv("HOME"); home != "" {
		return home
	}
	home, _ := os.UserHomeDir()
	return home
}

// dataDir is the directory of everything that sessctl stores. Where there is no
// home directory it is what systemd gives a unit with StateDirectory=.
func (a *settings) dataDir() string {
	if a.global.DataDir != "" {
		return absolute(a.global.DataDir)
	}
	if state, _, _ := strings.Cut(a.getenv("STATE_DIRECTORY"), ":"); a.home() == "" && filepath.IsAbs(state) {
		return filepath.Clean(state)
	}
	return filepath.Join(a.xdg("XDG_DATA_HOME", filepath.Join(".local", "share")), "sessctl")
}

// withoutData are the commands that work on sessions alone, or on none.
func withoutData() []string {
	return []string{"sessctl", "sizes", "stores", "replay-context", "config", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}
}

// checkDataDir refuses to work below whatever the working directory is: the next
// run, elsewhere, would find neither the archives nor the lock.
func (a *app) checkDataDir(c *cobra.Command) error {
	if filepath.IsAbs(a.dataDir()) || slices.Contains(withoutData(), topCommand(c).Name()) {
		return nil
	}
	return usageError("name one with --data-dir or SESSCTL_DATA_DIR, or set HOME", "there is no home directory, so there is no place for archives and memory")
}

func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	return abs
}

// annabelleConfig says when and how sessions of Annabelle are compacted.
type annabelleConfig struct {
	ThresholdChars  int64         `mapstructure:"threshold_chars" json:"threshold_chars"`
	MinTurns        int           `mapstructure:"min_turns" json:"min_turns"`
	Cooldown        time.Duration `mapstructure:"cooldown" json:"cooldown"`
	KeepRecentTurns int           `mapstructure:"keep_recent_turns" json:"keep_recent_turns"`
}

type macStatsConfig struct {
	LessonsAgent string `mapstructure:"lessons_agent" json:"lessons_agent"` // "" for every agent
}

type yarnnnConfig struct {
	DSN          string        `mapstructure:"dsn" json:"-"`                 // may hold a password
	UserID       string        `mapstructure:"user_id" json:"user_id"`       // only this user's sessions; "" for all
	Inactivity   time.Duration `mapstructure:"inactivity" json:"inactivity"` // after which a session is summed up
	UserMessages int           `mapstructure:"min_user_messages" json:"min_user_messages"`
}

// checkStores looks at what becomes part of a path.
func (c *config) checkStores() error {
	if id := c.MacStats.LessonsAgent; id != "" && !session.SafeID(id) {
		return usageError("it is the id of an agent of mac-stats, without agent-", "macstats.lessons_agent: %q cannot be part of a path", id)
	}
	return nil
}

// configKey is one key of `config show`.
type configKey struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"` // default, file or the variable's name
}

// fileConfig is what the configuration file alone says, nothing without one.
func (a *app) fileConfig() *viper.Viper {
	file := viper.New()
	if text, err := durable.ReadSmall(a.configFile(), maxConfig); err == nil {
		file.SetConfigType("yaml")
		_ = file.ReadConfig(bytes.NewReader(text)) // it was read once already, without error
	}
	return file
}

// configKeys returns every key with its value and the layer that set it.
func configKeys(a *app) []configKey {
	file := a.fileConfig()
	merged, err := a.readConfig()
	if err != nil {
		return nil
	}
	var keys []configKey
	for _, key := range slices.Concat(slices.Collect(maps.Keys(defaults())), profileKeysOf(merged)) {
		origin := "default"
		if file.IsSet(key) {
			origin = "file"
		}
		if a.getenv(envName(key)) != "" {
			origin = envName(key)
		}
		keys = append(keys, configKey{Key: key, Value: shownValue(key, merged.Get(key)), Origin: origin})
		if key == "data_dir" {
			keys[len(keys)-1] = a.dataDirKey(merged.GetString(key), origin)
		}
	}
	slices.SortFunc(keys, func(x, y configKey) int {
		if x.Key < y.Key {
			return -1
		}
		return 1
	})
	return keys
}

// dataDirKey shows the data directory that is used: that of the flag, of the
// layer that set it, or the one that is made up where none does.
func (a *invocation) dataDirKey(configured, origin string) configKey {
	dir := a.dataDir()
	switch {
	case a.global.DataDir != configured:
		origin = "--data-dir"
	case !filepath.IsAbs(dir): // without a home directory there is none
		dir = ""
	}
	return configKey{Key: "data_dir", Value: dir, Origin: origin}
}

// shownValue hides values that may hold a password.
func shownValue(key string, value any) any {
	if (key == "yarnnn.dsn" || key == "events.url" || key == "memory.remote.url") && value != "" {
		return "(set)"
	}
	if list, ok := value.([]any); ok { // of targets, whose addresses may hold tokens
		return fmt.Sprintf("(%d set)", len(list))
	}
	return value
}

func newConfigCommand(a *app) *cobra.Command {
	config := &cobra.Command{
		Use:     "config",
		Short:   "Show the configuration",
		Example: "  sessctl config show",
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	config.AddCommand(&cobra.Command{
		Use:     "show",
		Short:   "Show every key, its value and where the value comes from",
		Example: "  sessctl config show",
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(*cobra.Command, []string) error { return runConfigShow(a) },
	})
	return config
}

func runConfigShow(a *app) error {
	keys := configKeys(a)
	if a.JSON {
		return a.printJSON(map[string]any{"schema": 1, "file": a.configFile(), "file_exists": exists(a.configFile()), "data_dir": a.dataDir(), "keys": keys})
	}
	if !exists(a.configFile()) {
		a.notice(note{Path: a.configFile(), Message: "no configuration file; defaults and variables are used"})
	}
	t := table{empty: "no keys", columns: []column{{name: "KEY"}, {name: "VALUE", least: 20}, {name: "FROM", least: 7}}}
	for _, k := range keys {
		t.rows = append(t.rows, []string{k.Key, visible(fmt.Sprint(k.Value)), k.Origin})
	}
	return a.printList(t, t.rows)
}
