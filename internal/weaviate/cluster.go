package weaviate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ErrUnavailable is returned, wrapped with the reason, when no node can be
// started here.
var ErrUnavailable = errors.New("no Weaviate can be started here")

// Key is the key that nodes want.
const Key = "hunter2-hunter2"

// ports are what a node listens on.
type ports struct{ http, gossip, data, raft, rpc, grpc string }

// Node is one node of a cluster.
type Node struct {
	Name    string
	dir     string
	ports   ports
	process *exec.Cmd
	ended   chan struct{}
}

// Address is where a node answers: host:port.
func (n *Node) Address() string { return "127.0.0.1:" + n.ports.http }

// Cluster is a running cluster. Stop it.
type Cluster struct {
	Nodes   []*Node
	program string
}

// Start starts a cluster of so many nodes and waits until all are ready. Their
// files are below dir.
func Start(ctx context.Context, dir string, nodes int) (*Cluster, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	c := &Cluster{program: program}
	for i := range nodes {
		n := &Node{Name: fmt.Sprintf("node%d", i+1), dir: filepath.Join(dir, fmt.Sprintf("node%d", i+1))}
		if n.ports, err = freePorts(ctx); err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, n)
	}
	if err := c.RestartAll(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// RestartAll starts all nodes, on what they had, and waits until they are ready:
// none of them is without the others.
func (c *Cluster) RestartAll(ctx context.Context) error {
	for i := range c.Nodes {
		if err := c.launch(i); err != nil {
			return err
		}
	}
	for _, n := range c.Nodes {
		if err := n.ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// find looks for the program where install.sh puts it, and in the PATH.
func find() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	path := filepath.Join(cache, "sessctl-accept", "weaviate", "weaviate-server")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if path, err := exec.LookPath("weaviate-server"); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("%w: weaviate-server is not installed (testdata/weaviate/install.sh)", ErrUnavailable)
}

// freePorts are ports that nobody listens on.
func freePorts(ctx context.Context) (p ports, err error) {
	const tries = 50
	for range tries {
		if p, err = somePorts(ctx); err == nil {
			break
		}
	}
	return p, err
}

// somePorts listens on all of them at once, so that they differ. On one machine
// Weaviate takes the port behind that of raft for its remote calls.
func somePorts(ctx context.Context) (p ports, err error) {
	var open []net.Listener
	defer func() {
		for _, l := range open {
			err = errors.Join(err, l.Close())
		}
	}()
	for _, port := range []*string{&p.http, &p.gossip, &p.data, &p.grpc, &p.raft, &p.rpc} {
		wanted := "0"
		if port == &p.rpc {
			raft, err := strconv.Atoi(p.raft)
			if err != nil {
				return p, err
			}
			wanted = strconv.Itoa(raft + 1)
		}
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:"+wanted)
		if err != nil {
			return p, err
		}
		open = append(open, l)
		if _, *port, err = net.SplitHostPort(l.Addr().String()); err != nil {
			return p, err
		}
	}
	return p, nil
}

// launch starts a node, on what it had.
func (c *Cluster) launch(i int) error {
	n := c.Nodes[i]
	var join []string
	for _, other := range c.Nodes {
		join = append(join, other.Name+":"+other.ports.raft)
	}
	process := exec.Command(c.program, "--scheme", "http", "--host", "127.0.0.1", "--port", n.ports.http)
	process.Env = append(os.Environ(), "DISABLE_TELEMETRY=true", "GO_PROFILING_DISABLE="+cmp.Or(os.Getenv("GO_PROFILING_DISABLE"), "true"), "LOG_LEVEL="+cmp.Or(os.Getenv("WEAVIATE_LOG_LEVEL"), "error"), "LIMIT_RESOURCES=true",
		"PERSISTENCE_DATA_PATH="+n.dir, "ENABLE_MODULES=backup-filesystem", "BACKUP_FILESYSTEM_PATH="+filepath.Join(filepath.Dir(n.dir), "backups"),
		"CLUSTER_HOSTNAME="+n.Name, "CLUSTER_BIND_ADDR=127.0.0.1", "CLUSTER_ADVERTISE_ADDR=127.0.0.1", "CLUSTER_IN_LOCALHOST=true",
		"CLUSTER_GOSSIP_BIND_PORT="+n.ports.gossip, "CLUSTER_DATA_BIND_PORT="+n.ports.data,
		"RAFT_PORT="+n.ports.raft, "RAFT_INTERNAL_RPC_PORT="+n.ports.rpc, "RAFT_JOIN="+strings.Join(join, ","), fmt.Sprintf("RAFT_BOOTSTRAP_EXPECT=%d", len(c.Nodes)),
		"GRPC_PORT="+n.ports.grpc, "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=false", "AUTHENTICATION_APIKEY_ENABLED=true",
		"AUTHENTICATION_APIKEY_ALLOWED_KEYS="+Key, "AUTHENTICATION_APIKEY_USERS=team",
		"AUTHORIZATION_ADMINLIST_ENABLED=true", "AUTHORIZATION_ADMINLIST_USERS=team")
	if other := c.running(i); other != nil {
		if err := other.gossips(); err != nil {
			return err
		}
		process.Env = append(process.Env, "CLUSTER_JOIN=127.0.0.1:"+other.ports.gossip)
	}
	log, err := os.OpenFile(n.dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", n.Name, err)
	}
	defer log.Close()
	process.Stdout, process.Stderr = log, log
	if err := process.Start(); err != nil {
		return fmt.Errorf("start %s: %w", n.Name, err)
	}
	ended := make(chan struct{})
	go func() {
		_ = process.Wait() // whether it answers is what counts
		close(ended)
	}()
	n.process, n.ended = process, ended
	return nil
}

// running is a node that runs, other than i, nil if there is none.
func (c *Cluster) running(i int) *Node {
	for j, n := range c.Nodes {
		if j != i && n.process != nil {
			return n
		}
	}
	return nil
}

// gossips waits until a node can be joined: one that cannot join ends.
func (n *Node) gossips() error {
	const tries, pause = 300, 50 * time.Millisecond
	for range tries {
		if to, err := net.Dial("tcp", "127.0.0.1:"+n.ports.gossip); err == nil {
			return to.Close()
		}
		time.Sleep(pause)
	}
	return fmt.Errorf("%s cannot be joined: %s", n.Name, n.tail())
}

// ready waits until a node says that it is.
func (n *Node) ready(ctx context.Context) error {
	const longest, pause = 2 * time.Minute, 100 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for {
		if n.isReady(ctx) {
			return nil
		}
		select {
		case <-n.ended:
			return fmt.Errorf("%s has ended: %s", n.Name, n.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w: %s", n.Name, ctx.Err(), n.tail())
		case <-time.After(pause):
		}
	}
}

func (n *Node) isReady(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.Address()+"/v1/.well-known/ready", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// tail is the end of what a node has logged.
func (n *Node) tail() string {
	const much = 2000
	text, err := os.ReadFile(n.dir + ".log")
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-much):])
}

// Kill kills a node at once (-9), as a machine that loses power does to it.
func (c *Cluster) Kill(i int) {
	n := c.Nodes[i]
	if n.process == nil {
		return
	}
	_ = n.process.Process.Kill() // nobody else started it
	<-n.ended
	n.process = nil
}

// Restart starts a node again, on what it had, and waits until it is ready.
func (c *Cluster) Restart(ctx context.Context, i int) error {
	if err := c.launch(i); err != nil {
		return err
	}
	return c.Nodes[i].ready(ctx)
}

// PID is the process of a node, 0 if it does not run.
func (c *Cluster) PID(i int) int {
	if c.Nodes[i].process == nil {
		return 0
	}
	return c.Nodes[i].process.Process.Pid
}

// URL is the address of the cluster as sessctl takes it.
func (c *Cluster) URL() string {
	hosts := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		hosts[i] = n.Address()
	}
	return "weaviate+http://" + strings.Join(hosts, ",")
}

// Stop ends all nodes.
func (c *Cluster) Stop() {
	for i := range c.Nodes {
		c.Kill(i)
	}
}
