package workspace

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// Config is the whole configuration, typed. The keys of the file are the
// mapstructure names, nested by dots; each is also SESSCTL_<KEY> with dots as
// underscores. Unknown keys are errors.
type Config struct {
	DataDir    string           `mapstructure:"data_dir" json:"data_dir"`
	Stores     []string         `mapstructure:"stores" json:"stores"`
	OnlyStores []string         `mapstructure:"only_stores" json:"only_stores"`
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
	Summarize  ModelConfig      `mapstructure:"summarize" json:"summarize"`
	Facts      ModelConfig      `mapstructure:"facts" json:"facts"`
	LLM        llmConfig        `mapstructure:"llm" json:"llm"`
	Events     eventsConfig     `mapstructure:"events" json:"events"`
	Serve      serveConfig      `mapstructure:"serve" json:"serve"`
	// Profiles are the unattended runs that the file describes, by their names.
	Profiles map[string]ProfileConfig `mapstructure:"profiles" json:"profiles"`
	Monitor  monitorConfig            `mapstructure:"monitor" json:"monitor"`
	Ledger   ledgerConfig             `mapstructure:"ledger" json:"ledger"`
}

type compactionConfig struct {
	Enabled   bool          `mapstructure:"enabled" json:"enabled"`           // false: no session is due
	Threshold string        `mapstructure:"threshold" json:"threshold"`       // tokens, a share of the window, or both
	Of        []string      `mapstructure:"thresholds" json:"thresholds"`     // of runtimes and agents: pi=80%, openclaw/main=120000
	Windows   []string      `mapstructure:"windows" json:"windows"`           // tokens, of models, runtimes and agents: gpt-4.1=1000000
	Quiet     time.Duration `mapstructure:"quiet_period" json:"quiet_period"` // how long a session must be untouched
	// LongestTurn is how long after its last change a turn can still be going on.
	LongestTurn time.Duration `mapstructure:"longest_turn" json:"longest_turn"`
	Strategy    string        `mapstructure:"strategy" json:"strategy"`
	Gateway     string        `mapstructure:"gateway" json:"gateway"`                       // auto, never or require
	Keep        int64         `mapstructure:"keep_recent_tokens" json:"keep_recent_tokens"` // 0 = the runtime's own
	Reserve     int64         `mapstructure:"reserve_tokens" json:"reserve_tokens"`         // of the window, for the answer; 0 = the runtime's own
	Window      int64         `mapstructure:"context_window" json:"context_window"`         // tokens; 0 = the runtime's own
}

type openClawConfig struct {
	Command  string        `mapstructure:"command" json:"command"`   // the runtime's program, to ask its gateway where its socket cannot be used
	Deadline time.Duration `mapstructure:"deadline" json:"deadline"` // of one question
	Wait     time.Duration `mapstructure:"wait" json:"wait"`         // for the end of a turn
}

type archiveConfig struct {
	Dir         string `mapstructure:"dir" json:"dir"`
	Compression string `mapstructure:"compression" json:"compression"`
	Supersede   bool   `mapstructure:"supersede" json:"supersede"` // run and hooks keep what a newer archive begins with only in that

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
	Brief int `mapstructure:"brief" json:"brief"` // characters in which an agent is told where its work stands when its session starts again; 0 = none
}

type llmConfig struct {
	MaxCalls int `mapstructure:"max_calls" json:"max_calls"` // of one run, to models
}

// ModelConfig says who writes: summaries, or facts.
type ModelConfig struct {
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
	return map[string]any{"recall.limit": 5, "recall.rank": "hybrid", "hooks.brief": 800}
}

// compactionDefaults are those of when and how sessions are compacted.
func compactionDefaults() map[string]any {
	return map[string]any{
		"compaction.keep_recent_tokens": 0,
		"compaction.enabled":            true,
		"compaction.reserve_tokens":     0,
		"compaction.context_window":     0,
		"compaction.threshold":          compact.DefaultThreshold().String(),
		"compaction.thresholds":         []string{},
		"compaction.windows":            []string{},
		"compaction.quiet_period":       "1m",
		"compaction.longest_turn":       "24h",
		"compaction.strategy":           "",
		"compaction.gateway":            "auto",
	}
}

