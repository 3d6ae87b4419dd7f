package archive_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
)

const crashSize = 600_000

// A kill at any point of archiving, then the same again: one whole archive,
// one entry, no other file.
func TestKillAndPutAgain(t *testing.T) {
	for _, compression := range []string{"none", "zstd"} {
		for _, step := range []string{"half", "last byte", "renamed", "verified", "entered"} {
			t.Run(compression+" "+step, func(t *testing.T) {
				root := t.TempDir()
				killChild(t, root, compression, step)
				s := open(t, root, compression)
				if got := len(entries(t, s)); got != 0 && step != "entered" {
					t.Errorf("%d entries of an archive that was not finished", got)
				}
				// A later run, a second and more after the first.
				e, err := s.Put(context.Background(), meta("s1"), strings.NewReader(sessionText(crashSize, 10)), crashSize, noon.Add(time.Minute))
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Sweep(context.Background(), meta("s1"), 0); err != nil {
					t.Fatal(err)
				}
				if got := files(t, root); len(got) != 2 {
					t.Errorf("files: %v", got)
				}
				if diff := cmp.Diff([]archive.Entry{e}, entries(t, s)); diff != "" {
					t.Error("catalogue (-want +got):\n", diff)
				}
				mustVerify(t, s, e)
				if read(t, s, e) != sessionText(crashSize, 10) {
					t.Error("the archive is not the session")
				}
				adopted := step == "renamed" || step == "verified" || step == "entered"
				if got := strings.Contains(e.Path, noonStamp); got != adopted {
					t.Errorf("archive %s; taken over: %v, want %v", filepath.Base(e.Path), got, adopted)
				}
			})
		}
	}
}

// killChild runs putAndDie and makes sure that it did.
func killChild(t *testing.T, root, compression, step string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"=put", "TEST_ROOT="+root, "TEST_COMPRESSION="+compression, "TEST_STEP="+step)
	if out, err := cmd.CombinedOutput(); err == nil || len(out) > 0 {
		t.Fatalf("the child was not killed: %v %s", err, out)
	}
}

func putAndDie() error {
	s, err := newStore(os.Getenv("TEST_ROOT"), os.Getenv("TEST_COMPRESSION"))
	if err != nil {
		return err
	}
	s.SetStep(dieAt)
	text := sessionText(crashSize, 10)
	src := io.MultiReader(
		strings.NewReader(text[:crashSize/2]), dying("half"),
		strings.NewReader(text[crashSize/2:crashSize-1]), dying("last byte"),
		strings.NewReader(text[crashSize-1:]))
	_, err = s.Put(context.Background(), meta("s1"), src, crashSize, noon)
	return err
}

// dying is a reader without bytes that kills the process at its step.
type dying string

func (d dying) Read([]byte) (int, error) { dieAt(string(d)); return 0, io.EOF }

func dieAt(step string) {
	if step != os.Getenv("TEST_STEP") {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // the signal is on its way
}

// A file without an entry is taken over only when it is whole.
func TestNotTakenOver(t *testing.T) {
	root := t.TempDir()
	s := open(t, root, "none")
	data := sessionText(1000, 11)
	first := put(t, s, "s1", data)
	if err := os.Remove(filepath.Join(root, "archives", first.ID+".json")); err != nil {
		t.Fatal(err)
	}
	change(t, first.Path, func(data []byte) []byte { data[500] ^= 1; return data })
	second := put(t, s, "s1", data)
	if second.Path == first.Path {
		t.Error("a damaged file was taken over")
	}
	mustVerify(t, s, second)
}

// Where a power cut undid the renaming, the temporary file is the archive: a
// sweep puts it in its place instead of removing it.
func TestSweepRescues(t *testing.T) {
	root := t.TempDir()
	s := open(t, root, "zstd")
	e := put(t, s, "s1", sessionText(1000, 12))
	temp := filepath.Join(filepath.Dir(e.Path), ".s1.sessctl-0123456789abcdef.tmp")
	torn := filepath.Join(filepath.Dir(e.Path), ".s1.sessctl-fedcba9876543210.tmp")
	if err := os.Rename(e.Path, temp); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(torn, []byte("half of some"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(context.Background(), meta("s1"), durable.SweepAge); err != nil {
		t.Fatal(err)
	}
	if got := len(files(t, root)); got != 3 {
		t.Errorf("files that may be in the making were touched: %v", files(t, root))
	}
	if err := s.Sweep(context.Background(), meta("s1"), 0); err != nil {
		t.Fatal(err)
	}
	mustVerify(t, s, e)
	if got := len(files(t, root)); got != 2 {
		t.Errorf("files: %v", files(t, root))
	}
	// The same content beside a good archive is worth nothing.
	data, err := os.ReadFile(e.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(context.Background(), meta("s1"), 0); err != nil {
		t.Fatal(err)
	}
	if got := len(files(t, root)); got != 2 {
		t.Errorf("files: %v", files(t, root))
	}
}

// A rescue that was killed between link and unlink left the archive a second
// name, under which nobody would look for it.
func TestSweepEndsAMove(t *testing.T) {
	root := t.TempDir()
	s := open(t, root, "zstd")
	e := put(t, s, "s1", sessionText(100, 12))
	aside := filepath.Join(filepath.Dir(e.Path), "..s1.sessctl-0123456789abcdef.tmp.sessctl-fedcba9876543210.moved")
	if err := os.Link(e.Path, aside); err != nil {
		t.Skip("no hard links:", err)
	}
	if err := s.Sweep(context.Background(), meta("s1"), 0); err != nil {
		t.Fatal(err)
	}
	mustVerify(t, s, e)
	if got := len(files(t, root)); got != 2 {
		t.Errorf("files: %v", files(t, root))
	}
}
