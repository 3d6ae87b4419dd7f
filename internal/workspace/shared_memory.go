package workspace

import (
	"cmp"
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
	"github.com/sessctl/sessctl/pkg/memory/remote/weaviate"
)

// ErrNoShared is the answer where a shared memory is asked for and none is named.
func ErrNoShared() error {
	return &failure.Error{Code: "no_shared_memory", Exit: failure.ExitFailed, Hint: "sessctl fleet join LINE, or set memory.remote.url (docs/fleet.md)", Err: errors.New("no shared memory is configured")}
}

// SharedMemory is a memory that hosts share, with what only commands want of it.
type SharedMemory interface {
	remote.Memory
	// Server is its identity, Address says where it is, without a password.
	Server() string
	Address() string
	// Fact is what a hit says as a fact, without a kind if it says none.
	Fact(ctx context.Context, h memory.Hit) (memory.Fact, error)
	// Sessions lists at most n sessions whose ids begin with a text, in order.
	Sessions(ctx context.Context, start string, n int) ([]string, error)
	// Index indexes vectors that are not indexed as they are stored.
	Index(ctx context.Context, m memory.VectorModel) (made int, err error)
}

// remoteConfig says which memory hosts share.
type remoteConfig struct {
	URL          string        `mapstructure:"url" json:"-"`                                 // may hold a password
	KeyEnv       string        `mapstructure:"api_key_env" json:"api_key_env"`               // variable that holds the key of a cluster, "" is WEAVIATE_API_KEY
	KeyFile      string        `mapstructure:"api_key_file" json:"api_key_file"`             // file that holds it
	Host         string        `mapstructure:"host" json:"host"`                             // "": the name of the machine
	Except       []string      `mapstructure:"except" json:"except"`                         // agents and projects that are not shared
	AfterCompact bool          `mapstructure:"push_after_compact" json:"push_after_compact"` // of whatever a compaction has stored
	Search       string        `mapstructure:"search" json:"search"`                         // index or exact
	Timeout      time.Duration `mapstructure:"timeout" json:"timeout"`                       // of one request
}

func remoteDefaults() map[string]any {
	return map[string]any{
		"memory.remote.url":                "",
		"memory.remote.host":               "",
		"memory.remote.api_key_env":        "",
		"memory.remote.api_key_file":       "",
		"memory.remote.push_after_compact": false,
		"memory.remote.except":             []string{},
		"memory.remote.search":             searchIndex,
		"memory.remote.timeout":            "10s",
	}
}

// The ways to compare vectors.
const (
	searchIndex = "index" // nearly all of the nearest, soon
	searchExact = "exact" // the nearest for certain
)

func (c *remoteConfig) check() error {
	if c.Search != searchIndex && c.Search != searchExact {
		return failure.Usage("index, or exact", "memory.remote.search: unknown way to search %q", c.Search)
	}
	for _, pattern := range c.Except {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return failure.Usage("write an agent, a project, a directory or a runtime: claude/private-*", "memory.remote.except: %q is no pattern of names", pattern)
		}
	}
	if c.Timeout <= 0 {
		return failure.Usage("", "memory.remote.timeout must be positive")
	}
	return nil
}

// Shares reports whether a shared memory is configured.
func Shares(a *Settings) bool { return a.Config.Memory.Remote.URL != "" }

