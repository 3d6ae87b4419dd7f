package web

import (
	"net"
	"path/filepath"
	"runtime/debug"

	"github.com/sessctl/sessctl/internal/workspace"
)

// ServeOptions are the options of serve.
type ServeOptions struct {
	Listen      string
	CertFile    string
	KeyFile     string
	WithoutTLS  bool
	PrintSchema bool
}

// A server that is there all day, and what works on databases of any size, should
// be small rather than fast. collectAt is by how many percent memory may grow
// between two collections of garbage; softLimit is above what a server needs, and
// below what a thousand clients at once would make it (docs/reliability.md): there
// it collects more often. What cannot be collected may be more; Go then collects
// at most half of the time.
const (
	collectAt = 25
	softLimit = 40 << 20 // bytes
)

// KeepSmall sets both, unless the environment says otherwise.
func KeepSmall(a *workspace.Settings) {
	if a.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	if a.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softLimit)
	}
}

// JobsDir is the directory of what a server was asked to do.
func JobsDir(a *workspace.Settings) string { return filepath.Join(a.DataDir(), "jobs") }

// NotifySystemd tells a service manager that asked for it how far the server is
// (sd_notify).
func NotifySystemd(getenv func(string) string, state string) {
	socket := getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	conn, err := net.Dial("unixgram", socket)
	if err != nil {
		return // it was asked for by nobody who listens
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(state)) // the manager has its own deadline
}
