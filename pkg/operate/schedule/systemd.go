package schedule

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// How much of the machine a job gets. Memory is bounded twice: Go's collector
// works harder before the kernel ends the job.
const (
	niceness     = 10
	memoryMax    = "1G"
	memoryGo     = "768MiB"
	runDeadline  = 6 * time.Hour
	tellDeadline = 10 * time.Minute
	// endingTime is how long the step under way may take to end after a stop.
	endingTime = 5 * time.Minute
)

// temporaryDir is where a job of the system puts large files for a moment: /tmp
// is in memory on many systems, and would count as the job's.
const temporaryDir = "/var/tmp"

// Units are the units of systemd for the job, in a directory of units: the
// service, its timer and the service that tells when the first could not be run
// to its end.
func (j Job) Units(dir string) []File {
	files := []File{
		{filepath.Join(dir, j.Name()+".service"), j.service()},
		{filepath.Join(dir, j.Name()+".timer"), j.timer()},
	}
	if len(j.Failed) > 0 {
		files = append(files, File{filepath.Join(dir, j.Name()+failedSuffix+".service"), j.failedService()})
	}
	return files
}

// unit is a unit file that is being written.
type unit struct{ strings.Builder }

func newUnit(j Job, description string) *unit {
	u := &unit{}
	u.line("# " + unitText(j.marker()))
	u.line("# Changes are lost at the next install: make them with systemctl edit.")
	u.section("Unit")
	u.set("Description", unitText(description))
	return u
}

func (u *unit) line(text string)            { u.WriteString(text + "\n") }
func (u *unit) section(name string)         { u.line("\n[" + name + "]") }
func (u *unit) set(name, value string)      { u.line(name + "=" + value) }
func (u *unit) why(format string, a ...any) { u.line("# " + fmt.Sprintf(format, a...)) }

func (j Job) service() string {
	u := newUnit(j, j.describe())
	if len(j.Failed) > 0 {
		u.set("OnFailure", j.Name()+failedSuffix+".service")
	}
	if needed := outermost(append([]string{j.Needs.Data}, j.Needs.Writable...)); len(needed) > 0 {
		u.set("RequiresMountsFor", pathList(needed, ""))
	}
	if j.System && j.Needs.Network == Internet {
		u.set("Wants", "network-online.target")
		u.set("After", "network-online.target")
	}
	u.section("Service")
	u.set("Type", "oneshot")
	u.set("ExecStart", commandLine(j.Program, j.Arguments))
	u.why("75 is busy, 143 a stop: the next run goes on.")
	u.set("SuccessExitStatus", "75 143")
	u.set("TimeoutStartSec", span(cmp.Or(j.Deadline, runDeadline)))
	u.why("A stop lets the step under way end.")
	u.set("TimeoutStopSec", span(endingTime))
	u.set("KillMode", "mixed")
	u.set("Nice", fmt.Sprint(niceness))
	u.set("IOSchedulingClass", "idle")
	u.set("MemoryMax", memoryMax)
	j.common(u)
	return u.String()
}

// common is what both services are confined by.
func (j Job) common(u *unit) {
	if j.System {
		u.set("User", unitText(j.Account.Name))
	}
	u.set("Environment", unitWord("GOMEMLIMIT="+memoryGo))
	if j.System && j.Needs.Scratch == "" {
		u.set("Environment", unitWord("TMPDIR="+temporaryDir))
	}
	for _, v := range j.Environment {
		u.set("Environment", unitWord(v))
	}
	u.set("UMask", "0077")
	u.line("")
	j.confine(u)
	if j.System {
		j.confineSystem(u)
	}
}

// confine is the sandbox that a manager of a user can make too: it needs no
// namespace, and so hides no process.
func (j Job) confine(u *unit) {
	u.set("NoNewPrivileges", "yes")
	u.set("LockPersonality", "yes")
	if j.Needs.Programs {
		u.why("No MemoryDenyWriteExecute=: programs that are run from here may be interpreters that compile.")
	} else {
		u.set("MemoryDenyWriteExecute", "yes")
	}
	u.set("RestrictAddressFamilies", j.families())
	u.set("RestrictNamespaces", "yes")
	u.set("RestrictRealtime", "yes")
	u.set("RestrictSUIDSGID", "yes")
	u.set("SystemCallArchitectures", "native")
	u.set("SystemCallFilter", "@system-service")
	u.set("SystemCallFilter", "~@privileged @resources")
	u.why("A log that is replaced keeps its owner and group.")
	u.set("SystemCallFilter", "@chown")
	u.set("SystemCallErrorNumber", "EPERM")
}

// families are the kinds of sockets: programs that ask for the machine's
// addresses need netlink.
func (j Job) families() string {
	families := "AF_UNIX"
	if j.Needs.Network != NoNetwork {
		families += " AF_INET AF_INET6"
		if j.Needs.Programs {
			families += " AF_NETLINK"
		}
	}
	return families
}