// OpenShared connects to the shared memory.
func OpenShared(ctx context.Context, a *Settings, setUp bool) (SharedMemory, error) {
	c := a.Config.Memory.Remote
	if !Shares(a) {
		return nil, ErrNoShared()
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if weaviate.IsAddress(c.URL) {
		return openCluster(ctx, a, setUp)
	}
	m, err := postgres.Open(ctx, postgres.Options{URL: c.URL, Exact: c.Search == searchExact, SetUp: setUp, Timeout: c.Timeout})
	if err != nil {
		return nil, ExplainShared(err)
	}
	return m, nil
}

// openCluster connects to a cluster of Weaviate.
func openCluster(ctx context.Context, a *Settings, setUp bool) (SharedMemory, error) {
	c := a.Config.Memory.Remote
	key, err := clusterKey(a)
	if err != nil {
		return nil, err
	}
	m, err := weaviate.Open(ctx, weaviate.Options{URL: c.URL, Key: key, Exact: c.Search == searchExact, SetUp: setUp})
	if err != nil {
		return nil, ExplainShared(err)
	}
	return m, nil
}

// clusterKeyEnv is the variable that holds the key if no other is named.
const clusterKeyEnv = "WEAVIATE_API_KEY"

// clusterKey is the key of a cluster, "" if none is configured.
func clusterKey(a *Settings) (string, error) {
	if path := a.Config.Memory.Remote.KeyFile; path != "" {
		return readKey("memory.remote.api_key_file", path)
	}
	return strings.TrimSpace(a.Getenv(ClusterKeyVariable(a))), nil
}

// ClusterKeyVariable is the variable that holds the key of a cluster, "" if
// none is configured or the key is in a file.
func ClusterKeyVariable(a *Settings) string {
	c := a.Config.Memory.Remote
	if !weaviate.IsAddress(c.URL) || c.KeyFile != "" {
		return ""
	}
	return cmp.Or(c.KeyEnv, clusterKeyEnv)
}

// AdviseOther is what to do where the name of this host is that of another memory.
const AdviseOther = "if another machine has this name too, set memory.remote.host on one of them; if this memory was rebuilt, restored or copied, sessctl push --take-over --dry-run shows what would be dropped there (docs/fleet.md)"

// AdviseRole is what to do where the name of this host is that of another role.
const AdviseRole = "if another machine has this name too, set memory.remote.host on one of them; else push as the role that owns the name, or let the owner of the database give it to this role (docs/fleet.md); --take-over does not help"

// ExplainShared adds to an error of a shared memory what to do.
func ExplainShared(err error) error {
	for _, known := range []struct {
		err        error
		code, hint string
		exit       int
	}{
		{remote.ErrUnreachable, "unreachable", "is the server up? memory.remote.url, PGHOST and PGSERVICE say where it is; nothing is lost, try again later", failure.ExitBusy},
		{remote.ErrBusy, "busy", "nothing is lost, try again later; if that stays so: docs/fleet.md, many hosts", failure.ExitBusy},
		{remote.ErrUnsuitable, "unsuitable_server", "docs/fleet.md says what the server needs", failure.ExitFailed},
		{remote.ErrNotSetUp, "not_set_up", "as the owner of the database, or the administrator of the cluster: sessctl fleet init", failure.ExitFailed},
		{remote.ErrOlderSchema, "older_schema", "as its owner: sessctl fleet init with this version; hosts with an earlier one share nothing then until they have it too, and lose nothing", failure.ExitFailed},
		{remote.ErrNewerSchema, "newer_schema", "install that version of sessctl, or a later one, on this host; nothing is lost, what is new here is pushed then", failure.ExitFailed},
		{remote.ErrOtherRole, "not_allowed", AdviseRole, failure.ExitFailed},
		{remote.ErrNoRights, "not_allowed", "as the owner of the database: that statement, or sessctl fleet init HOST", failure.ExitFailed},
		{remote.ErrTLS, "not_allowed", "name the certificate to trust (sslrootcert=FILE in memory.remote.url, or PGSSLROOTCERT) and the server as its certificate does; or join again with a new line: sessctl fleet init HOST --again", failure.ExitFailed},
		{remote.ErrNotAllowed, "not_allowed", "look at the role, its password (PGPASSFILE) or key (memory.remote.api_key_file), and its rights: docs/fleet.md; if its password has ended, join again with a new line: sessctl fleet init HOST --again", failure.ExitFailed},
		{remote.ErrOtherMemory, "other_memory", AdviseOther, failure.ExitFailed},
		{remote.ErrNotThere, "not_there", "nothing is lost here: push again, and look at the server", failure.ExitPartly},
	} {
		var f *failure.Error
		if errors.Is(err, known.err) && !errors.As(err, &f) {
			return &failure.Error{Code: known.code, Exit: known.exit, Hint: known.hint, Err: err}
		}
	}
	return err
}
