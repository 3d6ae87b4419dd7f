package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/operate/schedule"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
	"github.com/spf13/cobra"
)

// managerPrograms runs the programs of the managers of this machine.
type managerPrograms struct{}

// Run implements [schedule.Programs].
func (managerPrograms) Run(ctx context.Context, input []byte, name string, arguments ...string) ([]byte, error) {
	program := exec.CommandContext(ctx, name, arguments...)
	program.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	program.Stdin = bytes.NewReader(input)
	var out, complaints bytes.Buffer
	program.Stdout, program.Stderr = &out, &complaints
	err := program.Run()
	if text := strings.TrimSpace(complaints.String()); err != nil && text != "" {
		err = fmt.Errorf("%s (%w)", text, err)
	}
	return out.Bytes(), err
}

func currentAccount() (schedule.Account, error) {
	u, err := user.Current()
	if err != nil {
		return schedule.Account{UID: os.Geteuid()}, fmt.Errorf("look up who this is: %w", err)
	}
	return accountOf(u), nil
}

func accountOf(u *user.User) schedule.Account {
	uid, _ := strconv.Atoi(u.Uid) // there are others on Windows, where nothing is installed
	return schedule.Account{Name: u.Username, UID: uid, Home: u.HomeDir}
}

// asAccount makes this run one for another account: its home directory is where
// the configuration, the data and the stores are. As root that is the account of
// --run-as, or the one that has called sudo.
func (a *app) asAccount(c *cobra.Command) error {
	flag := c.Flags().Lookup("run-as")
	if flag == nil {
		return nil
	}
	ofUser, _ := c.Flags().GetBool("user")
	all, _ := c.Flags().GetBool("all") // false where there is no such flag
	if called := a.getenv("SUDO_USER"); !flag.Changed && called != "" && os.Geteuid() == 0 && !ofUser && !all {
		if err := flag.Value.Set(called); err != nil {
			return err
		}
	}
	name := flag.Value.String()
	if name == "" {
		return nil
	}
	account, err := user.Lookup(name)
	if err != nil {
		return usageError("name an account of this machine", "--run-as: %w", err)
	}
	if accountOf(account).UID == os.Geteuid() {
		return nil // this one: where its things are, its variables say
	}
	before := a.getenv
	a.getenv = func(variable string) string {
		switch {
		case variable == "HOME":
			return account.HomeDir
		case strings.HasPrefix(variable, "XDG_"):
			return ""
		}
		return before(variable)
	}
	return nil
}

// job is what is asked for, with what is in force now.
func (a *app) job(ctx context.Context, o scheduleOptions, m schedule.Manager) (schedule.Job, error) {
	j := schedule.Job{
		Profile: o.Profile, When: schedule.When{Every: o.every, Calendar: o.Calendar}, System: o.System,
		Log: filepath.Join(a.dataDir(), "schedule-"+o.Profile+".log"),
	}
	var err error
	if j.Account, err = a.jobAccount(o); err != nil {
		return j, err
	}
	if j.Program, err = a.jobProgram(o); err != nil {
		return j, err
	}
	if err := a.checkScheduled(o.Profile); err != nil {
		return j, err
	}
	stores, err := a.openStores()
	if err != nil {
		return j, err
	}
	if err := checkOwners(j, stores); err != nil {
		return j, err
	}
	options := a.jobOptions()
	j.Arguments = append([]string{"run", o.Profile, "--lock-wait", "10m", "--quiet"}, options...)
	if o.Profile == schedule.Monitor {
		j.Arguments = append([]string{"monitor", "--quiet"}, options...)
		if !a.config.Monitor.Compact {
			j.Deadline = lookDeadline
		}
	}
	if m == schedule.Systemd {
		j.Failed = append([]string{"schedule", "failed", o.Profile}, options...)
	}
	j.Environment = a.jobEnvironment(j.Account, stores)
	j.Needs = a.jobNeeds(stores, o.Profile)
	if err := j.Check(); err != nil {
		return j, usageError("see sessctl schedule --help", "%w", err)
	}
	return j, a.checkCalendar(ctx, j, m)
}

