package archive_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sessctl/sessctl/pkg/durable"
)

// A full disk leaves no file, and the error names the path and what is free.
func TestFullDisk(t *testing.T) {
	random := make([]byte, 1<<20)
	rand.NewChaCha8([32]byte{}).Read(random)
	for _, compression := range []string{"none", "zstd"} {
		t.Run(compression, func(t *testing.T) {
			root := t.TempDir()
			if err := unix.Mount("none", root, "tmpfs", 0, "size=512k"); err != nil {
				t.Skip("tmpfs cannot be mounted (needs root):", err)
			}
			t.Cleanup(func() { unix.Unmount(root, unix.MNT_DETACH) })
			s := open(t, root, compression)
			_, err := s.Put(context.Background(), meta("s1"), strings.NewReader(string(random)), int64(len(random)), noon)
			var space *durable.SpaceError
			if !errors.As(err, &space) || space.Free == 0 {
				t.Fatalf("error is %v, want a SpaceError", err)
			}
			if text := err.Error(); !strings.Contains(text, filepath.Join(root, "archive", "openclaw", "coordinator")) || !strings.Contains(text, fmt.Sprint(space.Free)) {
				t.Errorf("message is %q", text)
			}
			if left := files(t, root); len(left) != 0 {
				t.Errorf("left %v", left)
			}
			put(t, s, "s1", "small enough") // and the store goes on
		})
	}
}

func TestUnwritableDirectory(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "archive"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, root, "none")
	_, err := s.Put(context.Background(), meta("s1"), strings.NewReader("x"), 1, noon)
	if err == nil || !strings.Contains(err.Error(), filepath.Join(root, "archive")) {
		t.Errorf("error is %v, want one that names the directory", err)
	}
}
