package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/tier"
	server "github.com/sessctl/sessctl/internal/weaviate"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote/conformance"
	"github.com/sessctl/sessctl/pkg/memory/remote/weaviate"
)

// TestCluster: two hosts push to three nodes of Weaviate, each of which keeps
// every record. A node is killed in the middle of a push and another in the
// middle of questions; nothing is lost, answers go on, a repeated push completes
// what was cut off, what was forgotten meanwhile stays away, and a node that
// comes back has everything again. CLUSTER_RECORDS says how much.
func TestCluster(t *testing.T) {
	tier.SkipUnlessLong(t, "it takes minutes (make accept-cluster)")
	s := startCluster(t)
	laptop, desktop := s.host("laptop"), s.host("desktop")
	s.killedInAPush(laptop)
	s.killedInAQuestion(laptop)
	s.forgottenWhileAway(laptop, desktop)
	s.everythingIsBack(laptop, desktop)
	s.questionsTake(laptop)
}

// clusterStage is a cluster and the hosts that use it.
type clusterStage struct {
	*testing.T
	program string
	cluster *server.Cluster
	records int // of each host
}

func startCluster(t *testing.T) *clusterStage {
	t.Helper()
	s := &clusterStage{T: t, program: buildProgram(t), records: 2000}
	if n, err := strconv.Atoi(os.Getenv("CLUSTER_RECORDS")); err == nil {
		s.records = n
	}
	const nodes = 3
	var err error
	if s.cluster, err = server.Start(t.Context(), t.TempDir(), nodes); errors.Is(err, server.ErrUnavailable) {
		t.Skip(err)
	}
	s.must(err)
	t.Cleanup(s.cluster.Stop)
	return s
}

func (s *clusterStage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// clusterHost is a host with a memory.
type clusterHost struct {
	*clusterStage
	name, home string
	records    int // that it has now
}

func (s *clusterStage) host(name string) *clusterHost {
	h := &clusterHost{clusterStage: s, name: name, home: s.TempDir(), records: s.records}
	store, err := memory.Open(s.Context(), filepath.Join(h.home, "data", "memory"), memory.Options{})
	s.must(err)
	s.must(conformance.Fill(s.Context(), store, name, s.records))
	s.must(store.Close())
	return h
}

// command is one of sessctl on this host.
func (h *clusterHost) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, h.program, args...)
	c.Env = []string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.Getenv("TMPDIR"), "SESSCTL_DATA_DIR=" + filepath.Join(h.home, "data"),
		"SESSCTL_MEMORY_REMOTE_URL=" + h.cluster.URL(), "SESSCTL_MEMORY_REMOTE_HOST=" + h.name, "WEAVIATE_API_KEY=" + server.Key}
	return c
}

// run runs a command and reads its document.
func (h *clusterHost) run(into any, args ...string) (told string, err error) {
	var out, notes bytes.Buffer
	c := h.command(h.Context(), args...)
	c.Stdout, c.Stderr = &out, &notes
	if err := c.Run(); err != nil {
		return notes.String(), fmt.Errorf("sessctl %s: %w\n%s", strings.Join(args, " "), err, notes.String())
	}
	if into != nil {
		return notes.String(), json.Unmarshal(out.Bytes(), into)
	}
	return notes.String(), nil
}

// pushed is what a push reports.
type pushed struct {
	Sent       int `json:"sent"`
	Stored     int `json:"stored"`
	Removed    int `json:"removed"`
	Honoured   int `json:"honoured"`
	ThereNow   int `json:"there_now"`
	LeftToSend int `json:"left_to_send"`
}

// push pushes until it is done: a run that met the loss of a node says so
// (exit code 75), and the next one goes on.
func (h *clusterHost) push() (p pushed) {
	h.Helper()
	const tries = 10
	var err error
	for range tries {
		if _, err = h.run(&p, "push", "--json"); err == nil {
			return p
		}
		h.Log(err)
	}
	h.Fatal(err)
	return p
}

// hits are what a question finds.
type hits struct {
	Hits []struct {
		Text string `json:"text"`
		Host string `json:"host"`
	} `json:"hits"`
	Notice string `json:"notice"`
}