// Defaults is the lowest layer: flags > SESSCTL_* > file > that of the fleet > defaults.
func Defaults() map[string]any {
	all := map[string]any{
		"data_dir":                    "",
		"stores":                      []string{},
		"only_stores":                 []string{},
		"workers":                     2,
		"lock_wait":                   0,
		"openclaw.command":            "openclaw",
		"openclaw.deadline":           30 * time.Second,
		"openclaw.wait":               15 * time.Second,
		"embed.provider":              "builtin",
		"embed.model":                 "",
		"embed.base_url":              "",
		"embed.dimensions":            0,
		"embed.api_key_env":           "",
		"embed.api_key_file":          "",
		"embed.timeout":               "30s",
		"clean.max_age":               "",
		"clean.grace":                 "7d",
		"macstats.lessons_agent":      "",
		"annabelle.threshold_chars":   20_000,
		"annabelle.min_turns":         8,
		"annabelle.cooldown":          "2m",
		"annabelle.keep_recent_turns": 5,
		"yarnnn.dsn":                  "",
		"yarnnn.user_id":              "",
		"yarnnn.inactivity":           "4h",
		"yarnnn.min_user_messages":    5,
		"summarize.provider":          "extractive",
		"summarize.model":             "",
		"summarize.base_url":          "",
		"summarize.api_key_env":       "",
		"summarize.api_key_file":      "",
		"summarize.timeout":           0,
		"summarize.window":            0,
		"facts.provider":              "extractive",
		"facts.model":                 "",
		"facts.base_url":              "",
		"facts.api_key_env":           "",
		"facts.api_key_file":          "",
		"facts.timeout":               0,
		"facts.window":                0,
		"llm.max_calls":               50,
		"memory.output_limit":         compact.DefaultOutputLimit,
	}
	for _, more := range []map[string]any{compactionDefaults(), recallDefaults(), monitorDefaults(), eventDefaults(), serveDefaults(), remoteDefaults(), archiveDefaults(), ledgerDefaults()} {
		maps.Copy(all, more)
	}
	return all
}

// ConfigAnnotation marks a flag that a configuration key can fill.
const ConfigAnnotation = "sessctl_config_key"

// MaxConfig bounds the configuration file, in bytes.
const MaxConfig = 1 << 20

// ConfigFile is the path of the configuration, or "": without a home directory a file
// below the working directory is nobody's configuration.
func ConfigFile(a *Settings) string {
	if a.Global.ConfigFile != "" {
		return a.Global.ConfigFile
	}
	if file := a.Getenv("SESSCTL_CONFIG"); file != "" {
		return file
	}
	if dir := a.Xdg("XDG_CONFIG_HOME", ".config"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sessctl", "config.yaml")
	}
	return ""
}

// FleetFile is what sessctl fleet join writes: the layer below the configuration file,
// beside it. It holds a password.
func FleetFile(a *Settings) string {
	if file := ConfigFile(a); file != "" {
		return filepath.Join(filepath.Dir(file), "fleet.yaml")
	}
	return ""
}

