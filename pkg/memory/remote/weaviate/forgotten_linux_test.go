package weaviate_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	server "github.com/sessctl/sessctl/internal/weaviate"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote/conformance"
	"github.com/sessctl/sessctl/pkg/memory/remote/weaviate"
)

// TestForgottenWhileAway forgets records while a node is away, and brings the node
// back. No question is answered with one of them at any time, whichever node it is
// put to, and in the end no node has one in any of its indexes: the nodes see to
// that themselves, nobody pushes or reads meanwhile. CLUSTER_ROUNDS says how often.
func TestForgottenWhileAway(t *testing.T) {
	node(t) // or there is none
	rounds := 3
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
	for round := range rounds {
		r.forgottenWhileAway(round)
	}
	r.never(r.gone)
	if gaps := r.gaps(); len(gaps) > 0 {
		t.Errorf("at the end: %v", gaps)
	}
	t.Logf("%d rounds: %d records were forgotten, %d questions were asked for them", rounds, len(r.gone), r.asked)
}

func (r *returning) forgottenWhileAway(round int) {
	r.Helper()
	session := fmt.Sprintf("away%d", round)
	r.must(conformance.Fill(r.Context(), r.store, session, perRound))
	r.sessions = append(r.sessions, session)
	r.settled(round)
	r.cluster.Kill(round % 3)
	forgotten := r.forget(session)
	r.never(forgotten)
	if other := (round + 1) % 3; round%2 == 1 { // what it knows of the removal then comes from its log
		r.cluster.Kill(other)
		r.must(r.cluster.Restart(r.Context(), other))
	}
	r.must(r.cluster.Restart(r.Context(), round%3))
	const longest = 3 * time.Minute
	began := time.Now()
	var last map[string]int
	for looks := 1; ; looks++ {
		if looks%4 == 1 {
			r.never(forgotten)
		}
		gaps := r.gaps()
		if !maps.Equal(gaps, last) || len(gaps) == 0 {
			r.Logf("round %d: node%d was away; %s after its return gaps %v", round, round%3+1, time.Since(began).Round(100*time.Millisecond), gaps)
		}
		if last = gaps; len(gaps) == 0 {
			return
		}
		if time.Since(began) > longest {
			r.Errorf("round %d: the nodes still differ: %v", round, gaps)
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// forget forgets some records of a session and tells the cluster.
func (r *returning) forget(session string) (texts []string) {
	r.Helper()
	const some = 3
	for i := range some {
		at := 7 + i*90
		text := conformance.NoteText(session, at, perRound)
		removed, err := r.store.Forget(r.Context(), memory.Selection{ID: memory.RecordID(conformance.Agent, session, at, "test", text)})
		r.must(err)
		if removed.Records != 1 {
			r.Fatalf("%q: %+v", text, removed)
		}
		texts = append(texts, text)
	}
	report, err := r.push(0)
	r.must(err)
	if report.Removed != some {
		r.Errorf("%d records were forgotten, and %+v", some, report)
	}
	r.gone = append(r.gone, texts...)
	return texts
}

// never asks for what was forgotten, each node first.
func (r *returning) never(texts []string) {
	r.Helper()
	e, err := embed.NewBuiltin()
	r.must(err)
	for first := range r.cluster.Nodes {
		m := r.open(first, false)
		for _, text := range texts {
			r.mustNotFind(m, e, e.Model(), text)
		}
		_ = m.Close()
	}
}

func (r *returning) mustNotFind(m *weaviate.Memory, e embed.QueryEmbedder, model embed.Model, text string) {
	r.Helper()
	result, err := m.Recall(r.Context(), memory.Query{Text: text, Now: time.Now()}, e, model)
	r.must(err)
	r.asked++
	if slices.ContainsFunc(result.Hits, func(h memory.Hit) bool { return h.Text == text }) {
		r.Errorf("%q was forgotten, and is answered", text)
	}
}