// lookDeadline is when a monitor that only looks is ended.
const lookDeadline = 10 * time.Minute

// checkScheduled refuses a profile that the configuration does not know, and one
// that a run would refuse: nobody looks when it is run.
func (a *app) checkScheduled(profile string) error {
	if profile == schedule.Monitor {
		return nil
	}
	if slices.Contains(a.profileNames(), profile) {
		_, err := a.planProfile(profile, time.Time{})
		return err
	}
	known := append(a.profileNames(), schedule.Monitor)
	return usageError(didYouMean(profile, known, "known: "+strings.Join(known, ", ")+"; the configuration describes profiles (docs/nightly.md)"), "unknown profile %q", profile)
}

// jobAccount is who the job runs as.
func (a *settings) jobAccount(o scheduleOptions) (schedule.Account, error) {
	if o.RunAs == "" {
		return currentAccount()
	}
	u, err := user.Lookup(o.RunAs)
	if err != nil {
		return schedule.Account{}, usageError("name an account of this machine", "--run-as: %w", err)
	}
	return accountOf(u), nil
}

// jobProgram is the path of the program that the job runs.
func (a *invocation) jobProgram(o scheduleOptions) (string, error) {
	path, err := a.programFor(o.Program)
	if err == nil && o.Program == "" {
		a.tellTemporary(path, "the schedule fails")
	}
	return path, err
}

// jobOptions are the options that are in force and that a run from elsewhere would
// not have.
func (a *app) jobOptions() []string {
	options := []string{"--data-dir", a.dataDir()}
	if file := a.configFile(); exists(file) {
		options = append(options, "--config", absolute(file))
	}
	if !slices.Equal(a.global.Stores, a.fileConfig().GetStringSlice("stores")) { // those of the file are read from there
		for _, s := range a.global.Stores {
			name, path, _ := strings.Cut(s, "=")
			if !isRemote(name) {
				s = name + "=" + absolute(path)
			}
			options = append(options, "--store", s)
		}
	}
	if a.global.Runtime != "" {
		options = append(options, "--runtime", a.global.Runtime)
	}
	if a.global.AllowRoot {
		options = append(options, "--allow-root")
	}
	return options
}

func isRemote(runtime string) bool {
	return slices.ContainsFunc(runtimes(), func(k runtimeKind) bool { return k.name == runtime && k.remote })
}

// jobEnvironment are the variables that are in force and that the job would not
// have. What may be a secret is not among them: units and crontabs can be read by
// others.
func (a *invocation) jobEnvironment(account schedule.Account, stores []session.Store) (all []string) {
	add := func(name string) {
		if value := a.getenv(name); value != "" && !slices.Contains(all, name+"="+value) {
			all = append(all, name+"="+value)
		}
	}
	if len(a.global.Stores) == 0 {
		for _, kind := range runtimes() {
			for _, variable := range kind.traits().Variables {
				add(variable)
			}
		}
	}
	for key := range defaults() {
		switch name := envName(key); {
		case key == "data_dir" || key == "stores" || a.getenv(name) == "": // options say them
		case isSecret(key):
			a.tell(note{Message: "$" + name + " may hold a password and is not put into the schedule", Hint: "write " + key + " into the configuration file, which only you can read"})
		default:
			add(name)
		}
	}
	if a.usesOllama() {
		add("OLLAMA_HOST")
	}
	a.noteKeys()
	a.noteVariables()
	if command, err := exec.LookPath(a.config.OpenClaw.Command); hasRuntime(stores, session.RuntimeOpenClaw) && err == nil && !filepath.IsAbs(a.config.OpenClaw.Command) {
		all = append(all, envName("openclaw.command")+"="+absolute(command)) // the PATH of a job is short
	}
	add("TMPDIR") // there a gateway keeps its lock
	if account.Home != "" && absolute(a.home()) != filepath.Clean(account.Home) {
		all = append(all, "HOME="+absolute(a.home())) // the stores are there; a manager gives a job the account's
	}
	slices.Sort(all)
	return all
}

