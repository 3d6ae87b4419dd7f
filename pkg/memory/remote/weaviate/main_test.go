package weaviate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
	server "github.com/sessctl/sessctl/internal/weaviate"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/conformance"
	"github.com/sessctl/sessctl/pkg/memory/remote/weaviate"
)

// testCluster is the one node of the tests of this package, or why there is
// none.
type testCluster struct {
	*server.Cluster
	dir    string
	reason error
}

// node is started once: it takes seconds.
func node(t *testing.T) *server.Cluster {
	t.Helper()
	if started.reason != nil {
		t.Skip(started.reason)
	}
	return started.Cluster
}

var started = startNode() //nolint:gochecknoglobals // one node for all tests, stopped by TestMain

func startNode() (c testCluster) {
	if !tier.Long() {
		c.reason = errors.New("it starts a server that takes seconds: SESSCTL_LONG=1, or make accept-cluster")
		return c
	}
	var err error
	if c.dir, err = os.MkdirTemp("", "weaviate"); err == nil {
		c.Cluster, err = server.Start(context.Background(), c.dir, 1)
	}
	if err != nil && !errors.Is(err, server.ErrUnavailable) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	c.reason = err
	return c
}

func TestMain(m *testing.M) {
	code := m.Run()
	if started.Cluster != nil {
		started.Stop()
	}
	if started.dir != "" {
		_ = os.RemoveAll(started.dir) // of a test
	}
	os.Exit(code)
}

var names atomic.Int64 //nolint:gochecknoglobals // counts the shared memories of the tests

// address is that of a shared memory of its own.
func address(c *server.Cluster) string {
	return fmt.Sprintf("%s/Test%d?replicas=%d", c.URL(), names.Add(1), len(c.Nodes))
}

func open(t *testing.T, o weaviate.Options) *weaviate.Memory {
	t.Helper()
	if o.Key == "" {
		o.Key = server.Key
	}
	m, err := weaviate.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func store(t *testing.T) *memory.Store {
	t.Helper()
	s, err := memory.Open(t.Context(), t.TempDir(), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestConformance: Weaviate is a shared memory, one node and three.
func TestConformance(t *testing.T) {
	for nodes, c := range clusters(t) {
		for _, r := range conformance.Requirements(conformance.ByEngine) {
			t.Run(fmt.Sprintf("%d/%s", nodes, strings.ReplaceAll(r.Name, " ", "_")), func(t *testing.T) {
				m := open(t, weaviate.Options{URL: address(c), Exact: true, SetUp: true})
				if err := r.Check(t.Context(), m, store(t)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// clusters are the node of all tests, and three for this one.
func clusters(t *testing.T) map[int]*server.Cluster {
	t.Helper()
	first := node(t)
	three, err := server.Start(t.Context(), t.TempDir(), 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(three.Stop)
	return map[int]*server.Cluster{1: first, 3: three}
}

// TestFirstPushes: of memories that push under one name for the first time at one
// instant at most one gets it.
func TestFirstPushes(t *testing.T) {
	for nodes, c := range clusters(t) {
		o := weaviate.Options{URL: address(c), Key: server.Key, SetUp: true}
		if err := conformance.FirstPushes(t.Context(), func(ctx context.Context) (remote.Memory, error) { return weaviate.Open(ctx, o) }); err != nil {
			t.Errorf("%d nodes: %v", nodes, err)
		}
	}
}
