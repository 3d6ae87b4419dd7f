package weaviate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	server "github.com/sessctl/sessctl/internal/weaviate"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/conformance"
	"github.com/sessctl/sessctl/pkg/memory/remote/weaviate"
)

// TestNodeReturns kills a node in the middle of a push, again and again, and
// starts it again. Whatever a push has called sent is found by questions at any
// time, whichever node they are put to; and when all nodes are back and have
// caught up, each of them finds everything in every one of its indexes.
// CLUSTER_ROUNDS says how often.
func TestNodeReturns(t *testing.T) {
	node(t) // or there is none
	rounds := 4
	if n, err := strconv.Atoi(os.Getenv("CLUSTER_ROUNDS")); err == nil {
		rounds = n
	}
	t.Setenv("ASYNC_REPLICATION_FREQUENCY", "5s") // 30s is usual
	c, err := server.Start(t.Context(), t.TempDir(), 3)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	r := &returning{T: t, cluster: c, store: store(t)}
	r.open(0, true)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	for round := range rounds {
		r.round(round, random)
	}
	t.Logf("%d rounds: %d questions, %d answers without a record that was sent", rounds, r.asked, r.missed)
}

// TestAllNodesKilled kills all nodes at once in the middle of a push, as when the
// power fails, but what the system had in its buffers is not lost. Whatever was
// called sent is found when they are back, and after the next push every node
// finds everything.
func TestAllNodesKilled(t *testing.T) {
	node(t) // or there is none
	t.Setenv("ASYNC_REPLICATION_FREQUENCY", "5s")
	c, err := server.Start(t.Context(), t.TempDir(), 3)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	r := &returning{T: t, cluster: c, store: store(t)}
	server := r.open(0, true).Server()
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // a test
	for round := range 3 {
		for part := range 3 {
			r.sessions = append(r.sessions, fmt.Sprintf("power%d-%d", round, part))
			r.must(conformance.Fill(t.Context(), r.store, r.sessions[len(r.sessions)-1], perRound))
		}
		done := make(chan remote.Report)
		go func() {
			report, err := r.push(0)
			t.Logf("round %d: the push ends with %v", round, err)
			done <- report
		}()
		time.Sleep(time.Duration(2000+random.IntN(4000)) * time.Millisecond)
		var all sync.WaitGroup
		for i := range c.Nodes {
			all.Go(func() { c.Kill(i) })
		}
		all.Wait()
		sent := (<-done).Sent
		r.must(c.RestartAll(t.Context()))
		missing := r.unfound(server)
		t.Logf("round %d: %d were sent in this push, of all that were sent %d are missing when the nodes are back; gaps %v", round, sent, missing, r.gaps())
		if missing > 0 {
			t.Errorf("round %d: %d records that were sent are missing", round, missing)
		}
		r.settled(round)
		r.questions("after the next push", random)
	}
}

// unfound counts the records that were called sent and that not a majority of the
// nodes has as they were sent.
func (r *returning) unfound(server string) (missing int) {
	r.Helper()
	m := r.open(0, false)
	defer m.Close()
	there := map[string]bool{}
	r.must(m.Verify(r.Context(), "laptop", func(id string, _ int64) error {
		there[id] = true
		return nil
	}))
	unsent := map[string]bool{}
	model, err := r.store.VectorModel(r.Context())
	r.must(err)
	for _, all := range []bool{false, true} {
		_, err := r.store.EachUnshared(r.Context(), memory.ShareQuery{Server: server, Model: model, All: all}, func(page []memory.Shared) error {
			for _, x := range page {
				switch {
				case !all:
					unsent[x.ID] = true
				case !unsent[x.ID] && !there[x.ID]:
					missing++
				}
			}
			return nil
		})
		r.must(err)
	}
	return missing
}

// returning is a cluster whose nodes go and return.
type returning struct {
	*testing.T
	cluster       *server.Cluster
	store         *memory.Store
	sessions      []string // each of perRound records
	gone          []string // texts of those that were forgotten
	asked, missed int
}

