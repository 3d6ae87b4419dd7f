package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/sessctl/sessctl/internal/tier"
	"golang.org/x/sys/unix"
)

// daemon is the account that the unit of these tests runs as; every Linux has it.
const daemon = 1

// sandbox is a unit of the system, and what it needs to be run as systemd would.
type sandbox struct {
	Directives map[string][]string // of its service, by name, in their order
	Syscalls   []uint32            // that are allowed; nil for all
}

func (s sandbox) has(name, value string) bool { return slices.Contains(s.Directives[name], value) }

// systemdHome is a machine with an account that has a pi and an OpenClaw, and the
// unit of its nightly run.
type systemdHome struct {
	t        *testing.T
	home     string
	pi, work string // the log of a pi, and where that works
	claw     string // OpenClaw's log
	sandbox
}

// The command of the unit does its work under the restrictions of the unit, and
// sees there what it must see: a pi that runs, a gateway that runs, and a log that
// somebody has open. systemd does not run where tests do, so the test makes the
// restrictions itself: the namespaces, the mounts, the account without
// capabilities, the system calls and the kinds of sockets.
func TestUnitInItsSandbox(t *testing.T) {
	if os.Getenv("SESSCTL_TEST_SANDBOX") != "" {
		runInSandbox(t)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make the restrictions")
	}
	tier.SkipSmoke(t, "it makes the account and the mounts of a unit, and runs five times in them")
	h := newSystemdHome(t)
	h.run(0)
	if h.archives() < 2 {
		t.Fatalf("%d archives after the first run", h.archives())
	}
	if text := h.read(h.pi); !strings.Contains(text, `"type":"compaction"`) {
		t.Errorf("the log of pi has no summary: %s", text)
	}
	if _, err := os.Stat(h.claw); err == nil {
		t.Error("OpenClaw's log is where it was")
	}
	h.forbidden()
	h.grow(h.pi)
	h.write(strings.TrimPrefix(h.claw, h.home+"/"), strings.Join(crashLines("openclaw"), "\n")+"\n")
	h.write(".openclaw/agents/a/sessions/sessions.json", crashIndex)
	h.own()

	endPi, endGateway := h.startPi(), h.startGateway()
	h.holds("a pi and a gateway that run", 75, h.pi, h.claw)
	plan, _ := h.command(filepath.Join(h.home, "bin/sessctl"), "compact", "--all", "--dry-run").CombinedOutput()
	if !strings.Contains(string(plan), "pi is running in "+h.work) || !strings.Contains(string(plan), "its gateway is running") {
		t.Errorf("another reason: %s", plan)
	}
	endPi()
	endGateway()

	end := h.open(h.pi)
	h.holds("a log that is open", 75, h.pi)
	if _, err := os.Stat(h.claw); err == nil {
		t.Error("OpenClaw's log is not compacted when its gateway has ended")
	}
	end()
	before := h.read(h.pi)
	if h.run(0); h.read(h.pi) == before {
		t.Error("pi's log is not compacted when nobody has it open")
	}
}

// holds runs the unit and checks that logs stay as they are.
func (h *systemdHome) holds(what string, code int, logs ...string) {
	h.t.Helper()
	before := map[string]string{}
	for _, log := range logs {
		before[log] = h.read(log)
	}
	said := h.run(code)
	for _, log := range logs {
		if h.read(log) != before[log] {
			h.t.Errorf("%s: %s was changed: %s", what, log, said)
		}
	}
}

