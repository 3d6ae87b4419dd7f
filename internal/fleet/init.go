package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/hooks"
	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
	"github.com/sessctl/sessctl/pkg/memory/remote/weaviate"
)

// InitOptions are the options of fleet init.
type InitOptions struct {
	Hosts    []string // to invite
	Server   string   // name by which hosts reach the server, "" for the one that was used to connect
	Database string   // that a superuser makes
	Again    bool     // new lines for hosts that have a role
}

// Invited is a host and its line.
type Invited struct {
	Host string `json:"host"`
	Line string `json:"line"` // a secret
}

// InitDocument is `fleet init --json` (docs/json.md).
type InitDocument struct {
	Schema int              `json:"schema"`
	Server string           `json:"server"` // host, port and database
	Engine string           `json:"engine"` // what the server is
	Words  string           `json:"words"`  // what proposes records by their words
	Hosts  []Invited        `json:"hosts"`  // those that were invited
	Notes  []workspace.Note `json:"notes"`
}

// Init sets up a shared memory, or brings it up to date, and invites hosts. Nobody is
// invited to a server that hosts cannot reach safely.
func Init(ctx context.Context, run *workspace.Run, o InitOptions) (doc InitDocument, err error) {
	for _, host := range o.Hosts {
		if !recall.IsHostName(host) {
			return doc, failure.Usage("write the name by which ssh reaches it", "%q is not the name of a host", host)
		}
	}
	doc = InitDocument{Schema: 1, Hosts: []Invited{}}
	if weaviate.IsAddress(run.Config.Memory.Remote.URL) {
		return doc, initCluster(ctx, run, o, &doc)
	}
	own, err := own(ctx, run, o.Database, len(o.Hosts) > 0)
	if err != nil {
		return doc, err
	}
	defer own.Close()
	if err := describe(ctx, run, own, &doc); err != nil {
		return doc, err
	}
	if len(o.Hosts) == 0 && o.Server == "" {
		return doc, nil
	}
	way, err := reach(ctx, run, own, o.Server)
	for _, host := range o.Hosts {
		if err != nil {
			break
		}
		i := way
		i.Host, i.URL = host, withRole(way.URL, host)
		if i.Password, err = own.Invite(ctx, host, o.Again); err == nil {
			doc.Hosts = append(doc.Hosts, Invited{host, i.Line()})
		}
	}
	return doc, explainOwner(err)
}

// own connects as the owner: PGUSER counts before the role of the configured address,
// which is that of a host.
func own(ctx context.Context, run *workspace.Run, database string, invites bool) (*postgres.Owner, error) {
	c := run.Config.Memory.Remote
	own, err := postgres.Own(ctx, postgres.OwnerOptions{URL: c.URL, As: run.Getenv("PGUSER"), Database: database, Invites: invites, Timeout: c.Timeout})
	return own, explainOwner(err)
}

// initCluster makes the collections of a cluster, which has no roles.
func initCluster(ctx context.Context, run *workspace.Run, o InitOptions, doc *InitDocument) error {
	if len(o.Hosts) > 0 || o.Server != "" {
		return failure.Usage("put its address and key into the configuration of every host: docs/fleet.md", "a cluster of Weaviate has no roles: nobody is invited to it")
	}
	shared, err := workspace.OpenShared(ctx, &run.Settings, true)
	if err != nil {
		return err
	}
	defer shared.Close()
	return describe(ctx, run, shared, doc)
}

func describe(ctx context.Context, run *workspace.Run, shared workspace.SharedMemory, doc *InitDocument) error {
	counts, err := shared.Count(ctx)
	if err != nil {
		return workspace.ExplainShared(err)
	}
	doc.Server, doc.Engine, doc.Words = shared.Address(), counts.Engine, counts.Words
	if counts.Unused != "" {
		run.Notice(workspace.Note{Message: "not used: " + counts.Unused, Hint: "docs/fleet.md says what the server needs for it"})
	}
	return nil
}

func explainOwner(err error) error {
	if errors.Is(err, postgres.ErrInvited) {
		return &failure.Error{Code: "invited", Exit: failure.ExitFailed, Hint: "--again makes a new line and ends its password: a host that has joined must join again", Err: err}
	}
	if n := (*postgres.Needs)(nil); errors.As(err, &n) {
		return &failure.Error{Code: "not_allowed", Exit: failure.ExitFailed, Hint: fmt.Sprintf("a superuser types, once: psql -d %s -c %s", hooks.QuoteWord(n.Database), hooks.QuoteWord(strings.Join(n.Statements, "; "))), Err: err}
	}
	return workspace.ExplainShared(err)
}

// withRole is the address of a server as a role.
func withRole(way, role string) string {
	u, err := url.Parse(way)
	if err != nil {
		return way
	}
	u.User = url.User(role)
	return u.String()
}

// reach is how hosts get to the server. With a name for it, a superuser opens the server
// to them, by TLS alone.
func reach(ctx context.Context, run *workspace.Run, own *postgres.Owner, server string) (i Invitation, err error) {
	host, port, database := own.Place()
	u := url.URL{Scheme: "postgres", Path: "/" + database}
	if server == "" && strings.HasPrefix(host, "/") {
		u.RawQuery = url.Values{"host": {host}, "port": {strconv.Itoa(int(port))}}.Encode()
		run.Notice(workspace.Note{Message: "only hosts that share the directory " + host + " reach the server", Hint: "for others: sessctl fleet init --server NAME"})
		i.URL = u.String()
		return i, nil
	}
	var mode string
	name, given, err := net.SplitHostPort(server)
	switch {
	case err != nil && server != "":
		name, given = server, strconv.Itoa(int(port))
	case server == "":
		name, given = host, strconv.Itoa(int(port))
	}
	if i.Authority, mode, err = openTo(ctx, run, own, name, server != ""); err != nil {
		return i, err
	}
	u.Host, u.RawQuery = net.JoinHostPort(name, given), url.Values{"sslmode": {mode}}.Encode()
	i.URL = u.String()
	return i, nil
}

// hostname is what a note calls this machine.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "this machine"
	}
	return wording.Visible(name)
}
