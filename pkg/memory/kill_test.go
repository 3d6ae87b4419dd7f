package memory_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
)

const sessionRecords = 12

// sessionOf makes the records of session n.
func sessionOf(n int) []memory.Record {
	var records []memory.Record
	for i := range sessionRecords {
		r := record(i, fmt.Sprintf("session %d says word%d about the importer %s", n, i, strings.Repeat("and more ", i*20)))
		r.Session = fmt.Sprintf("s%d", n)
		r.Archive = "arc" + r.Session // an archive is of one session
		r.ID = memory.RecordID("a", r.Session, i, "v1", "")
		records = append(records, r)
	}
	return records
}

// play is what the child process does until it is killed: it stores sessions,
// embeds and forgets, and says aloud what has been promised.
func play(dir string) int {
	ctx := context.Background()
	s, err := memory.Open(ctx, dir, memory.Options{})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	defer s.Close()
	b, err := embed.NewBuiltin()
	if err != nil {
		return 1
	}
	for n := 0; ; n++ {
		_, err := s.Put(ctx, memory.Source{Runtime: "pi", Agent: "a"}, all(sessionOf(n)...))
		if err == nil {
			fmt.Println("stored", n)
			_, err = s.EmbedPending(ctx, b, b.Model(), "a", nil)
		}
		if err == nil {
			fmt.Println("embedded", n)
			if n%5 == 4 {
				if _, err = s.Forget(ctx, memory.Selection{Session: fmt.Sprintf("s%d", n-2)}); err == nil {
					fmt.Println("forgotten", n-2)
				}
			}
		}
		if err != nil {
			fmt.Println("error", err)
			return 1
		}
	}
}

// A process that is killed at any moment leaves a store that opens, that
// verifies, and that has every session it said was stored, whole; what it was
// storing is there whole or not at all.
func TestKilledAtAnyMoment(t *testing.T) {
	rounds := 12
	if tier.Smoke() {
		rounds = 3
	}
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	for round := range rounds {
		dir := filepath.Join(t.TempDir(), "memory")
		promised := runAndKill(t, dir, time.Duration(1+random.IntN(400))*time.Millisecond)
		s := open(t, dir)
		problems, err := s.Verify(context.Background())
		if err != nil || len(problems) > 0 {
			t.Fatalf("round %d: %v, %v", round, problems, err)
		}
		checkPromises(t, s, promised)
		if pending := embedAll(t, s, "a"); pending != 0 {
			t.Fatalf("round %d: %d pending after the next run", round, pending)
		}
		if problems, err := s.Verify(context.Background()); err != nil || len(problems) > 0 {
			t.Fatalf("round %d: %v, %v", round, problems, err)
		}
		s.Close()
	}
}

// runAndKill runs the child and kills it some time after it began to store. It
// returns the last lines it said, by word.
func runAndKill(t *testing.T, dir string, after time.Duration) map[string]int {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe)
	c.Env = append(os.Environ(), "MEMORY_TEST_ROLE="+dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	last := map[string]int{"stored": -1, "embedded": -1, "forgotten": -1}
	lines := bufio.NewScanner(out)
	for timer := (*time.Timer)(nil); lines.Scan(); {
		if timer == nil {
			timer = time.AfterFunc(after, func() { c.Process.Kill() })
		}
		var word string
		var n int
		if _, err := fmt.Sscan(lines.Text(), &word, &n); err != nil {
			t.Fatalf("child: %s", lines.Text())
		}
		last[word] = n
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) {
		t.Fatalf("the child ended by itself: %v", err)
	}
	return last
}

// countSession counts the records of a session, and those without a vector.
func countSession(t *testing.T, s *memory.Store, n int) (records, pending int) {
	t.Helper()
	o := memory.ExportOptions{Query: memory.Query{Runtime: "pi", Agent: "a", Session: fmt.Sprintf("s%d", n)}, Vectors: true}
	_, err := s.Export(context.Background(), o, func(page []memory.Exported) error {
		for _, x := range page {
			if records++; x.Vector == nil {
				pending++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return records, pending
}

func checkPromises(t *testing.T, s *memory.Store, promised map[string]int) {
	t.Helper()
	for n := 0; n <= promised["stored"]+1; n++ {
		stored, pending := countSession(t, s, n)
		switch {
		case stored != 0 && stored != sessionRecords:
			t.Errorf("session %d has %d records", n, stored)
		case n <= promised["stored"] && stored == 0 && n%5 != 2:
			t.Errorf("session %d was stored and is gone", n)
		case n%5 == 2 && n <= promised["forgotten"] && stored != 0:
			t.Errorf("session %d was forgotten and is back", n)
		case n <= promised["embedded"] && pending != 0:
			t.Errorf("session %d was embedded; %d are pending", n, pending)
		}
	}
}