const perRound = 300

// open connects, and puts every question to this node first.
func (r *returning) open(first int, setUp bool) *weaviate.Memory {
	r.Helper()
	var hosts []string
	for i := range r.cluster.Nodes {
		hosts = append(hosts, r.cluster.Nodes[(first+i)%len(r.cluster.Nodes)].Address())
	}
	return open(r.T, weaviate.Options{URL: "weaviate+http://" + strings.Join(hosts, ",") + "/Returning", SetUp: setUp})
}

func (r *returning) push(first int) (remote.Report, error) {
	m := r.open(first, false)
	defer m.Close()
	p := &remote.Pusher{Local: r.store, Shared: m, Host: "laptop", Server: m.Server(), Lock: func(context.Context) (func(), error) { return func() {}, nil }}
	return p.Push(r.Context())
}

func (r *returning) round(round int, random *rand.Rand) {
	session := fmt.Sprintf("round%d", round)
	if err := conformance.Fill(r.Context(), r.store, session, perRound); err != nil {
		r.Fatal(err)
	}
	victim, first := round%3, random.IntN(3)
	done := make(chan error)
	go func() {
		var err error
		for range 10 {
			if _, err = r.push(first); err == nil {
				break
			}
		}
		done <- err
	}()
	time.Sleep(time.Duration(300+random.IntN(2500)) * time.Millisecond)
	r.cluster.Kill(victim)
	quick := round%2 == 0 // the node is back before the push can notice that it was away
	if quick {
		r.must(r.cluster.Restart(r.Context(), victim))
	}
	r.must(<-done)
	r.sessions = append(r.sessions, session)
	away := r.questions("after the push", random)
	if !quick {
		r.must(r.cluster.Restart(r.Context(), victim))
	}
	back := r.questions("after the return", random)
	r.Logf("round %d: node%d killed (at once back: %v), asked node%d; answers without a record: %d after the push, %d after the return; gaps %v",
		round, victim+1, quick, first+1, away, back, r.gaps())
	r.settled(round)
}

func (r *returning) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// questions asks for records that were sent, each node first, and counts the
// answers without them.
func (r *returning) questions(when string, random *rand.Rand) (missed int) {
	r.Helper()
	e, err := embed.NewBuiltin()
	r.must(err)
	for first := range r.cluster.Nodes {
		m := r.open(first, false)
		for range 10 {
			session := r.sessions[len(r.sessions)-1-random.IntN(min(2, len(r.sessions)))]
			want := conformance.NoteText(session, random.IntN(perRound), perRound)
			result, err := m.Recall(r.Context(), memory.Query{Text: want, Now: time.Now()}, e, e.Model())
			r.must(err)
			r.asked++
			if at := slices.IndexFunc(result.Hits, func(h memory.Hit) bool { return h.Text == want }); at < 0 {
				missed++
				r.missed++
				r.Errorf("%s: asked first of node%d, %q is at %d of %d, %q", when, first+1, want, at, len(result.Hits), result.Notice)
			}
		}
		_ = m.Close()
	}
	return missed
}

// settled pushes until every node finds everything.
func (r *returning) settled(round int) {
	const longest = 90 * time.Second
	want, began := r.want(), time.Now()
	for {
		report, err := r.push(round % 3)
		r.must(err)
		gaps := r.gaps()
		r.Logf("round %d, after %s: %+v, gaps %v", round, time.Since(began).Round(time.Second), report, gaps)
		if report.ThereNow == want && len(gaps) == 0 {
			return
		}
		if time.Since(began) > longest {
			r.Errorf("round %d: a node does not find everything", round)
			return
		}
		time.Sleep(2 * time.Second)
	}
}

// want is how many records there are.
func (r *returning) want() int { return len(r.sessions)*perRound - len(r.gone) }

