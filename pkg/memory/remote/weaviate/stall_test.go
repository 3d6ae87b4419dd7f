package weaviate_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	server "github.com/sessctl/sessctl/internal/weaviate"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/conformance"
	"github.com/sessctl/sessctl/pkg/memory/remote/weaviate"
)

// line is the way of a host to a cluster. After so many bytes nothing gets through
// any more, and nothing is closed: the host was suspended.
type line struct {
	most    int64 // 0 is all
	sent    atomic.Int64
	stalled chan struct{}
}

// through is the address of a cluster by that way.
func (l *line) through(t *testing.T, c *server.Cluster, address string) string {
	t.Helper()
	for _, n := range c.Nodes {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				host, err := listener.Accept()
				if err != nil {
					return
				}
				go l.serve(host, n.Address())
			}
		}()
		address = strings.Replace(address, n.Address(), listener.Addr().String(), 1)
	}
	return address
}

func (l *line) serve(host net.Conn, at string) {
	defer host.Close()
	node, err := net.Dial("tcp", at)
	if err != nil {
		return
	}
	defer node.Close()
	go func() { _, _ = io.Copy(host, node) }() // ends with either
	buffer := make([]byte, 1<<16)
	for {
		n, err := host.Read(buffer)
		if err != nil {
			return
		}
		if after := l.sent.Add(int64(n)); l.most > 0 && after > l.most {
			if after-int64(n) <= l.most {
				close(l.stalled)
			}
			_, _ = io.Copy(io.Discard, host)
			return
		}
		if _, err := node.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// TestStalledHost: wherever in its push a host stops, without a word, others push and
// forget meanwhile. When it is back every record is there once, and nothing of what
// was forgotten.
func TestStalledHost(t *testing.T) {
	for nodes, c := range clusters(t) {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) { stalledHost(t, c) })
	}
}

// laptopSays is how many records the host has that stalls: more than one batch.
const laptopSays = 300

func stalledHost(t *testing.T, c *server.Cluster) {
	at := address(c)
	open(t, weaviate.Options{URL: at, SetUp: true})
	s := store(t)
	if err := conformance.Fill(t.Context(), s, "laptop", laptopSays); err != nil {
		t.Fatal(err)
	}
	var whole line
	pushFrom(t, s, "measured", whole.through(t, c, at))
	total := whole.sent.Load() * 85 / 100 // what is forgotten is not sent
	const stops = 4
	for i := range int64(stops) {
		l := &line{most: total * (2*i + 1) / (2 * stops), stalled: make(chan struct{})}
		name, ctx := fmt.Sprintf("laptop%d", i), t.Context()
		ctx, cancel := context.WithCancel(ctx)
		laptop := store(t)
		if err := conformance.Fill(t.Context(), laptop, "laptop", laptopSays); err != nil {
			t.Fatal(err)
		}
		way, ended := l.through(t, c, at), make(chan error, 1)
		go func() {
			m, err := weaviate.Open(ctx, weaviate.Options{URL: way, Key: server.Key})
			if err == nil {
				_, err = pusher(laptop, m, name).Push(ctx)
			}
			ended <- err
		}()
		select {
		case <-l.stalled:
		case err := <-ended:
			t.Fatalf("it did not stall: %v", err)
		}
		others(t, at, int(i))
		cancel()
		if err := <-ended; err == nil {
			t.Error("a host that was suspended has pushed")
		}
		if r := pushFrom(t, laptop, name, at); r.ThereNow != laptopSays-int(i)-1 {
			t.Errorf("after it is back: %+v", r)
		}
	}
}

func pusher(s *memory.Store, m *weaviate.Memory, host string) *remote.Pusher {
	return &remote.Pusher{Local: s, Shared: m, Host: host, Server: m.Server(), Lock: func(context.Context) (func(), error) { return func() {}, nil }}
}

func pushFrom(t *testing.T, s *memory.Store, host, at string) remote.Report {
	t.Helper()
	r, err := pusher(s, open(t, weaviate.Options{URL: at}), host).Push(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// others are hosts that forget and push.
func others(t *testing.T, at string, round int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	id := memory.RecordID(conformance.Agent, "laptop", round, "test", conformance.NoteText("laptop", round, laptopSays))
	if _, err := open(t, weaviate.Options{URL: at}).Bury(ctx, "desktop", []memory.Forgotten{{ID: id}}); err != nil {
		t.Errorf("round %d: a host cannot forget: %v", round, err)
	}
	r := memory.Record{ID: fmt.Sprintf("round %d", round), Text: "of a third host", CreatedAt: 1772533800000}
	receipt, err := open(t, weaviate.Options{URL: at}).Push(ctx, remote.Batch{Host: "third", Memory: "third", Records: []memory.Shared{{Exported: memory.Exported{Record: r}, Digest: 1}}})
	if err != nil || receipt.Stored != 1 {
		t.Errorf("round %d: a host cannot push: %+v, %v", round, receipt, err)
	}
}
