package operate_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/adhocore/gronx"
	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/operate/schedule"
)

var update = flag.Bool("update", false, "write the golden files")

// odd is a path with everything that units, property lists and crontabs quote.
const odd = `/srv/a b%h/"q'$HOME\é;#`

// scheduleJobs are the jobs of the golden files.
func scheduleJobs() map[string]schedule.Job {
	lea := schedule.Account{Name: "lea", UID: 1000, Home: "/home/lea"}
	options := []string{"--data-dir", "/home/lea/.local/share/sessctl"}
	nightly := schedule.Job{
		Profile: "nightly", Program: "/usr/local/bin/sessctl", Account: lea, When: schedule.When{Calendar: "*-*-* 03:00"},
		Arguments: append([]string{"run", "nightly", "--lock-wait", "10m", "--quiet"}, options...),
		Failed:    append([]string{"schedule", "failed", "nightly"}, options...),
		Needs:     schedule.Needs{Data: "/home/lea/.local/share/sessctl", Writable: []string{"/home/lea/.pi/agent/sessions"}, Temporary: true},
		Log:       "/home/lea/.local/share/sessctl/schedule-nightly.log",
	}
	system := nightly
	system.System = true
	gateway := system
	gateway.Needs.Network, gateway.Needs.Programs = schedule.Loopback, true
	gateway.Needs.Writable = append(slices.Clone(gateway.Needs.Writable), "/home/lea/.openclaw", "/home/lea/.openclaw/archive")
	servers := gateway
	servers.Account, servers.Needs.Network = schedule.Account{Name: "root", Home: "/root"}, schedule.Internet
	alone := system
	alone.Needs = schedule.Needs{Data: "/var/lib/sessctl", Writable: []string{"/srv/agents/sessions"}}
	strange := system
	strange.Program, strange.Account.Home = "/srv/a b%h/$HOME é;#/sessctl", odd
	strange.Arguments = []string{"run", "nightly", "--data-dir", odd}
	strange.Environment = []string{"OPENCLAW_STATE_DIR=" + odd}
	strange.Needs = schedule.Needs{Data: odd, Writable: []string{odd + "/x", "/srv/other %u"}, Temporary: true, Scratch: odd}
	monitor := nightly
	monitor.Profile, monitor.When = schedule.Monitor, schedule.When{Every: 5 * time.Minute}
	monitor.Deadline = 10 * time.Minute
	monitor.Arguments, monitor.Failed = append([]string{"monitor", "--quiet"}, options...), append([]string{"schedule", "failed", "monitor"}, options...)
	return map[string]schedule.Job{"user": nightly, "system": system, "gateway": gateway, "servers": servers, "alone": alone, "strange": strange, "monitor": monitor}
}

func host(t *testing.T) schedule.Host {
	t.Helper()
	return schedule.Host{Places: schedule.PlacesOf("/home/lea", "/home/lea/.config"), UID: 1000, Account: "lea"}
}

// What managers are given is pinned, byte for byte.
func TestScheduleGolden(t *testing.T) {
	for name, job := range scheduleJobs() {
		for _, manager := range schedule.Managers() {
			files, err := host(t).Files(job, manager)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, manager, err)
			}
			var b strings.Builder
			for _, f := range files {
				b.WriteString("== " + f.Path + " ==\n" + f.Text)
			}
			path := filepath.Join("testdata", "schedule", name+"."+string(manager))
			if *update {
				if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("%s: %s", path, diff)
			}
		}
	}
}