func newSystemdHome(t *testing.T) *systemdHome {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "sessctl-unit-*") // not below /dev, which stays writable
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h := &systemdHome{t: t, home: dir, work: filepath.Join(dir, "work")}
	text := strings.Join(crashLines("pi"), "\n") + "\n"
	h.pi = h.write(".pi/agent/sessions/-"+strings.ReplaceAll(h.work, "/", "-")+"--/2026-03-01T10-00-00-000Z_"+crashSession+".jsonl", text)
	h.claw = h.write(".openclaw/agents/a/sessions/"+crashSession+".jsonl", text)
	h.write(".openclaw/agents/a/sessions/sessions.json", crashIndex)
	h.write(".config/sessctl/config.yaml", "compaction: {threshold: 100, keep_recent_tokens: 1, quiet_period: 1ms}\n")
	h.write("work/x", "")
	h.write(".local/share/sessctl/x", "")
	program, err := os.ReadFile(buildProgram(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(h.write("bin/sessctl", string(program)), 0o755); err != nil {
		t.Fatal(err)
	}
	h.own()
	h.readUnit()
	return h
}

func (h *systemdHome) write(name, text string) string {
	h.t.Helper()
	path := filepath.Join(h.home, name)
	old := time.Now().Add(-2 * time.Hour)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, old, old)); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// own gives everything to the account.
func (h *systemdHome) own() {
	h.t.Helper()
	if err := filepath.WalkDir(h.home, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, daemon, daemon))
	}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *systemdHome) read(path string) string {
	h.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

func (h *systemdHome) archives() int {
	found, _ := filepath.Glob(filepath.Join(h.home, ".local/share/sessctl/archives/*.json"))
	return len(found)
}

// command is a program of the account, outside of the sandbox.
func (h *systemdHome) command(name string, arguments ...string) *exec.Cmd {
	c := exec.Command(name, arguments...)
	c.Env = []string{"HOME=" + h.home, "PATH=/usr/bin:/bin"}
	c.Dir = h.work
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: daemon, Gid: daemon}}
	return c
}

