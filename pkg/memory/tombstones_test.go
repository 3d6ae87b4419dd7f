package memory_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
)

// forgetful is a memory from which a session of three records was forgotten,
// and the file that records it.
func forgetful(t *testing.T) (s *memory.Store, dir, file string) {
	t.Helper()
	s, dir = newStore(t)
	put(t, s, record(0, "one"), record(1, "two"), record(2, "three"))
	if n, err := s.Forget(context.Background(), memory.Selection{Session: "s1"}); n.Marked != 3 || err != nil {
		t.Fatal(n, err)
	}
	files, err := filepath.Glob(filepath.Join(memory.ForgottenDir(dir), "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return s, dir, files[0]
}

// damages are what can happen to the record of what was forgotten.
func damages() map[string]func(t *testing.T, dir, file string) {
	change := func(f func(raw []byte) []byte) func(*testing.T, string, string) {
		return func(t *testing.T, _, file string) {
			raw, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(file, f(raw), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	removed := func(t *testing.T, path string) {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]func(*testing.T, string, string){
		"file missing":      func(t *testing.T, _, file string) { removed(t, file) },
		"directory missing": func(t *testing.T, dir, _ string) { removed(t, memory.ForgottenDir(dir)) },
		"empty":             change(func([]byte) []byte { return nil }),
		"garbage":           change(func(raw []byte) []byte { return []byte(strings.Repeat("\x00\xff", len(raw)/2)) }),
		"cut":               change(func(raw []byte) []byte { return raw[:len(raw)/2] }),
		"one bit": change(func(raw []byte) []byte {
			raw[strings.Index(string(raw), `"id":"`)+8] ^= 1
			return raw
		}),
		"a newer format": change(func(raw []byte) []byte {
			return []byte(strings.Replace(string(raw), `"schema":1`, `"schema":9`, 1))
		}),
	}
}

// While the memory knows what was forgotten, a lost or damaged record of it is
// told, nothing comes back, and the next run writes it again.
func TestLostTombstonesAreRestored(t *testing.T) {
	ctx := context.Background()
	all := damages()
	all["list missing"] = func(t *testing.T, dir, _ string) {
		if err := os.Remove(memory.ForgottenDir(dir) + ".json"); err != nil {
			t.Fatal(err)
		}
	}
	all["list damaged"] = func(t *testing.T, dir, _ string) {
		if err := os.WriteFile(memory.ForgottenDir(dir)+".json", []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, damage := range all {
		t.Run(name, func(t *testing.T) {
			s, dir, file := forgetful(t)
			if said := problemsOf(t, s); said != "" {
				t.Fatal(said)
			}
			damage(t, dir, file)
			if problemsOf(t, s) == "" {
				t.Error("verify says nothing")
			}
			if got := put(t, s, record(0, "one")); got.Buried != 1 {
				t.Errorf("%+v: it came back", got)
			}
			s.Close()
			s = open(t, dir)
			if _, lost, err := s.RepairForgotten(ctx); err != nil || len(lost) > 0 {
				t.Fatal(lost, err)
			}
			if said := problemsOf(t, s); said != "" {
				t.Error(said)
			}
			if n, lost, err := s.RepairForgotten(ctx); n != 0 || len(lost) > 0 || err != nil {
				t.Error("the second time", n, lost, err)
			}
			// and the files alone keep it out of a new memory
			s.Close()
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir)
			if got := put(t, s, record(0, "one"), record(1, "two"), record(2, "three")); got.Buried != 3 {
				t.Errorf("%+v: it came back", got)
			}
		})
	}
}

// When the memory is gone as well, the loss is told again and again, until the
// file is put back or given up. Nothing is blocked meanwhile.
func TestLostTombstonesAreTold(t *testing.T) {
	ctx := context.Background()
	for name, damage := range damages() {
		t.Run(name, func(t *testing.T) {
			s, dir, file := forgetful(t)
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			damage(t, dir, file)
			s.Close()
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			for round := range 2 {
				s = open(t, dir)
				put(t, s, record(9, "something new"))
				_, lost, err := s.RepairForgotten(ctx)
				if err != nil || len(lost) != 1 || lost[0].Path != file || lost[0].Records != 3 {
					t.Fatalf("round %d: %+v, %v", round, lost, err)
				}
				if said := problemsOf(t, s); !strings.Contains(said, "3 records were forgotten") {
					t.Errorf("verify says %q", said)
				}
				s.Close()
			}

			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			s = open(t, dir)
			if _, lost, err := s.RepairForgotten(ctx); err != nil || len(lost) > 0 {
				t.Fatal(lost, err)
			}
			if got := put(t, s, record(0, "one"), record(1, "two"), record(2, "three")); got.Buried != 3 {
				t.Errorf("%+v: it came back", got)
			}
			if said := problemsOf(t, s); said != "" {
				t.Error(said)
			}
		})
	}
}

// What is given up is told no more, and may be remembered again.
func TestGiveUpForgotten(t *testing.T) {
	for name, damage := range damages() {
		t.Run(name, func(t *testing.T) {
			s, dir, file := forgetful(t)
			damage(t, dir, file)
			s.Close()
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if err := memory.GiveUpForgotten(nil, dir); err != nil {
				t.Fatal(err)
			}
			if lost := memory.LostForgottenFiles(dir); len(lost) > 0 {
				t.Fatal(lost)
			}
			s = open(t, dir)
			if _, lost, err := s.RepairForgotten(context.Background()); len(lost) > 0 || err != nil {
				t.Error(lost, err)
			}
			if got := put(t, s, record(0, "one")); got.Stored != 1 {
				t.Errorf("%+v, want it stored", got)
			}
			if said := problemsOf(t, s); said != "" {
				t.Error(said)
			}
		})
	}
}
