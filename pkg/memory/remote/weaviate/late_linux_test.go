package weaviate_test

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	server "github.com/sessctl/sessctl/internal/weaviate"
	"github.com/sessctl/sessctl/pkg/memory/remote/conformance"
)

// TestLateNodeKilled: a node that is slower than the others is killed as soon as a
// push has ended. When it is back it finds all that was sent in all of its indexes,
// without another push. CLUSTER_ROUNDS says how often.
func TestLateNodeKilled(t *testing.T) {
	node(t) // or there is none
	rounds := 3
	if n, err := strconv.Atoi(os.Getenv("CLUSTER_ROUNDS")); err == nil {
		rounds = n
	}
	t.Setenv("ASYNC_REPLICATION_FREQUENCY", "5s")
	c, err := server.Start(t.Context(), t.TempDir(), 3)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	r := &returning{T: t, cluster: c, store: store(t)}
	r.open(0, true)
	for round := range rounds {
		r.lateAndKilled(round)
	}
}

func (r *returning) lateAndKilled(round int) {
	r.Helper()
	session := fmt.Sprintf("late%d", round)
	r.must(conformance.Fill(r.Context(), r.store, session, perRound))
	r.sessions = append(r.sessions, session)
	late := round % 3
	ended := make(chan struct{})
	slowed := r.slow(late, ended)
	report, err := r.push((late + 1) % 3)
	close(ended)
	<-slowed
	r.must(err)
	r.cluster.Kill(late)
	r.must(r.cluster.Restart(r.Context(), late))
	const longest = time.Minute
	var last map[string]int
	for began := time.Now(); ; time.Sleep(time.Second) {
		gaps := r.gaps()
		if last == nil || !maps.Equal(gaps, last) {
			r.Logf("round %d: of %d that were sent, node%d was late and killed; %s after its return gaps %v", round, report.Sent, late+1, time.Since(began).Round(time.Second), gaps)
		}
		if last = gaps; len(gaps) == 0 {
			return
		}
		if time.Since(began) > longest {
			r.Errorf("round %d: a node does not find everything", round)
			r.settled(round)
			return
		}
	}
}

// slow stops a node for most of the time, but never so long that it seems to be
// away. It runs on when ended is closed.
func (r *returning) slow(i int, ended <-chan struct{}) (done chan struct{}) {
	done = make(chan struct{})
	pid := r.cluster.PID(i)
	go func() {
		defer close(done)
		for stopped := false; ; stopped = !stopped {
			signal, pause := syscall.SIGSTOP, 120*time.Millisecond
			if stopped {
				signal, pause = syscall.SIGCONT, 40*time.Millisecond
			}
			_ = syscall.Kill(pid, signal) // it is there, nobody else kills it
			select {
			case <-ended:
				_ = syscall.Kill(pid, syscall.SIGCONT)
				return
			case <-time.After(pause):
			}
		}
	}()
	return done
}