func (h *systemdHome) readUnit() {
	h.t.Helper()
	show := h.command(filepath.Join(h.home, "bin/sessctl"), "schedule", "show", "--system", "--manager", "systemd", "--json")
	out, err := show.Output()
	if err != nil {
		h.t.Fatal(err)
	}
	var doc struct {
		Files []struct {
			Text string `json:"text"`
		} `json:"files"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		h.t.Fatal(err)
	}
	h.Directives = map[string][]string{}
	for line := range strings.Lines(doc.Files[0].Text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && name[0] != '#' {
			h.Directives[name] = append(h.Directives[name], value)
		}
	}
	h.Syscalls = h.systemCalls()
}

// run runs the command of the unit in its sandbox and returns what it says.
func (h *systemdHome) run(want ...int) string {
	h.t.Helper()
	return h.inSandbox(strings.Fields(h.Directives["ExecStart"][0]), want...)
}

func (h *systemdHome) inSandbox(command []string, want ...int) string {
	h.t.Helper()
	unit, err := json.Marshal(h.sandbox)
	if err != nil {
		h.t.Fatal(err)
	}
	c := exec.Command(os.Args[0], append([]string{"-test.run=^TestUnitInItsSandbox$", "--"}, command...)...)
	c.Env = []string{"SESSCTL_TEST_SANDBOX=" + string(unit), "HOME=" + h.home, "PATH=/usr/bin:/bin"}
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC}
	if h.has("PrivateNetwork", "yes") {
		c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNET
	}
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.t.Skip("no namespaces to be had: ", err)
	}
	if code := c.ProcessState.ExitCode(); !slices.Contains(want, code) {
		h.t.Fatalf("%s: exit code %d\n%s", strings.Join(command, " "), code, out)
	}
	return string(out)
}

// forbidden checks that the restrictions are in force: what the unit leaves out
// cannot be written, and neither can what only root may.
func (h *systemdHome) forbidden() {
	h.t.Helper()
	for _, path := range []string{h.home + "/elsewhere", "/usr/elsewhere"} {
		if out := h.inSandbox([]string{"/bin/sh", "-c", "echo x > " + path}, 1, 2); !strings.Contains(out, "Read-only file system") {
			h.t.Errorf("%s: %s", path, out)
		}
	}
	status := h.inSandbox([]string{"/bin/cat", "/proc/self/status"}, 0)
	for _, line := range []string{`CapBnd:\s0+\n`, `CapEff:\s0+\n`, `NoNewPrivs:\s1\n`, `Seccomp:\s2\n`, `Uid:\s1\s1\s1\s1\n`} {
		if !regexp.MustCompile(line).MatchString(status) {
			h.t.Errorf("not %s: %s", line, status)
		}
	}
}

// grow adds a turn with many tokens.
func (h *systemdHome) grow(log string) {
	h.t.Helper()
	lines := strings.Split(strings.TrimSpace(h.read(log)), "\n")
	var last struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		h.t.Fatal(err)
	}
	for i := range 6 {
		id, at := fmt.Sprintf("%04x%04x", len(lines), i), time.Now().Add(-3*time.Hour).UTC().Format("2006-01-02T15:04:05.000Z")
		body := `"role":"user","content":[{"type":"text","text":"another question ` + id + strings.Repeat(" about the importer of "+id, 200) + `"}]`
		if i%2 == 1 {
			body = `"role":"assistant","content":[{"type":"text","text":"another answer ` + id + `"}],"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":900},"stopReason":"stop"`
		}
		lines = append(lines, fmt.Sprintf(`{"type":"message","id":"%s","parentId":"%s","timestamp":"%s","message":{%s}}`, id, last.ID, at, body))
		last.ID = id
	}
	h.write(strings.TrimPrefix(log, h.home+"/"), strings.Join(lines, "\n")+"\n")
}

// start starts a program of the account that runs until it is ended.
func (h *systemdHome) start(name, script string) (c *exec.Cmd, end func()) {
	h.t.Helper()
	c = h.command("/bin/sh", "-c", script+"; echo started; read end")
	c.Args[0] = name
	in, errIn := c.StdinPipe()
	out, errOut := c.StdoutPipe()
	if err := errors.Join(errIn, errOut, c.Start()); err != nil {
		h.t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		h.t.Fatal(err)
	}
	return c, func() { in.Close(); _ = c.Wait() }
}

func (h *systemdHome) startPi() func() {
	_, end := h.start("pi", ":")
	return end
}

func (h *systemdHome) open(path string) func() {
	_, end := h.start("editor", "exec 3>>'"+path+"'")
	return end
}

// startGateway lets a process hold the lock that a gateway of OpenClaw keeps in
// the temporary directory.
func (h *systemdHome) startGateway() func() {
	h.t.Helper()
	c, end := h.start("openclaw", ":")
	dir := filepath.Join("/tmp", "openclaw-"+filepath.Base(h.home))
	lock := fmt.Sprintf(`{"pid":%d,"createdAt":%q,"configPath":%q,"port":1}`, c.Process.Pid, time.Now().UTC().Format(time.RFC3339), filepath.Join(h.home, ".openclaw/openclaw.json"))
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "gateway.0.lock"), []byte(lock), 0o644), os.Chown(filepath.Join(dir, "gateway.0.lock"), daemon, daemon)); err != nil {
		h.t.Fatal(err)
	}
	remove := func() { end(); _ = os.RemoveAll(dir) }
	h.t.Cleanup(remove)
	return remove
}

var systemCall = regexp.MustCompile(`(?m)^\tSYS_(\w+)\s+= (\d+)$`)

// systemCalls are the numbers of those that the unit allows; nil where nothing
// says what the names of sets mean.
func (h *systemdHome) systemCalls() (allowed []uint32) {
	h.t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		h.t.Fatal(err)
	}
	table, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "unix", "zsysnum_linux_amd64.go"))
	if err != nil {
		h.t.Fatal(err)
	}
	numbers := map[string]uint32{}
	for _, m := range systemCall.FindAllStringSubmatch(string(table), -1) {
		n, _ := strconv.Atoi(m[2])
		numbers[strings.ToLower(m[1])] = uint32(n)
	}
	set := map[string]bool{"@default": true}
	for _, line := range h.Directives["SystemCallFilter"] {
		names, deny := strings.CutPrefix(line, "~")
		for _, name := range strings.Fields(names) {
			if !spread(name, !deny, set) {
				h.t.Log("systemd-analyze is not installed: the system calls are not filtered")
				return nil
			}
		}
	}
	for name, yes := range set {
		if n, known := numbers[name]; yes && known {
			allowed = append(allowed, n)
		}
	}
	return allowed
}

// spread sets every system call of a set, as systemd knows it.
func spread(name string, to bool, set map[string]bool) bool {
	if !strings.HasPrefix(name, "@") {
		set[name] = to
		return true
	}
	out, err := exec.Command("systemd-analyze", "syscall-filter", "--no-pager", name).Output()
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(out)) {
		member := strings.TrimSpace(line)
		if !strings.HasPrefix(line, "    ") || member == "" || member[0] == '#' {
			continue
		}
		if !spread(member, to, set) {
			return false
		}
	}
	return true
}

// runInSandbox is the other side: it restricts itself, as systemd would restrict
// the process, and becomes the command behind "--".
func runInSandbox(t *testing.T) {
	var s sandbox
	if err := json.Unmarshal([]byte(os.Getenv("SESSCTL_TEST_SANDBOX")), &s); err != nil {
		t.Fatal(err)
	}
	command := os.Args[slices.Index(os.Args, "--")+1:]
	environment := append([]string{"HOME=" + os.Getenv("HOME"), "PATH=" + os.Getenv("PATH")}, s.Directives["Environment"]...)
	runtime.LockOSThread()
	if err := errors.Join(s.mounts(), s.account(), s.filter()); err != nil {
		fmt.Fprintln(os.Stderr, "restrict:", err)
		os.Exit(99)
	}
	fmt.Fprintln(os.Stderr, syscall.Exec(command[0], command, environment))
	os.Exit(99)
}

// mounts makes everything unwritable but what the unit leaves writable.
func (s sandbox) mounts() error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return err
	}
	writable := []string{"/dev"}
	if s.has("PrivateTmp", "yes") {
		return errors.New("the unit hides the temporary directory")
	}
	for _, path := range s.Directives["ReadWritePaths"] {
		if path = strings.TrimPrefix(path, "-"); exists(path) {
			writable = append(writable, path)
		}
	}
	for _, path := range writable {
		if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("bind %s: %w", path, err)
		}
		if err := unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("make %s writable: %w", path, err)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// account gives up every privilege.
func (s sandbox) account() error {
	for c := range unix.CAP_LAST_CAP + 1 {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	unix.Umask(0o077)
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(daemon), syscall.Setuid(daemon)); err != nil {
		return err
	}
	if s.has("MemoryDenyWriteExecute", "yes") {
		if err := unix.Prctl(unix.PR_SET_MDWE, unix.PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("refuse memory that is written and executed: %w", err)
		}
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

// filter lets through the system calls and kinds of sockets that are allowed.
func (s sandbox) filter() error {
	const (
		load, equal, end = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
		allow, refuse    = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	)
	families := map[string]uint32{"AF_UNIX": unix.AF_UNIX, "AF_INET": unix.AF_INET, "AF_INET6": unix.AF_INET6, "AF_NETLINK": unix.AF_NETLINK}
	kinds := strings.Fields(s.Directives["RestrictAddressFamilies"][0])
	code := []unix.SockFilter{{Code: load, K: 0}, {Code: equal, Jf: uint8(2 + 2*len(kinds)), K: unix.SYS_SOCKET}, {Code: load, K: 16}}
	for _, kind := range kinds {
		code = append(code, unix.SockFilter{Code: equal, Jf: 1, K: families[kind]}, unix.SockFilter{Code: end, K: allow})
	}
	code = append(code, unix.SockFilter{Code: end, K: refuse})
	for _, n := range s.Syscalls {
		code = append(code, unix.SockFilter{Code: equal, Jf: 1, K: n}, unix.SockFilter{Code: end, K: allow})
	}
	rest := refuse
	if s.Syscalls == nil {
		rest = allow
	}
	code = append(code, unix.SockFilter{Code: end, K: rest})
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
