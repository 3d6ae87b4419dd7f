package archive_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
)

// Many that archive the same bytes at the same time agree on one archive.
func TestPutConcurrently(t *testing.T) {
	for name, step := range map[string]time.Duration{"same second": 0, "different seconds": time.Second} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			data := sessionText(50_000, 4)
			const writers = 8
			got := make([]archive.Entry, writers)
			var running sync.WaitGroup
			for i := range writers {
				s := open(t, root, []string{"none", "zstd"}[i%2])
				running.Go(func() {
					var err error
					got[i], err = s.Put(context.Background(), meta("s1"), strings.NewReader(data), 50_000, noon.Add(time.Duration(i)*step))
					if err != nil {
						t.Error(err)
					}
				})
			}
			running.Wait()
			s := open(t, root, "none")
			all := entries(t, s)
			if len(all) != 1 || len(files(t, root)) != 2 {
				t.Fatalf("%d entries, files %v", len(all), files(t, root))
			}
			mustVerify(t, s, all[0])
			for _, e := range got {
				if diff := cmp.Diff(all[0], e); diff != "" {
					t.Error("a writer got another entry (-catalogue +got):\n", diff)
				}
			}
		})
	}
}

// Another Put of the same bytes runs from start to end while one stands still
// at each of its steps: both get the same archive, and no other file stays.
func TestPutInBetween(t *testing.T) {
	for _, step := range []string{"named", "renamed", "verified", "entered"} {
		for name, later := range map[string]time.Duration{"same second": 0, "another second": time.Second} {
			t.Run(step+", "+name, func(t *testing.T) {
				root := t.TempDir()
				data := sessionText(10_000, 14)
				var other archive.Entry
				slow := open(t, root, "none")
				slow.SetStep(func(at string) {
					if at != step {
						return
					}
					var err error
					other, err = open(t, root, "none").Put(context.Background(), meta("s1"), strings.NewReader(data), 10_000, noon.Add(later))
					if err != nil {
						t.Error(err)
					}
				})
				e := put(t, slow, "s1", data)
				if diff := cmp.Diff(other, e); diff != "" {
					t.Error("the two got different entries (-other +slow):\n", diff)
				}
				if got := files(t, root); len(got) != 2 {
					t.Errorf("files: %v", got)
				}
				mustVerify(t, slow, e)
			})
		}
	}
}

// A file without an entry is another Put's that still runs. That one finds that a
// third was faster, and removes its file while it is taken over.
func TestPutAdoptsWhatGoes(t *testing.T) {
	root := t.TempDir()
	data := sessionText(10_000, 14)
	put(t, open(t, root, "none"), "s1", data)
	if err := os.RemoveAll(filepath.Join(root, "archives")); err != nil {
		t.Fatal(err)
	}
	adopting := open(t, root, "none")
	gone := 0
	adopting.SetStep(func(at string) {
		if at != "found" {
			return
		}
		gone++
		for _, name := range files(t, root) {
			if strings.HasPrefix(filepath.Base(name), ".") {
				continue // its own, which is being written
			}
			if err := os.Remove(filepath.Join(root, name)); err != nil {
				t.Error(err)
			}
		}
	})
	mustVerify(t, adopting, put(t, adopting, "s1", data))
	if got := files(t, root); gone != 1 || len(got) != 2 {
		t.Errorf("removed %d times, files: %v", gone, got)
	}
}

// halted is a Put in a goroutine that stands still after a step.
type halted struct{ on, done chan bool }

func (h halted) finish() {
	close(h.on)
	<-h.done
}

// haltedPut begins a Put and returns when it has come to a step.
func haltedPut(t *testing.T, s *archive.Store, data, step string, at time.Time) halted {
	t.Helper()
	h, there := halted{make(chan bool), make(chan bool)}, make(chan bool)
	s.SetStep(func(name string) {
		if name == step {
			close(there)
			<-h.on
		}
	})
	go func() {
		defer close(h.done)
		if _, err := s.Put(context.Background(), meta("s1"), strings.NewReader(data), int64(len(data)), at); err != nil {
			t.Error(err)
		}
	}()
	<-there
	return h
}

