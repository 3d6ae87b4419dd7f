//go:build unix

package smallpackages_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/ledger/heads"
)

// gitKind is a kind of repository.
type gitKind struct {
	bare, pushed bool
	format       string // sha1 or sha256, "" for the first
}

func (k gitKind) String() string {
	return fmt.Sprintf("bare=%v,pushed=%v,%s", k.bare, k.pushed, k.format)
}

// gitCommand runs git in a directory and returns what it prints.
func gitCommand(t *testing.T, dir string, args ...string) string {
	t.Helper()
	all := append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)
	out, err := exec.Command("git", all...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v %s", args, err, out)
	}
	return string(out)
}

// repositoryOf makes a repository; nil without git. One that is pushed has a file and a
// directory.
func repositoryOf(t *testing.T, kind gitKind) heads.Place {
	if _, err := exec.LookPath("git"); err != nil {
		t.Log("there is no git")
		return nil
	}
	dir, made := t.TempDir(), []string{"init", "-q", "-b", "main"}
	if kind.format != "" {
		made = append(made, "--object-format="+kind.format)
	}
	bare := append(made[:len(made):len(made)], "--bare")
	switch {
	case kind.pushed:
		above := t.TempDir()
		gitCommand(t, above, bare...)
		gitCommand(t, dir, made...)
		gitCommand(t, dir, "remote", "add", "origin", above)
		writeOthers(t, dir)
		gitCommand(t, dir, "push", "-q", "-u", "origin", "HEAD:main")
	case kind.bare:
		gitCommand(t, dir, bare...)
	default:
		gitCommand(t, dir, made...)
	}
	return heads.Repository{Dir: dir, As: "here"}
}

// writeOthers commits files that are none of a ledger's.
func writeOthers(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "a b"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README", "a b/\u00e4\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gitCommand(t, dir, "add", ".")
	gitCommand(t, dir, "commit", "-q", "-m", "first")
}

// TestHeadsOfARepositoryWithLocks leaves each lock behind that a killed git can leave.
// The head is there afterwards, and nothing else has changed.
func TestHeadsOfARepositoryWithLocks(t *testing.T) {
	locks := []string{"index.lock", "HEAD.lock", "refs/heads/main.lock", "packed-refs.lock", "refs/remotes/origin/main.lock", "refs/sessctl/heads.lock", "shallow.lock"}
	for _, kind := range []gitKind{{}, {bare: true, format: "sha256"}, {pushed: true, format: "sha256"}} {
		place, _ := repositoryOf(t, kind).(heads.Repository)
		if place.Dir == "" {
			t.Skip("there is no git")
		}
		dir := filepath.Join(place.Dir, strings.TrimSpace(gitCommand(t, place.Dir, "rev-parse", "--git-dir")))
		l, head := ledgerOf(t, ledgerLeaves(0, 3)...)
		if seen := heads.Publish(t.Context(), l, head, place); seen.State != heads.Same {
			t.Fatalf("%s: %+v", kind, seen)
		}
		for i, lock := range locks {
			t.Run(kind.String()+"/"+lock, func(t *testing.T) {
				path := filepath.Join(dir, lock)
				head := grown(t, l, ledgerLeaves(3+i, 4+i)...)
				leaveLock(t, path, time.Now())
				seen := heads.Publish(t.Context(), l, head, place)
				if seen.State == heads.Unreached && !strings.Contains(seen.Reason, lock) {
					t.Errorf("it does not say what is in its way: %+v", seen)
				}
				if _, err := os.Lstat(path); err != nil {
					t.Errorf("a lock that somebody may have is removed: %v", err)
				}
				var told []string
				place.Tell = func(text string) { told = append(told, text) }
				leaveLock(t, path, time.Now().Add(-time.Hour))
				again := heads.Publish(t.Context(), l, head, place)
				if again.State != heads.Same || again.Size != head.N {
					t.Errorf("%+v", again)
				}
				_, err := os.Lstat(path)
				if (err == nil) == (len(told) > 0) || len(told) > 1 {
					t.Errorf("told %q, looking at the lock %v", told, err)
				}
				if seen.State == heads.Unreached && len(told) == 0 {
					t.Errorf("a lock was in the way, and is not any more: %+v", seen)
				}
				_ = os.Remove(path) // if it was in nobody's way
				if last, err := place.Last(t.Context()); err != nil || !bytes.Equal(last, head.Note) {
					t.Errorf("%v: %q", err, last)
				}
				gitCommand(t, place.Dir, "fsck", "--strict")
			})
		}
		if !kind.pushed {
			continue
		}
		if text := gitCommand(t, place.Dir, "ls-tree", "-r", "-z", "--name-only", "@{u}"); text != "README\x00a b/\u00e4\n\x00here.head\x00" {
			t.Errorf("%s: the tree has %q", kind, text)
		}
	}
}