// ask asks the shared memory.
func (h *clusterHost) ask(question string) (found hits) {
	h.Helper()
	if _, err := h.run(&found, "recall", "--everywhere", "--json", question); err != nil {
		h.Error(err)
	}
	return found
}

// asked expects the record with a number to be found, first of all, and reports
// whether it was the cluster that answered, and not the memory of the host.
func (h *clusterHost) asked(host string, i int) (shared bool) {
	h.Helper()
	want := conformance.NoteText(host, i, h.clusterStage.records)
	found := h.ask(want)
	if len(found.Hits) == 0 || found.Hits[0].Text != want {
		h.Errorf("%q is not found first, but %+v", want, found.Hits)
	}
	return !strings.Contains(found.Notice, "cannot be reached")
}

// counted is how many records of a host a node has.
func (s *clusterStage) counted(node int, host string) int {
	s.Helper()
	m, err := weaviate.Open(s.Context(), weaviate.Options{URL: "weaviate+http://" + s.cluster.Nodes[node].Address(), Key: server.Key})
	if err != nil {
		return -1
	}
	defer m.Close()
	counts, err := m.Count(s.Context())
	if err != nil {
		return -1
	}
	return counts.Of(host)
}

// sent is how many records a node has, whosoever they are: the least that can be
// asked, so that the node can be killed soon.
func (s *clusterStage) sent() int {
	s.Helper()
	body := strings.NewReader(`{"query":"{Aggregate{SessctlRecords{meta{count}}}}"}`)
	request, err := http.NewRequestWithContext(s.Context(), http.MethodPost, "http://"+s.cluster.Nodes[1].Address()+"/v1/graphql", body)
	s.must(err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+server.Key)
	response, err := http.DefaultClient.Do(request)
	s.must(err)
	defer response.Body.Close()
	var reply struct {
		Data struct {
			Aggregate map[string][]struct {
				Meta struct{ Count int }
			}
		}
	}
	s.must(json.NewDecoder(response.Body).Decode(&reply))
	if list := reply.Data.Aggregate["SessctlRecords"]; len(list) > 0 {
		return list[0].Meta.Count
	}
	return 0
}

// killedInAPush kills the node that is asked first, in the middle of a push.
func (s *clusterStage) killedInAPush(h *clusterHost) {
	_, err := h.run(nil, "fleet", "init")
	s.must(err)
	began := time.Now()
	done := make(chan pushed)
	go func() { done <- h.push() }()
	there := 0
	for ; there == 0; there = s.sent() {
		time.Sleep(10 * time.Millisecond)
	}
	s.cluster.Kill(0)
	p := <-done
	s.Logf("node1 was killed when %d of %d records were there; all were sent after %s: %+v", there, s.records, time.Since(began).Round(time.Millisecond), p)
	if there >= s.records || p.ThereNow != s.records || p.LeftToSend != 0 {
		s.Errorf("%d records were there when the node was killed, and after the push: %+v", there, p)
	}
	if p := h.push(); p.Stored != 0 || p.ThereNow != s.records {
		s.Errorf("a repeated push: %+v", p)
	}
	s.must(s.cluster.Restart(s.Context(), 0))
}

// killedInAQuestion kills a node while two ask one question after another. Every
// question is answered: while the others have not noticed the loss yet it may be
// by the memory of the host.
func (s *clusterStage) killedInAQuestion(h *clusterHost) {
	h.caughtUp(0, s.records)
	const questions = 40
	var asking sync.WaitGroup
	var byHost, answered atomic.Int64
	var slowest time.Duration
	for worker := range 2 {
		asking.Go(func() {
			for i := range questions / 2 {
				began := time.Now()
				if !h.asked(h.name, (i*37+worker)%s.records) {
					byHost.Add(1)
				}
				answered.Add(1)
				if worker == 0 {
					slowest = max(slowest, time.Since(began))
				}
			}
		})
	}
	for answered.Load() < questions/4 {
		time.Sleep(10 * time.Millisecond)
	}
	s.cluster.Kill(1)
	asking.Wait()
	s.Logf("node2 was killed while %d questions were asked; %d were answered by the host itself, the slowest answer took %s", questions, byHost.Load(), slowest.Round(time.Millisecond))
	if !h.asked(h.name, 1) {
		s.Error("without node2 the cluster does not answer")
	}
}

