package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

//go:embed machine.sh
var machineScript string

// machine is a system of its own, with a real systemd as process 1 (machine.sh).
type machine struct {
	*stage
	dir      string
	process1 string // its id here
	uid      string // of lea, in it
	unshare  *exec.Cmd
	said     bytes.Buffer
}

// whyNoMachine says why this system cannot have one, "" if nothing is known.
func whyNoMachine() string {
	if runtime.GOOS != "linux" {
		return "systemd is of Linux"
	}
	if os.Geteuid() != 0 {
		return "only root makes namespaces with a systemd in them"
	}
	for _, program := range []string{"unshare", "nsenter", "findmnt", "useradd", "systemctl", "runuser"} {
		if _, err := exec.LookPath(program); err != nil {
			return "there is no " + program
		}
	}
	return ""
}

// boot starts the machine and waits until its systemd has come up; a scenario whose
// machine does not is skipped.
func boot(ctx context.Context, s *stage) *machine {
	if why := whyNoMachine(); why != "" {
		s.skip(why)
	}
	m := &machine{stage: s, dir: filepath.Join(s.home, "machine")}
	script, samples := filepath.Join(s.home, "machine.sh"), filepath.Join(s.home, "samples")
	s.must("write the script", errors.Join(os.WriteFile(script, []byte(machineScript), 0o700), os.Mkdir(m.dir, 0o700), os.Mkdir(samples, 0o700)))
	for _, from := range []string{"sample", "claude"} {
		s.must("copy the samples", os.CopyFS(samples, os.DirFS(filepath.Join("testdata", from))))
	}
	m.unshare = exec.Command("sh", script, "start", m.dir, s.sessctl, samples, cronPackages(ctx))
	m.unshare.Stdout, m.unshare.Stderr = &m.said, &m.said
	s.must("start "+script, m.unshare.Start())
	if !until(ctx, time.Minute, func() bool { return m.isUp(ctx) }) {
		m.shutDown()
		s.skip("no systemd comes up in namespaces here: " + lastLines(m.said.String()))
	}
	m.uid = m.run(ctx, "id", "-u", "lea")
	return m
}

// isUp reports whether systemd has started what it starts.
func (m *machine) isUp(ctx context.Context) bool {
	if m.process1 = childOf(m.unshare.Process.Pid); m.process1 == "" {
		return false
	}
	state, _ := m.try(ctx, "systemctl", "is-system-running") // its exit code says whether all started
	return state == "running" || state == "degraded"
}

// childOf is the id of the only child of a process, "" if it has none.
func childOf(pid int) string {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if words := strings.Fields(string(children)); err == nil && len(words) == 1 {
		return words[0]
	}
	return ""
}

// shutDown ends the machine: what runs in it ends with its process 1.
func (m *machine) shutDown() {
	_ = m.unshare.Process.Kill() // with --kill-child its child ends too
	_ = m.unshare.Wait()
	text, err := os.ReadFile(filepath.Join(m.dir, "cgroup"))
	if err != nil {
		return
	}
	for range 50 { // the kernel may need a moment
		if exec.Command("find", strings.TrimSpace(string(text)), "-depth", "-type", "d", "-exec", "rmdir", "{}", "+").Run() == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// try runs a command in the machine as root; the error says how it ended.
func (m *machine) try(ctx context.Context, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	enter := []string{"--target", m.process1, "--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup", "--root", "env", "--chdir=/", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"}
	out, err := exec.CommandContext(ctx, "nsenter", append(enter, command...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// run is try for what must succeed.
func (m *machine) run(ctx context.Context, command ...string) string {
	out, err := m.try(ctx, command...)
	m.must(strings.Join(command, " ")+": "+lastLines(out), err)
	return out
}

// lea runs a command in the machine as the account lea, which must succeed.
func (m *machine) lea(ctx context.Context, command ...string) string {
	return m.run(ctx, append([]string{"runuser", "-u", "lea", "--", "env", "HOME=/home/lea", "USER=lea", "XDG_RUNTIME_DIR=/run/user/" + m.uid}, command...)...)
}

// sh runs a script in the machine as root, which must succeed.
func (m *machine) sh(ctx context.Context, script string) string {
	return m.run(ctx, "sh", "-euc", script)
}

// until waits until something holds; false if it never does.
func until(ctx context.Context, patience time.Duration, holds func() bool) bool {
	for end := time.Now().Add(patience); ctx.Err() == nil && time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if holds() {
			return true
		}
	}
	return holds()
}

// cronPackages is a directory with Debian's packages of cron, "" if there are none
// to be had.
func cronPackages(ctx context.Context) string {
	cache, err := cacheDir()
	if err != nil {
		return ""
	}
	dir := filepath.Join(cache, "cron")
	if there, _ := filepath.Glob(filepath.Join(dir, "cron_*.deb")); len(there) > 0 {
		return dir
	}
	if os.MkdirAll(dir, 0o755) != nil {
		return ""
	}
	for _, name := range []string{"cron-daemon-common", "cron"} { // the first is none of its own everywhere
		c := exec.CommandContext(ctx, "apt-get", "-q", "download", name)
		c.Dir = dir
		_ = c.Run()
	}
	if there, _ := filepath.Glob(filepath.Join(dir, "cron_*.deb")); len(there) > 0 {
		return dir
	}
	return ""
}
