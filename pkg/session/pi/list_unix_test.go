//go:build unix

package pi_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Nothing that is not a regular file with one name is read, followed, or
// waited for.
func TestListOddFiles(t *testing.T) {
	s := newOne(t)
	outside := filepath.Join(t.TempDir(), "secret.jsonl")
	s.write(outside, transcript("secret", 3))
	s.log("one.jsonl", transcript("one", 3))
	for _, err := range []error{
		os.Symlink(outside, s.path("out.jsonl")),
		os.Symlink(name, s.path("in.jsonl")),
		os.Link(s.path("one.jsonl"), s.path("two.jsonl")),
		syscall.Mkfifo(s.path("pipe.jsonl"), 0o600),
		syscall.Mkfifo(filepath.Join(s.root, "--pipe--"), 0o600),
		os.Symlink(filepath.Dir(outside), filepath.Join(s.root, "--escaped--")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if refs := s.list().Refs; len(refs) != 1 {
		t.Errorf("%+v", refs)
	}
	for file, part := range map[string]string{
		"out.jsonl": "symbolic link", "in.jsonl": "symbolic link", "one.jsonl": "hard links", "two.jsonl": "hard links",
		"pipe.jsonl": "a pipe", "--escaped--": "leads out of the store",
	} {
		s.noticed(file, part)
	}
}
