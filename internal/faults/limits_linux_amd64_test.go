package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/tier"
)

// What the machine refuses: the program says so, changes nothing that cannot
// be finished, and finishes when it is no longer refused.

// limit is a way in which a system gives less than is needed.
type limit struct {
	name string
	// shell is run before the program, in the same process.
	shell string
	// mount is run before the program and undone after it; it needs root.
	mount, undo string
	code        int    // wanted; 1 for refused, also where an archive was made (3)
	says        string // part of what the program says
}

func limits() []limit {
	const tmpfs = "mkdir -p data && mount -t tmpfs -o size=16m,nr_inodes=4096 none data"
	return []limit{
		{name: "files may have 8 KiB", shell: "ulimit -f 16", code: 1, says: "disk I/O error"},
		{name: "32 descriptors", shell: "ulimit -n 32", code: 0},
		{name: "open umask", shell: "umask 000", code: 0},
		{name: "closed umask", shell: "umask 777", code: 0},
		{name: "no room for output", shell: "exec >/dev/full", code: 1},
		{
			name: "full disk", mount: tmpfs + " && mount -o remount,size=64k data", undo: "mount -o remount,size=16m data",
			code: 1, says: "make room",
		},
		{
			name: "no inode left", mount: tmpfs + " && mount -o remount,nr_inodes=6 data", undo: "mount -o remount,nr_inodes=4096 data",
			code: 1, says: "out of inodes",
		},
		{
			name: "data directory read-only", mount: tmpfs + " && mount -o remount,ro data", undo: "mount -o remount,rw data",
			code: 1, says: "read-only file system",
		},
		{
			name:  "sessions read-only",
			mount: "mount --bind $SESSIONS $SESSIONS && mount -o remount,ro,bind $SESSIONS", undo: "umount $SESSIONS",
			code: 1, says: "read-only file system",
		},
		{
			name: "sessions elsewhere", mount: tmpfs, undo: "true", code: 0,
		},
	}
}

func TestLimits(t *testing.T) {
	tier.SkipSmoke(t, "it mounts file systems")
	program := BuiltProgram(t)
	for _, l := range limits() {
		for _, c := range compactions()[:2] {
			t.Run(l.name+"/"+c.Name, func(t *testing.T) { l.try(t, program, c) })
		}
	}
}

func (l limit) try(t *testing.T, program string, c Command) {
	if l.mount != "" && os.Geteuid() != 0 {
		t.Skip("mounting a file system needs root")
	}
	b, err := NewBench(program, filepath.Join(t.TempDir(), "bench"), c)
	if err != nil {
		t.Fatal(err)
	}
	h, err := b.fresh()
	if err != nil {
		t.Fatal(err)
	}
	if l.mount != "" {
		t.Cleanup(func() { _ = exec.Command("umount", "-l", filepath.Join(h.Dir, "data")).Run() }) // not every limit mounts it
		shell(t, h, l.mount)
	}
	code, out := l.run(t, h)
	if refused := l.code == 1 && code == 3; code != l.code && !refused || !strings.Contains(out, l.says) || strings.Contains(out, "goroutine ") {
		t.Errorf("exit %d, want %d and %q:\n%s", code, l.code, l.says, out)
	}
	if err := h.linesKept(); err != nil {
		t.Error(err)
	}
	if l.code != 0 && l.says != "" {
		if err := h.logIs(h.source()); err != nil {
			t.Error(err)
		}
	}
	if l.undo != "" {
		shell(t, h, l.undo)
	}
	if err := h.survived(); err != nil {
		t.Error(err)
	}
}

// run runs the command under the limit.
func (l limit) run(t *testing.T, h *Home) (int, string) {
	t.Helper()
	cmd := exec.Command("bash", append([]string{"-c", l.shell + "\nexec \"$0\" \"$@\"", h.Program}, h.args()...)...)
	cmd.Env, cmd.Dir = h.env(), h.Dir
	out, err := cmd.CombinedOutput()
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode(), string(out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, string(out)
}

// shell runs a command line in the home.
func shell(t *testing.T, h *Home, line string) {
	t.Helper()
	cmd := exec.Command("bash", "-ec", line)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if h != nil {
		cmd.Dir, cmd.Env = h.Dir, append(cmd.Env, "SESSIONS="+h.Sessions())
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// A reader that goes away does not hurt: what was done is done.
func TestClosedOutput(t *testing.T) {
	program := BuiltProgram(t)
	b, err := NewBench(program, filepath.Join(t.TempDir(), "bench"), compactions()[0])
	if err != nil {
		t.Fatal(err)
	}
	h, err := b.fresh()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", append([]string{"-c", `"$0" "$@" | true; exit ${PIPESTATUS[0]}`, program}, h.args()...)...)
	cmd.Env, cmd.Dir = h.env(), h.Dir
	if out, err := cmd.CombinedOutput(); strings.Contains(string(out), "goroutine ") {
		t.Errorf("%v: %s", err, out)
	}
	if err := h.survived(); err != nil {
		t.Error(err)
	}
}