// A second Put has taken the name of the first, and finds that a third was faster:
// it removes its file while the first one takes it over. The third's is theirs.
func TestPutLosesToTwo(t *testing.T) {
	root := t.TempDir()
	data := sessionText(10_000, 14)
	first := open(t, root, "none")
	var second, third halted
	first.SetStep(func(at string) {
		switch at {
		case "named":
			third = haltedPut(t, open(t, root, "none"), data, "named", noon.Add(time.Second))
			second = haltedPut(t, open(t, root, "none"), data, "renamed", noon)
		case "found":
			third.finish()
			second.finish()
		}
	})
	mustVerify(t, first, put(t, first, "s1", data))
	if got := files(t, root); len(got) != 2 {
		t.Errorf("files: %v", got)
	}
}

// A file that was left in a directory which others may share gets a name of our own.
// Where another Put was faster, that name goes again.
func TestPutNamesWhatAnotherEnters(t *testing.T) {
	root := t.TempDir()
	data := sessionText(10_000, 14)
	of := func(name string) *archive.Store {
		s, err := archive.Open(filepath.Join(root, name, "archives"), archive.Options{Dir: func(archive.Meta) string { return filepath.Join(root, "shared") }})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	put(t, of("left"), "s1", data)
	slow := of("ours")
	var other archive.Entry
	slow.SetStep(func(at string) {
		if at == "found" && other.ID == "" {
			other = put(t, of("ours"), "s1", data)
		}
	})
	e := put(t, slow, "s1", data)
	if diff := cmp.Diff(other, e); diff != "" {
		t.Error("the two got different entries (-other +slow):\n", diff)
	}
	if got := files(t, filepath.Join(root, "shared")); len(got) != 2 {
		t.Errorf("files: %v", got)
	}
	mustVerify(t, slow, e)
}

// Two data directories may share a directory of archives, each with a lock of its
// own: what one sweeps away is not what the other is writing.
func TestSweepLeavesWhatIsBeingWritten(t *testing.T) {
	root := t.TempDir()
	if err := leaseOn(filepath.Join(root, "probe")); errors.Is(err, durable.ErrUnsupported) {
		t.Skip(err)
	}
	data := sessionText(10_000, 14)
	slow := open(t, root, "none")
	swept := false
	slow.SetStep(func(at string) {
		if at != "named" {
			return
		}
		swept = true
		if err := open(t, root, "none").Sweep(context.Background(), meta("s1"), 0); err != nil {
			t.Error(err)
		}
	})
	mustVerify(t, slow, put(t, slow, "s1", data))
	if !swept {
		t.Error("nothing was swept")
	}
}

// What gets its name while it is looked at is nothing that was left over, and the
// rest is swept.
func TestSweepOfWhatGetsItsName(t *testing.T) {
	root := t.TempDir()
	e := put(t, open(t, root, "none"), "s1", sessionText(10_000, 14))
	dir := filepath.Dir(e.Path)
	for _, name := range []string{".a.sessctl-0123456789abcdef.tmp", ".b.sessctl-0123456789abcdef.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, named := open(t, root, "none"), false
	s.SetStep(func(at string) {
		if at == "left over" && !named {
			named = true
			if err := os.Rename(filepath.Join(dir, ".a.sessctl-0123456789abcdef.tmp"), filepath.Join(dir, "a.jsonl")); err != nil {
				t.Error(err)
			}
		}
	})
	if err := s.Sweep(context.Background(), meta("s1"), 0); err != nil {
		t.Error(err)
	}
	if got := files(t, root); !named || len(got) != 3 {
		t.Errorf("named: %v, files: %v", named, got)
	}
}

// leaseOn makes a file and tries to take a lease on it.
func leaseOn(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = durable.WriteLease(f)
	return err
}
