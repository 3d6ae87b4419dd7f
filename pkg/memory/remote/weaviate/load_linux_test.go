package weaviate_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	server "github.com/sessctl/sessctl/internal/weaviate"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/conformance"
	"github.com/sessctl/sessctl/pkg/memory/remote/weaviate"
)

// TestLoad measures a push to three nodes and questions afterwards.
// CLUSTER_RECORDS says how many records.
func TestLoad(t *testing.T) {
	node(t) // or there is none
	records := 2000
	if n, err := strconv.Atoi(os.Getenv("CLUSTER_RECORDS")); err == nil {
		records = n
	}
	const nodes = 3
	if os.Getenv("GO_PROFILING_PORT") != "" { // one of them can be profiled there
		t.Setenv("GO_PROFILING_DISABLE", "false")
	}
	c, err := server.Start(t.Context(), t.TempDir(), nodes)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	empty := resident(t, c)
	s := store(t)
	if err := conformance.Fill(t.Context(), s, "laptop", records); err != nil {
		t.Fatal(err)
	}
	url := c.URL()
	m := open(t, weaviate.Options{URL: url, SetUp: true})
	t.Logf("before the push: the three nodes have used %.1f s, this program %.1f s", cpu(t, c), own(t).Seconds())
	began := time.Now()
	p := &remote.Pusher{Local: s, Shared: m, Host: "laptop", Server: m.Server(), Lock: func(context.Context) (func(), error) { return func() {}, nil }}
	r, err := p.Push(t.Context())
	if err != nil || r.ThereNow != records {
		t.Fatalf("%+v: %v", r, err)
	}
	took := time.Since(began)
	t.Logf("of the processor, for 1,000 records: the three nodes %.1f s, the push %.1f s", cpu(t, c)/float64(records)*1000, own(t).Seconds()/float64(records)*1000)
	t.Logf("%d records in %s: %.0f a second", records, took.Round(time.Second), float64(records)/took.Seconds())
	t.Logf("each node has %.1f KB of memory a record, beside %d MB when it is empty", float64(resident(t, c)-empty)/float64(records*nodes), empty/nodes/1024)
	for _, exact := range []bool{false, true} {
		t.Logf("exact %v: %s", exact, questionsTake(t, weaviate.Options{URL: url, Exact: exact}, records))
	}
}

// questionsTake asks some questions, each with a connection of its own.
func questionsTake(t *testing.T, o weaviate.Options, records int) string {
	t.Helper()
	e, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	const questions = 60
	var took []time.Duration
	for i := range questions {
		began := time.Now()
		m := open(t, o)
		want := conformance.NoteText("laptop", i*7919%records, records)
		result, err := m.Recall(t.Context(), memory.Query{Text: want, Now: time.Now()}, e, e.Model())
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(began))
		if len(result.Hits) == 0 || result.Hits[0].Text != want {
			t.Errorf("%q is not found first", want)
		}
	}
	slices.Sort(took)
	return fmt.Sprintf("p50 %s, p95 %s", took[len(took)/2].Round(time.Millisecond), took[len(took)*95/100].Round(time.Millisecond))
}

// resident is the memory of all nodes, in KB.
func resident(t *testing.T, c *server.Cluster) (kilobytes int) {
	t.Helper()
	for i := range c.Nodes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.PID(i)))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "VmRSS:")
		n, err := strconv.Atoi(strings.Fields(rest)[0])
		if err != nil {
			t.Fatal(err)
		}
		kilobytes += n
	}
	return kilobytes
}

// cpu is what all nodes have used of the processor, in seconds.
func cpu(t *testing.T, c *server.Cluster) (seconds float64) {
	t.Helper()
	const perSecond = 100 // USER_HZ
	for i := range c.Nodes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.PID(i)))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		for _, field := range fields[11:13] {
			n, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatal(err)
			}
			seconds += n / perSecond
		}
	}
	return seconds
}

// own is what this program has used.
func own(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