// gaps says what each index of each node lacks of the records that were sent.
func (r *returning) gaps() map[string]int {
	want := r.want()
	gaps := map[string]int{}
	for i, n := range r.cluster.Nodes {
		if r.cluster.PID(i) == 0 {
			continue
		}
		for _, index := range slices.Sorted(maps.Keys(indexes)) {
			if has := r.count(n, indexes[index]); has != want {
				gaps[fmt.Sprintf("node%d %s", i+1, index)] = has - want
			}
		}
	}
	return gaps
}

// indexes are searches that ask one index each.
var indexes = map[string]string{ //nolint:gochecknoglobals // never changed
	"objects":    ``,
	"record_id":  `where:{path:["record_id"],operator:Like,valueText:"*"}`,
	"host":       `where:{path:["host"],operator:Equal,valueText:"laptop"}`,
	"agent":      `where:{path:["agent"],operator:Like,valueText:"*"}`,
	"owner":      `where:{path:["owner"],operator:Like,valueText:"*"}`,
	"session":    `where:{path:["session"],operator:Like,valueText:"*"}`,
	"category":   `where:{path:["category"],operator:Like,valueText:"*"}`,
	"model":      `where:{path:["model"],operator:Like,valueText:"*"}`,
	"created_at": `where:{path:["created_at"],operator:GreaterThan,valueNumber:1.0}`,
	"position":   `where:{path:["position"],operator:GreaterThan,valueNumber:-1.0}`,
	"runtime":    `where:{path:["runtime"],operator:Like,valueText:"*"}`,
	"kind":       `where:{path:["kind"],operator:Like,valueText:"*"}`,
	"sample":     `where:{path:["sample"],operator:Like,valueText:"*"}`,
	"terms":      `where:{path:["terms"],operator:ContainsAny,valueText:["TERM"]}`,
	"bm25":       `bm25:{query:"TERM",properties:["terms"]}`,
	"vector":     `where:{path:["host"],operator:Equal,valueText:"laptop"} nearVector:{vector:VECTOR,targetVectors:["NAME"]}`,
}

func (r *returning) count(n *server.Node, search string) int {
	search = strings.ReplaceAll(search, "NAME", r.vectorName(n))
	e, err := embed.NewBuiltin()
	r.must(err)
	v, err := e.EmbedDocuments(r.Context(), []string{"crane"})
	r.must(err)
	vector, err := json.Marshal(v[0])
	r.must(err)
	search = strings.ReplaceAll(search, "VECTOR", string(vector))
	search = strings.ReplaceAll(search, "TERM", strings.TrimSpace(string(embed.AppendTerms(nil, "crane"))))
	var reply struct {
		Data struct {
			Get map[string][]struct{ Host string }
		}
		Errors []any
	}
	r.ask(n, http.MethodPost, "/v1/graphql", map[string]string{"query": `{Get{ReturningRecords(limit:10000 consistencyLevel:ONE ` + search + `){host}}}`}, &reply)
	if len(reply.Errors) > 0 {
		r.Logf("%s: %v", n.Name, reply.Errors)
		return -1
	}
	return len(reply.Data.Get["ReturningRecords"])
}

func (r *returning) vectorName(n *server.Node) (name string) {
	var class struct {
		VectorConfig map[string]any
	}
	r.ask(n, http.MethodGet, "/v1/schema/ReturningRecords", nil, &class)
	for name = range class.VectorConfig {
	}
	return name
}

func (r *returning) ask(n *server.Node, method, path string, body, into any) {
	r.Helper()
	sent, err := json.Marshal(body)
	r.must(err)
	request, err := http.NewRequestWithContext(r.Context(), method, "http://"+n.Address()+path, bytes.NewReader(sent))
	r.must(err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+server.Key)
	response, err := http.DefaultClient.Do(request)
	r.must(err)
	defer response.Body.Close()
	r.must(json.NewDecoder(response.Body).Decode(into))
}