// EnvName is the variable that sets a key of the configuration.
func EnvName(key string) string {
	return "SESSCTL_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// EnvValue splits lists: paths are separated as in $PATH. A list of targets is
// written as in the file.
func EnvValue(key, value string) any {
	if _, targets := ListKeys()[key]; targets || key == SchedulesKey {
		return listOfTargets(value)
	}
	switch key {
	case "stores", "only_stores":
		return filepath.SplitList(value)
	case "compaction.thresholds", "compaction.windows":
		return strings.Fields(value) // a threshold may have a comma
	case "serve.allowed_hosts", "ledger.heads", "memory.remote.except":
		return strings.Split(value, ",")
	}
	return value
}

// Xdg returns a base directory: the variable's if that is an absolute path,
// else the given one under the home directory.
func (s *Settings) Xdg(variable, underHome string) string {
	if dir := s.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(s.Home(), underHome)
}

// Home is the home directory.
func (s *Settings) Home() string {
	if home := s.Getenv("HOME"); home != "" {
		return home
	}
	home, _ := os.UserHomeDir()
	return home
}

// DataDir is the directory of everything that sessctl stores. Where there is no
// home directory it is what systemd gives a unit with StateDirectory=.
func (s *Settings) DataDir() string {
	if s.Global.DataDir != "" {
		return Absolute(s.Global.DataDir)
	}
	if state, _, _ := strings.Cut(s.Getenv("STATE_DIRECTORY"), ":"); s.Home() == "" && filepath.IsAbs(state) {
		return filepath.Clean(state)
	}
	return filepath.Join(s.Xdg("XDG_DATA_HOME", filepath.Join(".local", "share")), "sessctl")
}

// Absolute returns a path that begins at the root, with ~ spelt out where the shell did not.
func Absolute(path string) string {
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

// leastTurn is the shortest bound for a turn that can be configured: while a tool
// works for an hour, nothing is written.
const leastTurn = time.Hour

// CheckStores looks at what becomes part of a path, and at the bound of a turn.
func (c *Config) CheckStores() error {
	if longest := c.Compaction.LongestTurn; longest < leastTurn {
		return failure.Usage(KeysHint, "compaction.longest_turn must be at least %s, not %s", leastTurn, longest)
	}
	if id := c.MacStats.LessonsAgent; id != "" && !session.SafeID(id) {
		return failure.Usage("it is the id of an agent of mac-stats, without agent-", "macstats.lessons_agent: %q cannot be part of a path", id)
	}
	return nil
}

// ConfigKey is one key of `config show`.
type ConfigKey struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"` // default, file or the variable's name
}

// DataDirKey shows the data directory that is used: that of the flag, of the
// layer that set it, or the one that is made up where none does.
func DataDirKey(run *Run, configured, origin string) ConfigKey {
	dir := run.DataDir()
	switch {
	case run.Global.DataDir != configured:
		origin = "--data-dir"
	case !filepath.IsAbs(dir): // without a home directory there is none
		dir = ""
	}
	return ConfigKey{Key: "data_dir", Value: dir, Origin: origin}
}

// ShownValue hides values that may hold a password.
func ShownValue(key string, value any) any {
	if (key == "yarnnn.dsn" || key == "events.url" || key == "memory.remote.url") && value != "" {
		return "(set)"
	}
	if list, ok := value.([]string); ok && key == "ledger.heads" && len(list) > 0 {
		return fmt.Sprintf("(%d set)", len(list))
	}
	if list, ok := value.([]any); ok { // of targets, whose addresses may hold tokens
		return fmt.Sprintf("(%d set)", len(list))
	}
	return value
}

// ProfileConfig is one profile of the configuration: which steps a run has, and
// what each is told. What is not there is as for the command that is typed.
type ProfileConfig struct {
	Steps         []string      `mapstructure:"steps" json:"steps"`
	Compact       CompactStep   `mapstructure:"compact" json:"compact"`
	Archive       ArchiveStep   `mapstructure:"archive" json:"archive"`
	ExtractFacts  FactsStep     `mapstructure:"extract_facts" json:"extract_facts"`
	Clean         CleanStep     `mapstructure:"clean" json:"clean"`
	ArchivePrune  PruneStep     `mapstructure:"archives_prune" json:"archives_prune"`
	ArchiveVerify ArchiveVerify `mapstructure:"archives_verify" json:"archives_verify"`
}

// CompactStep is the step of a profile that compacts.
type CompactStep struct {
	Agents      []string `mapstructure:"agents" json:"agents"` // none: all
	Threshold   string   `mapstructure:"threshold" json:"threshold"`
	Strategy    string   `mapstructure:"strategy" json:"strategy"`
	Keep        int64    `mapstructure:"keep_recent_tokens" json:"keep_recent_tokens"`
	SkipSummary bool     `mapstructure:"skip_summary" json:"skip_summary"`
}

// ArchiveStep is the step of a profile that archives.
type ArchiveStep struct {
	Agents   []string `mapstructure:"agents" json:"agents"`
	Remember *bool    `mapstructure:"remember" json:"remember"` // nil: true
}

// FactsStep is the step of a profile that looks for facts.
type FactsStep struct {
	Agents        []string `mapstructure:"agents" json:"agents"`
	Max           *int     `mapstructure:"max" json:"max"`
	MinConfidence *float64 `mapstructure:"min_confidence" json:"min_confidence"`
}

// CleanStep is the step of a profile that deletes old sessions.
type CleanStep struct {
	Agents []string `mapstructure:"agents" json:"agents"`
	MaxAge string   `mapstructure:"max_age" json:"max_age"` // "": clean.max_age
	Grace  string   `mapstructure:"grace" json:"grace"`     // "": clean.grace
	Force  bool     `mapstructure:"force" json:"force"`     // without the limits of a run
}

// PruneStep is the step of a profile that deletes old archives.
type PruneStep struct {
	Agents     []string `mapstructure:"agents" json:"agents"`
	MaxAge     string   `mapstructure:"max_age" json:"max_age"`
	Keep       *int     `mapstructure:"keep" json:"keep"`
	Grace      string   `mapstructure:"grace" json:"grace"`
	LastCopies bool     `mapstructure:"last_copies" json:"last_copies"`
	Force      bool     `mapstructure:"force" json:"force"` // without the limits of a run, and for ages below a day
}

// ArchiveVerify is the step of a profile that reads archives again.
type ArchiveVerify struct {
	ReadEvery  string `mapstructure:"read_every" json:"read_every"`   // how often the copies here are read in full: 7d, 0 or never
	ReadRemote string `mapstructure:"read_remote" json:"read_remote"` // which part of the copies on object storage is read each time: 3%, or never
}

// Workers is how many logs are read at a time, where many are read and nothing
// is changed. What changes something is done one after the other.
func (s *Settings) Workers() int { return max(s.Global.Workers, 1) }

// serveConfig is the section serve.
type serveConfig struct {
	Listen       string   `mapstructure:"listen" json:"listen"`
	CertFile     string   `mapstructure:"tls_cert" json:"tls_cert"`
	KeyFile      string   `mapstructure:"tls_key" json:"tls_key"`
	AllowedHosts []string `mapstructure:"allowed_hosts" json:"allowed_hosts"` // names under which it may be asked
	// MCPAllowWrite says that /mcp offers the tools that change something too.
	MCPAllowWrite bool          `mapstructure:"mcp_allow_write" json:"mcp_allow_write"`
	Monitor       time.Duration `mapstructure:"monitor_interval" json:"monitor_interval"`
	Deliver       time.Duration `mapstructure:"deliver_interval" json:"deliver_interval"`
	// ShutdownTimeout is how long the step at hand may take to end after SIGTERM.
	ShutdownTimeout time.Duration   `mapstructure:"shutdown_timeout" json:"shutdown_timeout"`
	TimeZone        string          `mapstructure:"time_zone" json:"time_zone"` // of the schedules
	Schedules       []ServeSchedule `mapstructure:"schedules" json:"schedules"`
}

// ServeSchedule says when a profile is run.
type ServeSchedule struct {
	Profile string `mapstructure:"profile" json:"profile"`
	Cron    string `mapstructure:"cron" json:"cron"`
}

// SchedulesKey is the key of the schedules, a list of entries.
const SchedulesKey = "serve.schedules"

func serveDefaults() map[string]any {
	return map[string]any{
		"serve.listen":           "127.0.0.1:7433",
		"serve.tls_cert":         "",
		"serve.tls_key":          "",
		"serve.allowed_hosts":    []string{},
		"serve.mcp_allow_write":  false,
		"serve.monitor_interval": "5m",
		"serve.deliver_interval": "30s",
		"serve.shutdown_timeout": "25s",
		"serve.time_zone":        "Local",
		SchedulesKey:             []any{},
	}
}

// ledgerConfig says where heads of the ledger are kept beside this machine's state.
type ledgerConfig struct {
	Heads []string `mapstructure:"heads" json:"-"`   // addresses, which may hold a token
	Name  string   `mapstructure:"name" json:"name"` // of this ledger there; "": the host and the data directory
}

func ledgerDefaults() map[string]any {
	return map[string]any{"ledger.heads": []string{}, "ledger.name": ""}
}

// compressionAuto compresses what is ours alone.
const compressionAuto = "auto"

// archiveDefaults are the defaults of what is said of archives.
func archiveDefaults() map[string]any {
	return map[string]any{
		"archive.dir":         "",
		"archive.compression": compressionAuto,
		"archive.supersede":   true,
		"archive.remote":      "",
		"archive.endpoint":    "",
		"archive.region":      "",
		"archive.local_keep":  "",
		"archive.retain":      "",
		"archive.recipients":  []string{},
		"archive.identity":    "",
	}
}