// analyze runs systemd-analyze on the units of a job, which it writes into a
// directory.
func analyze(t *testing.T, job schedule.Job, arguments ...string) string {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed: units are compared with golden files only")
	}
	dir := t.TempDir()
	if job.Profile != "nightly" || !strings.ContainsAny(job.Program, " %") {
		job.Program = "/bin/true"
	}
	if job.Account.Name != "root" {
		job.Account.Name = "daemon" // which there is everywhere
	}
	for _, f := range job.Units(dir) {
		if err := os.WriteFile(f.Path, []byte(f.Text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	name := job.Name() + ".service"
	if arguments[0] == "verify" {
		arguments = append(arguments, filepath.Join(dir, job.Name()+".timer"))
	}
	if !job.System {
		arguments = append([]string{"--user"}, arguments...)
	}
	c := exec.Command("systemd-analyze", append(arguments, filepath.Join(dir, name))...)
	c.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Logf("%v: %s", err, out)
	}
	return string(out)
}

// systemd finds nothing to complain about in any unit.
func TestScheduleVerify(t *testing.T) {
	for _, name := range []string{"servers", "gateway", "alone", "monitor", "user"} {
		if out := analyze(t, scheduleJobs()[name], "verify", "--man=no"); strings.TrimSpace(out) != "" {
			t.Errorf("%s: %s", name, out)
		}
	}
	job := scheduleJobs()["strange"] // the only complaint is that there is no such program: its path was understood
	out := analyze(t, job, "verify", "--man=no")
	for line := range strings.Lines(out) {
		if !strings.Contains(line, "Command "+job.Program+" is not executable: No such file or directory") {
			t.Errorf("strange: %s", line)
		}
	}
}

var exposure = regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`)

// The units of the system leave little open, and those of a user no more than
// docs/nightly.md says.
func TestScheduleExposure(t *testing.T) {
	all := scheduleJobs()
	for name, of := range map[string]string{"user gateway": "gateway", "user servers": "servers"} {
		job := all[of]
		job.System = false
		all[name] = job
	}
	for name, most := range map[string]float64{"system": 1.5, "gateway": 2.0, "alone": 1.5, "servers": 2.5, "user": 6.2, "user gateway": 6.5, "user servers": 6.5} {
		out := analyze(t, all[name], "security", "--offline=true")
		found := exposure.FindStringSubmatch(out)
		if found == nil {
			t.Fatalf("%s: %s", name, out)
		}
		if level, err := strconv.ParseFloat(found[1], 64); err != nil || level > most {
			t.Errorf("%s: exposure %s, more than %.1f", name, found[1], most)
		} else {
			t.Logf("%s: exposure %s", name, found[1])
		}
	}
}

// A unit of a user has nothing that would need a user namespace: in one the
// details of running runtimes are hidden, and their sessions look idle.
func TestScheduleUserUnitsHideNothing(t *testing.T) {
	for name, job := range scheduleJobs() {
		for _, f := range job.Units("") {
			for _, option := range []string{"ProtectProc", "ProcSubset", "PrivateUsers", "PrivatePIDs", "PrivateUsersEx"} {
				if strings.Contains(f.Text, "\n"+option+"=") {
					t.Errorf("%s %s has %s", name, f.Path, option)
				}
			}
			for _, option := range []string{"Protect", "Private", "ReadWritePaths", "CapabilityBoundingSet", "IPAddress", "Device", "Keyring", "BindPaths", "InaccessiblePaths"} {
				if !job.System && strings.Contains(f.Text, "\n"+option) {
					t.Errorf("%s %s has %s", name, f.Path, option)
				}
			}
		}
	}
}

// plist is what a property list says, as its XML is nested.
type plist struct {
	Dict struct {
		Content []byte `xml:",innerxml"`
	} `xml:"dict"`
}

// A property list is XML, its strings are what went in, and where Python is
// installed its parser of property lists agrees.
func TestSchedulePropertyList(t *testing.T) {
	job := scheduleJobs()["strange"]
	job.Program = odd
	f, err := job.PropertyList("/Library/LaunchDaemons")
	if err != nil {
		t.Fatal(err)
	}
	var list plist
	if err := xml.Unmarshal([]byte(f.Text), &list); err != nil {
		t.Fatal(err)
	}
	if got := stringsIn(t, list.Dict.Content); !slices.Contains(got, job.Program) || !slices.Contains(got, odd) || !slices.Contains(got, "com.github.sessctl.nightly-lea") {
		t.Errorf("%q", got)
	}
	const script = `import plistlib,sys; p=plistlib.loads(sys.stdin.buffer.read()); print(p["ProgramArguments"][0]); print(p["EnvironmentVariables"]["HOME"]); print(p["StartCalendarInterval"], p["LowPriorityIO"], p["Umask"])`
	python := exec.Command("python3", "-c", script)
	python.Stdin, python.Env = strings.NewReader(f.Text), append(os.Environ(), "PYTHONUTF8=1")
	out, err := python.Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("python3 is not installed: only the XML was read")
	}
	if want := job.Program + "\n" + odd + "\n[{'Minute': 0, 'Hour': 3}] True 63\n"; err != nil || string(out) != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}

func stringsIn(t *testing.T, content []byte) (all []string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(string(content))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := token.(xml.StartElement); ok && s.Name.Local == "string" {
			var text string
			if err := d.DecodeElement(&text, &s); err != nil {
				t.Fatal(err)
			}
			all = append(all, text)
		}
	}
}

// The command of a crontab is what the shell makes of it once cron has taken its
// percent signs out.
func TestScheduleCronCommand(t *testing.T) {
	job := scheduleJobs()["strange"]
	job.Program = "/usr/bin/printf"
	job.Arguments = []string{"%s\\n", odd, "", "a'b"}
	lines, err := job.CronLines()
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.SplitN(strings.Split(lines, "\n")[1], " ", 6)
	shell := exec.Command("/bin/sh", "-c", strings.ReplaceAll(fields[5], `\%`, "%")+`; :`)
	out, err := shell.Output()
	if err != nil {
		t.Skip("no shell, or no printf: ", err)
	}
	if want := odd + "\n\na'b\n"; string(out) != want {
		t.Errorf("%q, want %q", out, want)
	}
}

// What is written for cron means what was asked for, by another reader of
// crontabs; what cannot be written is an error that says what can.
func TestScheduleCronFields(t *testing.T) {
	for expression, want := range map[string]string{
		"daily": "0 0 * * *", "hourly": "0 * * * *", "weekly": "0 0 * * 1", "monthly": "0 0 1 * *", "yearly": "0 0 1 1 *", "minutely": "* * * * *",
		"*-*-* 03:00": "0 3 * * *", "03:00:00": "0 3 * * *", "Mon..Fri 22:30": "30 22 * * 1,2,3,4,5", "Sat,Sun *-*-* 8..10:00": "0 8,9,10 * * 0,6",
		"*:0/15": "0,15,30,45 * * * *", "*-*-01 04:00": "0 4 1 * *", "0/6:30": "30 0,6,12,18 * * *", "*-01,07-15 00:00": "0 0 15 1,7 *", "fri..mon 1:00": "0 1 * * 0,1,5,6", "Tue": "0 0 * * 2",
	} {
		if got := cronFields(t, schedule.When{Calendar: expression}); got != want {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
	for every, want := range map[time.Duration]string{
		time.Minute: "* * * * *", 5 * time.Minute: "*/5 * * * *", 30 * time.Minute: "*/30 * * * *", time.Hour: "8 * * * *", 6 * time.Hour: "8 */6 * * *", 24 * time.Hour: "8 15 * * *",
	} {
		got := cronFields(t, schedule.When{Every: every})
		if strings.Count(want, "8") != strings.Count(got, "8") && strings.Count(want, "*") != strings.Count(got, "*") || !gronx.IsValid(got) {
			t.Errorf("every %s: %q, want one like %q", every, got, want)
		}
	}
	for _, when := range []schedule.When{{Every: 7 * time.Minute}, {Every: 25 * time.Hour}, {Every: 90 * time.Second}, {Every: 5 * time.Hour}} {
		if _, err := cronJob(when).CronLines(); !errors.Is(err, schedule.ErrInterval) {
			t.Errorf("%s: %v", when, err)
		}
	}
	for _, expression := range []string{"2026-*-* 03:00", "*-*-* 03:00:30", "Mon *-*-01 00:00", "*-*~03 00:00", "25:00", "rubbish", "", "03:00 UTC", "*-*-* 03:00 Europe/Berlin"} {
		if _, err := cronJob(schedule.When{Calendar: expression}).CronLines(); err == nil {
			t.Errorf("%q can be done", expression)
		}
	}
}

func cronJob(when schedule.When) schedule.Job {
	return schedule.Job{Profile: "nightly", Program: "/bin/true", When: when}
}

func cronFields(t *testing.T, when schedule.When) string {
	t.Helper()
	lines, err := cronJob(when).CronLines()
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	fields := strings.Fields(strings.Split(lines, "\n")[1])[:5]
	got := strings.Join(fields, " ")
	if !gronx.IsValid(got) {
		t.Errorf("%s: %q is no cron expression", when, got)
	}
	return got
}

// launchd gets one entry for each combination, and no more than it should.
func TestScheduleLaunchdTimes(t *testing.T) {
	for expression, want := range map[string]int{"*-*-* 03:00": 1, "Mon..Fri 22:30": 5, "*:0/15": 4, "minutely": 1, "8..17:0/15": 40, "*-*-01,15 06,18:00": 4} {
		job := cronJob(schedule.When{Calendar: expression})
		f, err := job.PropertyList("")
		if got := strings.Count(f.Text, "\t\t<dict>"); err != nil || got != want {
			t.Errorf("%s: %d entries, %v, want %d", expression, got, err, want)
		}
	}
	job := cronJob(schedule.When{Calendar: "*-*-* 0..22:0..58"})
	if _, err := job.PropertyList(""); !errors.Is(err, schedule.ErrCalendar) {
		t.Errorf("1357 entries: %v", err)
	}
}

// A job that cannot be written down is refused.
func TestScheduleCheck(t *testing.T) {
	for what, change := range map[string]func(*schedule.Job){
		"line feed":     func(j *schedule.Job) { j.Arguments = []string{"a\nExecStart=/bin/evil"} },
		"in a variable": func(j *schedule.Job) { j.Environment = []string{"A=b\nUser=root"} },
		"in a path":     func(j *schedule.Job) { j.Needs.Writable = []string{"/a\n/b"} },
		"name":          func(j *schedule.Job) { j.Profile = "../x" },
		"name of ours":  func(j *schedule.Job) { j.Profile = "nightly-failed" },
		"program":       func(j *schedule.Job) { j.Program = "sessctl" },
		"no time":       func(j *schedule.Job) { j.When = schedule.When{} },
		"two times":     func(j *schedule.Job) { j.When.Every = time.Hour },
		"too often":     func(j *schedule.Job) { j.When = schedule.When{Every: time.Second} },
	} {
		job := scheduleJobs()["user"]
		change(&job)
		if job.Check() == nil {
			t.Errorf("%s: taken", what)
		}
	}
	job := scheduleJobs()["user"]
	job.Program = "/opt/lea's/sessctl"
	if _, err := host(t).Files(job, schedule.Systemd); err == nil {
		t.Error("a program that systemd does not run is taken")
	}
}