// confineSystem is the rest of the sandbox of a job of the system.
func (j Job) confineSystem(u *unit) {
	if j.Account.Name == rootName {
		u.why("Without it root is not told where runtimes of root are at work.")
		u.set("CapabilityBoundingSet", "CAP_SYS_PTRACE")
	} else {
		u.set("CapabilityBoundingSet", "")
	}
	u.set("ProtectSystem", "strict")
	u.why("Readable: a runtime is recognised by where its home and its configuration are.")
	u.set("ProtectHome", "read-only")
	for _, dir := range j.writable() {
		u.set("ReadWritePaths", pathList([]string{dir}, "-"))
	}
	if j.Needs.Temporary {
		u.why("No PrivateTmp=: the lock of a running OpenClaw gateway is in the temporary directory.")
	} else {
		u.set("PrivateTmp", "yes")
	}
	u.why("No ProtectProc=, ProcSubset= and PrivateUsers=: they hide the runtimes that are running,")
	u.why("and their sessions would look idle.")
	for _, name := range []string{"PrivateDevices", "PrivateIPC", "PrivateMounts", "ProtectClock", "ProtectControlGroups", "ProtectHostname", "ProtectKernelLogs", "ProtectKernelModules", "ProtectKernelTunables", "RemoveIPC"} {
		if name != "RemoveIPC" || j.Account.Name != rootName {
			u.set(name, "yes")
		}
	}
	u.set("DevicePolicy", "closed")
	u.set("KeyringMode", "private")
	switch j.Needs.Network {
	case NoNetwork:
		u.set("PrivateNetwork", "yes")
	case Loopback:
		u.set("IPAddressDeny", "any")
		u.set("IPAddressAllow", "localhost")
	}
}

// writable are the directories that the sandbox leaves writable.
func (j Job) writable() []string {
	all := append([]string{j.Needs.Data}, j.Needs.Writable...)
	if j.Needs.Temporary {
		all = append(all, cmp.Or(j.Needs.Scratch, temporaryDir))
	}
	return outermost(all)
}

// outermost leaves directories out that are below another one: each that is
// writable is a mount of its own, and files cannot be moved from one to another.
func outermost(dirs []string) []string {
	dirs = slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return dir == "" })
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		return slices.ContainsFunc(dirs, func(other string) bool {
			return other != dir && strings.HasPrefix(dir, strings.TrimSuffix(other, "/")+"/")
		})
	})
}

func (j Job) timer() string {
	u := newUnit(j, j.describe()+", "+j.When.String())
	u.section("Timer")
	if j.When.Every > 0 {
		u.set("OnActiveSec", span(j.When.Every))
		u.set("OnUnitActiveSec", span(j.When.Every))
	} else {
		u.set("OnCalendar", unitText(j.When.Calendar))
		u.why("What was missed while the machine was off is made up for.")
		u.set("Persistent", "true")
	}
	u.set("RandomizedDelaySec", span(j.randomDelay()))
	u.set("AccuracySec", "1min")
	u.section("Install")
	u.set("WantedBy", "timers.target")
	return u.String()
}

// randomDelay keeps many machines from doing the same at the same moment.
func (j Job) randomDelay() time.Duration {
	switch c, err := parseCalendar(j.When.Calendar); {
	case j.When.Every > 0:
		return max(j.When.Every/20, time.Second)
	case err == nil && len(c.minutes) != 1:
		return 10 * time.Second
	case err == nil && len(c.hours) != 1:
		return 2 * time.Minute
	}
	return 15 * time.Minute
}

// failedService tells that the job could not be run to its end: it was ended from
// outside, or could not be started at all. What a run finds out itself, it tells
// itself.
func (j Job) failedService() string {
	u := newUnit(j, "sessctl: tell that "+j.Name()+".service failed")
	u.section("Service")
	u.set("Type", "oneshot")
	u.set("ExecStart", commandLine(j.Program, j.Failed))
	u.set("TimeoutStartSec", span(tellDeadline))
	u.set("MemoryMax", memoryMax)
	j.Needs.Writable = nil
	j.common(u)
	return u.String()
}

// unitText is a text in a unit: percent signs begin specifiers there.
func unitText(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// unitWord quotes one word of a list in a unit.
func unitWord(text string) string {
	text = unitText(text)
	if text != "" && !strings.ContainsAny(text, " \t\"'\\;#") {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// commandLine writes a command for ExecStart=, where $ begins a variable except
// in the path of the program.
func commandLine(program string, arguments []string) string {
	texts := []string{unitWord(program)}
	for _, a := range arguments {
		texts = append(texts, unitWord(strings.ReplaceAll(a, "$", "$$")))
	}
	return strings.Join(texts, " ")
}

func pathList(paths []string, prefix string) string {
	texts := make([]string, 0, len(paths))
	for _, p := range paths {
		texts = append(texts, unitWord(prefix+p))
	}
	return strings.Join(texts, " ")
}