func leaveLock(t *testing.T, path string, at time.Time) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// TestHeadsOfARepositoryKilled ends git at each of its calls, before it does something and
// after it, and gives the head once more.
func TestHeadsOfARepositoryKilled(t *testing.T) {
	for _, kind := range []gitKind{{}, {pushed: true}} {
		place := repositoryOf(t, kind)
		if place == nil {
			t.Skip("there is no git")
		}
		l, head := ledgerOf(t, ledgerLeaves(0, 3)...)
		calls := gitThatEnds(t)
		for n, ended := 1, true; ended; n++ {
			for _, when := range []string{"before", "after"} {
				head = grown(t, l, ledgerLeaves(2*n, 2*n+5)...)
				calls(n, when)
				heads.Publish(t.Context(), l, head, place)
				ended = calls(0, "")
				if seen := heads.Publish(t.Context(), l, head, place); seen.State != heads.Same || seen.Size != head.N {
					t.Errorf("%s: call %d, %s: %+v", kind, n, when, seen)
				}
			}
		}
	}
}

// gitThatEnds puts a git before the other that is killed at the call of a number, and
// returns what sets that number, and says whether the last one was reached.
func gitThatEnds(t *testing.T) func(n int, when string) bool {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := `#!/bin/sh
cd=$PWD; cd ` + bin + ` && read left when <plan && echo $((left - 1)) $when >plan; cd "$cd"
test "$left.$when" = 1.before && kill -9 $$
` + real + ` "$@"; code=$?
test "$left.$when" = 1.after && kill -9 $$
exit $code
`
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func(n int, when string) bool {
		var left int
		if text, err := os.ReadFile(filepath.Join(bin, "plan")); err == nil {
			_, _ = fmt.Sscan(string(text), &left)
		}
		if err := os.WriteFile(filepath.Join(bin, "plan"), fmt.Appendf(nil, "%d %s\n", n, when), 0o600); err != nil {
			t.Fatal(err)
		}
		return left <= 0
	}
}

// TestHeadsOfAnEmptyUpstream gives the first head to a clone of an empty repository.
func TestHeadsOfAnEmptyUpstream(t *testing.T) {
	above, _ := repositoryOf(t, gitKind{bare: true}).(heads.Repository)
	if above.Dir == "" {
		t.Skip("there is no git")
	}
	place := heads.Repository{Dir: t.TempDir(), As: "here"}
	gitCommand(t, place.Dir, "clone", "-q", above.Dir, ".")
	l, head := ledgerOf(t, ledgerLeaves(0, 3)...)
	if seen := heads.Publish(t.Context(), l, head, place); seen.State != heads.Same {
		t.Fatalf("%+v", seen)
	}
	if last, err := above.Last(t.Context()); err != nil || !bytes.Equal(last, head.Note) {
		t.Errorf("it is not there: %v %q", err, last)
	}
	gitCommand(t, place.Dir, "pull", "-q", "--ff-only")
}

// TestHeadsOfTwoMachines holds that ledgers of two machines share a repository, that the
// index and files of others are left alone, and that git of a hook is not taken for ours.
func TestHeadsOfTwoMachines(t *testing.T) {
	first, _ := repositoryOf(t, gitKind{pushed: true}).(heads.Repository)
	if first.Dir == "" {
		t.Skip("there is no git")
	}
	second := heads.Repository{Dir: t.TempDir(), As: "there"}
	gitCommand(t, second.Dir, "clone", "-q", strings.TrimSpace(gitCommand(t, first.Dir, "remote", "get-url", "origin")), ".")
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "nowhere"))
	l, head := ledgerOf(t, ledgerLeaves(0, 3)...)
	for i := 3; i < 6; i++ {
		for _, place := range []heads.Place{first, second} {
			if seen := heads.Publish(t.Context(), l, head, place); seen.State != heads.Same || seen.Size != head.N {
				t.Fatalf("%s: %+v", place.Name(), seen)
			}
		}
		head = grown(t, l, ledgerLeaves(i, i+1)...)
	}
	if err := os.Unsetenv("GIT_DIR"); err != nil {
		t.Fatal(err)
	}
	gitCommand(t, first.Dir, "pull", "-q", "--ff-only")
	if text := gitCommand(t, first.Dir, "status", "--porcelain") + gitCommand(t, first.Dir, "ls-files", "*.head"); text != "here.head\nthere.head\n" {
		t.Errorf("after a pull: %q", text)
	}

	alone, _ := repositoryOf(t, gitKind{}).(heads.Repository)
	writeOthers(t, alone.Dir)
	if err := os.WriteFile(filepath.Join(alone.Dir, "README"), []byte("other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gitCommand(t, alone.Dir, "add", "README")
	if seen := heads.Publish(t.Context(), l, head, alone); seen.State != heads.Same {
		t.Fatalf("%+v", seen)
	}
	if text := gitCommand(t, alone.Dir, "status", "--porcelain"); text != "M  README\n" {
		t.Errorf("what was prepared is %q", text)
	}
}