// forgottenWhileAway lets a host push and another forget while a node is away,
// and brings the node back.
func (s *clusterStage) forgottenWhileAway(laptop, desktop *clusterHost) {
	if p := desktop.push(); p.ThereNow != s.records {
		s.Errorf("while a node was away: %+v", p)
	}
	_, err := laptop.run(nil, "memory", "forget", "--text", "note 7 of laptop", "--yes")
	s.must(err)
	laptop.records--
	if p := laptop.push(); p.ThereNow != laptop.records {
		s.Errorf("what was forgotten is still there: %+v", p)
	}
	s.must(s.cluster.Restart(s.Context(), 1))
	for _, hit := range laptop.ask("note 7 of laptop").Hits {
		if strings.Contains(hit.Text, "note 7 of laptop") {
			s.Errorf("it was forgotten, and a node that was away brings it back: %q", hit.Text)
		}
	}
}

// everythingIsBack waits until every node has everything, and looks at each
// record of each node.
func (s *clusterStage) everythingIsBack(hosts ...*clusterHost) {
	for _, h := range hosts {
		began := time.Now()
		var ids []string
		for node := range s.cluster.Nodes {
			h.caughtUp(node, h.records)
			own := h.listed(node)
			if node > 0 && strings.Join(own, ",") != strings.Join(ids, ",") {
				s.Errorf("%s has %d records of %s, and not those %d of the node before: %s", s.cluster.Nodes[node].Name, len(own), h.name, len(ids), h.compared(node-1, ids, own))
			}
			ids = own
		}
		s.Logf("every node has the %d records of %s, %s later", len(ids), h.name, time.Since(began).Round(time.Second))
	}
}

// listed are the records of a host that a node has, with their digests.
func (h *clusterHost) listed(node int) (own []string) {
	h.Helper()
	m, err := weaviate.Open(h.Context(), weaviate.Options{URL: "weaviate+http://" + h.cluster.Nodes[node].Address(), Key: server.Key})
	h.must(err)
	h.must(m.Verify(h.Context(), h.name, func(id string, digest int64) error {
		own = append(own, id+" "+strconv.FormatInt(digest, 10))
		return nil
	}))
	h.must(m.Close())
	return own
}

// compared says what two nodes have that the other does not, and what the first of
// them counts and lists by now.
func (h *clusterHost) compared(node int, before, own []string) string {
	h.Helper()
	without := func(list, of []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(id string) bool { return slices.Contains(of, id) })
	}
	return fmt.Sprintf("only there %q, only here %q; by now %s counts %d and lists %d", without(before, own), without(own, before), h.cluster.Nodes[node].Name, h.counted(node, h.name), len(h.listed(node)))
}

// caughtUp waits until a node has so many records of a host. What a node that
// was killed has and does not find a push stores anew.
func (h *clusterHost) caughtUp(node, want int) {
	h.Helper()
	const longest = 3 * time.Minute
	began, has := time.Now(), -1
	for time.Since(began) < longest {
		if has = h.counted(node, h.name); has == want {
			h.Logf("%s has %d records of %s after %s", h.cluster.Nodes[node].Name, has, h.name, time.Since(began).Round(time.Second))
			return
		}
		p := h.push()
		h.Logf("%s has %d records of %s; a push: %+v", h.cluster.Nodes[node].Name, has, h.name, p)
		time.Sleep(3 * time.Second)
	}
	h.Errorf("%s has %d records of %s, not %d", h.cluster.Nodes[node].Name, has, h.name, want)
}

// questionsTake says how long questions take with all nodes.
func (s *clusterStage) questionsTake(h *clusterHost) {
	const questions = 20
	began := time.Now()
	for i := range questions {
		h.asked(h.name, 10+(i*41)%(s.records-10))
	}
	s.Logf("a question took %s, sessctl started for each", (time.Since(began) / questions).Round(time.Millisecond))
}