// isSecret reports whether the value of a key may hold a password or a token.
func isSecret(key string) bool { return shownValue(key, "x") != "x" }

// noteKeys says that a key which a server asks for is in a variable that the job
// does not have.
func (a *invocation) noteKeys() {
	for _, k := range []struct{ section, provider, env, file string }{
		{"embed", a.config.Embed.Provider, a.config.Embed.APIKeyEnv, a.config.Embed.APIKeyFile},
		{"summarize", a.config.Summarize.Provider, a.config.Summarize.KeyEnv, a.config.Summarize.KeyFile},
		{"facts", a.config.Facts.Provider, a.config.Facts.KeyEnv, a.config.Facts.KeyFile},
	} {
		usual := map[string]string{"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}[k.provider]
		name := cmp.Or(k.env, usual)
		if k.file == "" && name != "" && isServer(k.provider) && a.getenv(name) != "" {
			a.noteKey(name, k.section)
		}
	}
	if name := a.clusterKeyVariable(); name != "" && a.getenv(name) != "" {
		a.noteKey(name, "memory.remote")
	}
}

func (a *invocation) noteKey(variable, section string) {
	a.tell(note{Message: "the key in $" + variable + " is not put into the schedule", Hint: "put it into a file that only you can read, and name that with " + section + ".api_key_file"})
}

// noteVariables says that an address or a secret of events is in a variable that
// the job does not have.
func (a *invocation) noteVariables() {
	var names []string
	for _, c := range a.receivers() {
		names = append(names, c.Env)
	}
	for _, w := range a.config.Events.Webhooks {
		names = append(names, w.SecretEnv)
	}
	for _, name := range names {
		if name != "" {
			a.tell(note{Message: "$" + name + ", which the configuration of events names, is not put into the schedule", Hint: "put it into a file that only you can read, and name that with url_file or secret_file"})
		}
	}
}

func hasRuntime(stores []session.Store, name string) bool {
	return slices.ContainsFunc(stores, func(s session.Store) bool { return s.Runtime() == name })
}

// isServer reports whether a provider is asked over a network.
func isServer(provider string) bool {
	return provider != "" && provider != "builtin" && provider != summarize.ProviderExtractive
}

func (a *settings) usesOllama() bool {
	return slices.Contains([]string{a.config.Embed.Provider, a.config.Summarize.Provider, a.config.Facts.Provider}, "ollama")
}

// jobNeeds is what the sandbox has to leave open.
func (a *settings) jobNeeds(stores []session.Store, profile string) schedule.Needs {
	n := schedule.Needs{Data: a.dataDir(), Network: a.jobNetwork(stores)}
	n.Temporary = len(a.global.Stores) == 0 || hasRuntime(stores, session.RuntimeOpenClaw)
	n.Programs = hasRuntime(stores, session.RuntimeOpenClaw) || len(a.config.Events.Commands) > 0
	if dir := a.getenv("TMPDIR"); filepath.IsAbs(dir) {
		n.Scratch = filepath.Clean(dir)
	}
	if profile == schedule.Monitor && !a.config.Monitor.Compact {
		return n
	}
	if dir := a.config.Archive.Dir; dir != "" {
		n.Writable = append(n.Writable, absolute(dir))
	}
	for _, s := range stores {
		if changes(s) && !isRemote(s.Runtime()) {
			n.Writable = append(n.Writable, s.Root())
		}
	}
	if len(a.global.Stores) == 0 {
		n.Writable = append(n.Writable, a.usualStores()...)
	}
	slices.Sort(n.Writable)
	n.Writable = slices.Compact(n.Writable)
	return n
}

// changes reports whether anything is changed in a store. OpenClaw's archives lie
// in it too.
func changes(s session.Store) bool {
	c := s.Capabilities()
	return c.ArchiveDir != nil || !slices.Contains(c.StrategiesOf(session.Ref{}), session.StrategyNone)
}

// usualStores are the places below the home directory where stores are found, also
// those that are not there yet: a runtime may be installed later.
func (a *settings) usualStores() (dirs []string) {
	for _, kind := range runtimes() {
		if kind.remote || a.global.Runtime != "" && a.global.Runtime != kind.name {
			continue
		}
		for _, home := range kind.traits().Homes {
			dir := filepath.Join(a.home(), strings.TrimPrefix(home, "~/"))
			if changes(kind.open(dir, a.config)) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// jobNetwork is how much of the network the configuration needs.
func (a *settings) jobNetwork(stores []session.Store) schedule.Network {
	need := schedule.NoNetwork
	if hasRuntime(stores, session.RuntimeOpenClaw) {
		need = schedule.Loopback // its gateway
	}
	if len(a.config.Events.Commands) > 0 {
		need = schedule.Internet // nobody knows what they do
	}
	for _, server := range a.servers() {
		need = max(need, networkOf(server))
	}
	return need
}

// servers are the addresses of all servers that the configuration names.
func (a *settings) servers() (all []string) {
	usual := map[string]string{"ollama": embed.OllamaURL(a.getenv("OLLAMA_HOST"))}
	for _, s := range []struct{ provider, base string }{
		{a.config.Embed.Provider, a.config.Embed.BaseURL}, {a.config.Summarize.Provider, a.config.Summarize.BaseURL}, {a.config.Facts.Provider, a.config.Facts.BaseURL},
	} {
		if isServer(s.provider) {
			all = append(all, cmp.Or(s.base, usual[s.provider], "https://"+s.provider))
		}
	}
	if a.config.Archive.Remote != "" {
		all = append(all, cmp.Or(a.config.Archive.Endpoint, "https://s3.amazonaws.com"))
	}
	for _, address := range []string{a.config.Yarnnn.DSN, a.config.Events.URL} {
		if address != "" {
			all = append(all, address)
		}
	}
	for _, c := range a.receivers() {
		if u, err := a.address(c); err == nil {
			all = append(all, u.String())
		} else {
			all = append(all, "") // anywhere
		}
	}
	return all
}

// receivers are the addresses that are told of events.
func (a *settings) receivers() (all []addressConfig) {
	for _, w := range a.config.Events.Webhooks {
		all = append(all, w.addressConfig)
	}
	for _, h := range a.config.Events.Healthchecks {
		all = append(all, h.addressConfig)
	}
	return all
}

// networkOf says where a server is. What is not understood may be anywhere.
func networkOf(address string) schedule.Network {
	u, err := url.Parse(address)
	if err != nil {
		return schedule.Internet
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return schedule.Loopback
	}
	return schedule.Internet
}

// checkOwners refuses a job of the system for stores of another account: only the
// owner of a log gets a lease on it.
func checkOwners(j schedule.Job, stores []session.Store) error {
	for _, s := range stores {
		if isRemote(s.Runtime()) {
			continue
		}
		info, err := os.Stat(s.Root())
		if err != nil {
			continue // using it says why
		}
		if uid, known := durable.Owner(info); known && uid != j.Account.UID {
			return &failure{
				code: "owner", exit: exitUsage, path: s.Root(),
				hint: fmt.Sprintf("sessctl schedule install --system --run-as %s, as root", accountName(uid)),
				err:  fmt.Errorf("%s belongs to %s, and the job would run as %s", s.Root(), accountName(uid), j.Account.Name),
			}
		}
	}
	return nil
}

func accountName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return "#" + strconv.Itoa(uid)
}

// checkCalendar lets systemd read an expression that only it knows.
func (a *invocation) checkCalendar(ctx context.Context, j schedule.Job, m schedule.Manager) error {
	if j.When.Calendar == "" || m != schedule.Systemd {
		return nil
	}
	said, err := managerPrograms{}.Run(ctx, nil, "systemd-analyze", "calendar", "--", j.When.Calendar)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		text := strings.TrimSpace(string(said) + " " + strings.TrimSpace(firstLine(err.Error(), 200)))
		return usageError("for example daily, *-*-* 03:00 or Mon..Fri 22:30; see man systemd.time", "--on-calendar: %q is not a calendar expression: %s", j.When.Calendar, text)
	}
	return nil // without that program systemd says so when the timer is started
}

// makeDataDirectory is the command that makes it, with what it lies in, so that all
// of it belongs to the account.
func makeDataDirectory(account, dir string) string {
	as := "runuser -u " + account + " --"
	if runtime.GOOS == "darwin" {
		as = "sudo -u " + account
	}
	return as + " mkdir -p -m 700 " + schedule.ShellWord(dir)
}

// checkInstall refuses what cannot work, before anything is written.
func (a *invocation) checkInstall(ctx context.Context, h schedule.Host, m schedule.Manager, j schedule.Job) error {
	switch {
	case runtime.GOOS == "windows":
		return &failure{code: "no_manager", exit: exitFailed, hint: "let the task scheduler start: sessctl " + strings.Join(j.Arguments, " "), err: errors.New("no manager that is known here runs on Windows")}
	case !h.Installed(ctx, m):
		return &failure{code: "no_manager", exit: exitFailed, hint: "choose another with --manager, or print the files with sessctl schedule show", err: fmt.Errorf("%s is not installed on this machine", m)}
	case m == schedule.Systemd && h.Unreachable(ctx, j.System):
		return &failure{
			code: "no_manager", exit: exitFailed, err: fmt.Errorf("systemd runs here, and its manager for %s cannot be reached", j.Account.Name),
			hint: fmt.Sprintf("loginctl enable-linger %s, then export XDG_RUNTIME_DIR=/run/user/%d; or, as root, --system --run-as %s; or --manager cron", j.Account.Name, j.Account.UID, j.Account.Name),
		}
	case j.System && os.Geteuid() != 0:
		return &failure{code: "permission", exit: exitFailed, hint: "sudo sessctl schedule install --system --run-as " + j.Account.Name, err: errors.New("only root installs a job of the system")}
	case !j.System:
		return nil
	}
	info, err := os.Stat(a.dataDir())
	if err != nil {
		return &failure{
			code: "no_data", exit: exitFailed, path: a.dataDir(), hint: "make it as the account: " + makeDataDirectory(j.Account.Name, a.dataDir()),
			err: fmt.Errorf("a job of the system cannot make its data directory: %w", err),
		}
	}
	if uid, known := durable.Owner(info); known && uid != j.Account.UID {
		return &failure{code: "owner", exit: exitFailed, path: a.dataDir(), hint: "run the job as that account (--run-as), or choose another --data-dir", err: fmt.Errorf("the data directory %s belongs to %s, and the job would run as %s", a.dataDir(), accountName(uid), j.Account.Name)}
	}
	return nil
}

// cronHint says how cron is started.
const cronHint = "start it: systemctl start cron (crond on some systems)"

// noteInstalled says what else there is to know about a schedule.
func (a *invocation) noteInstalled(ctx context.Context, h schedule.Host, p *schedule.Plan, j schedule.Job) {
	if p.Offline {
		what := map[schedule.Manager]note{
			schedule.Systemd: {Message: "systemd does not run here: the timer starts with it"},
			schedule.Cron:    {Message: "cron does not run here: the line is of use when it does", Hint: cronHint},
		}
		a.notice(what[p.Manager])
	}
	states, _ := h.States(ctx, a.now()) // what cannot be listed is no reason to stop
	for _, s := range states {
		if s.Profile == p.Profile && (s.Manager != p.Manager || s.System != p.System) && (s.Account == "" || s.Account == j.Account.Name) {
			a.tell(note{Path: s.Path, Message: p.Profile + " is scheduled there as well, and would run twice", Hint: fmt.Sprintf("sessctl schedule remove %s --%s --manager %s", s.Profile, scopeName(s.System), s.Manager)})
		}
	}
	if p.Manager != schedule.Systemd || p.System {
		return
	}
	linger, err := managerPrograms{}.Run(ctx, nil, "loginctl", "show-user", j.Account.Name, "--property=Linger", "--value")
	if err != nil || strings.TrimSpace(string(linger)) != "yes" {
		a.notice(note{Message: "the timers of a user stop when the user logs out", Hint: "loginctl enable-linger " + j.Account.Name})
	}
}
