package unattended

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

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/operate/schedule"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
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
		return schedule.Account{UID: os.Geteuid()}, failure.Usage("set USER and HOME to the name and the home directory of this account; or, as root, name one with --run-as", "look up who this is: %w", err)
	}
	return AccountOf(u), nil
}

// AccountOf is an account as a schedule names it.
func AccountOf(u *user.User) schedule.Account {
	uid, _ := strconv.Atoi(u.Uid) // there are others on Windows, where nothing is installed
	return schedule.Account{Name: u.Username, UID: uid, Home: u.HomeDir}
}

// JobAccount is who the job runs as.
func JobAccount(a *workspace.Settings, o ScheduleOptions) (schedule.Account, error) {
	if o.RunAs == "" {
		return currentAccount()
	}
	u, err := user.Lookup(o.RunAs)
	if err != nil {
		return schedule.Account{}, failure.Usage("name an account of this machine", "--run-as: %w", err)
	}
	return AccountOf(u), nil
}

// JobProgram is the path of the program that the job runs.
func JobProgram(a *workspace.Run, o ScheduleOptions) (string, error) {
	path, err := programFor(a, o.Program)
	if err == nil && o.Program == "" {
		TellTemporary(a, path, "the schedule fails")
	}
	return path, err
}

// IsRemote reports whether an address is on another machine.
func IsRemote(runtime string) bool {
	return slices.ContainsFunc(workspace.Runtimes(), func(k workspace.RuntimeKind) bool { return k.Name == runtime && k.Remote })
}

// StoreOptions are the options that name the stores which a person has named and which
// the keys of the configuration file do not.
func StoreOptions(o workspace.Options, file func(key string) []string) (options []string) {
	for _, of := range []struct {
		flag, key string
		named     []string
	}{{"--store", "stores", o.Stores}, {"--only-store", "only_stores", o.OnlyStores}} {
		if slices.Equal(of.named, file(of.key)) {
			continue
		}
		for _, named := range of.named {
			if runtime, path, _ := strings.Cut(named, "="); !IsRemote(runtime) {
				named = runtime + "=" + workspace.Absolute(path)
			}
			options = append(options, of.flag, named)
		}
	}
	return options
}

// JobOptions are the options that are in force and that a run from elsewhere would not
// have. file is what the configuration files say of a key.
func JobOptions(a *workspace.Run, file func(key string) []string) []string {
	options := []string{"--data-dir", a.DataDir()}
	if path := workspace.ConfigFile(&a.Settings); workspace.Exists(path) || workspace.Exists(workspace.FleetFile(&a.Settings)) {
		options = append(options, "--config", workspace.Absolute(path))
	}
	options = append(options, StoreOptions(a.Global, file)...)
	if a.Global.Runtime != "" {
		options = append(options, "--runtime", a.Global.Runtime)
	}
	if a.Global.AllowRoot {
		options = append(options, "--allow-root")
	}
	return options
}

// JobEnvironment are the variables that are in force and that the job would not
// have. What may be a secret is not among them: units and crontabs can be read by
// others.
func JobEnvironment(a *workspace.Run, account schedule.Account, stores []session.Store) (all []string) {
	add := func(name string) {
		if value := a.Getenv(name); value != "" && !slices.Contains(all, name+"="+value) {
			all = append(all, name+"="+value)
		}
	}
	if !a.Global.OnlyNamed() {
		for _, kind := range workspace.Runtimes() {
			for _, variable := range kind.Traits().Variables {
				add(variable)
			}
		}
	}
	for key := range workspace.Defaults() {
		switch name := workspace.EnvName(key); {
		case key == "data_dir" || key == "stores" || key == "only_stores" || a.Getenv(name) == "": // options say them
		case isSecret(key):
			a.Tell(workspace.Note{Message: "$" + name + " may hold a password and is not put into the schedule", Hint: "write " + key + " into the configuration file, which only you can read"})
		default:
			add(name)
		}
	}
	if usesOllama(&a.Settings) {
		add("OLLAMA_HOST")
	}
	noteKeys(a)
	noteVariables(a)
	if command, err := exec.LookPath(a.Config.OpenClaw.Command); hasRuntime(stores, session.RuntimeOpenClaw) && err == nil && !filepath.IsAbs(a.Config.OpenClaw.Command) {
		all = append(all, workspace.EnvName("openclaw.command")+"="+workspace.Absolute(command)) // the PATH of a job is short
	}
	add("TMPDIR") // there a gateway keeps its lock
	if account.Home != "" && workspace.Absolute(a.Home()) != filepath.Clean(account.Home) {
		all = append(all, "HOME="+workspace.Absolute(a.Home())) // the stores are there; a manager gives a job the account's
	}
	slices.Sort(all)
	return all
}

// isSecret reports whether the value of a key may hold a password or a token.
func isSecret(key string) bool { return workspace.ShownValue(key, "x") != "x" }

// noteKeys says that a key which a server asks for is in a variable that the job
// does not have.
func noteKeys(a *workspace.Run) {
	for _, k := range []struct{ section, provider, env, file string }{
		{"embed", a.Config.Embed.Provider, a.Config.Embed.APIKeyEnv, a.Config.Embed.APIKeyFile},
		{"summarize", a.Config.Summarize.Provider, a.Config.Summarize.KeyEnv, a.Config.Summarize.KeyFile},
		{"facts", a.Config.Facts.Provider, a.Config.Facts.KeyEnv, a.Config.Facts.KeyFile},
	} {
		usual := map[string]string{"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}[k.provider]
		name := cmp.Or(k.env, usual)
		if k.file == "" && name != "" && isServer(k.provider) && a.Getenv(name) != "" {
			noteKey(a, name, k.section)
		}
	}
	if name := workspace.ClusterKeyVariable(&a.Settings); name != "" && a.Getenv(name) != "" {
		noteKey(a, name, "memory.remote")
	}
}

func noteKey(a *workspace.Run, variable, section string) {
	a.Tell(workspace.Note{Message: "the key in $" + variable + " is not put into the schedule", Hint: "put it into a file that only you can read, and name that with " + section + ".api_key_file"})
}

// noteVariables says that an address or a secret of events is in a variable that
// the job does not have.
func noteVariables(a *workspace.Run) {
	var names []string
	for _, c := range receivers(&a.Settings) {
		names = append(names, c.Env)
	}
	for _, w := range a.Config.Events.Webhooks {
		names = append(names, w.SecretEnv)
	}
	for _, name := range names {
		if name != "" {
			a.Tell(workspace.Note{Message: "$" + name + ", which the configuration of events names, is not put into the schedule", Hint: "put it into a file that only you can read, and name that with url_file or secret_file"})
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

func usesOllama(a *workspace.Settings) bool {
	return slices.Contains([]string{a.Config.Embed.Provider, a.Config.Summarize.Provider, a.Config.Facts.Provider}, "ollama")
}

// JobNeeds is what the sandbox has to leave open.
func JobNeeds(a *workspace.Settings, stores []session.Store, profile string) schedule.Needs {
	n := schedule.Needs{Data: a.DataDir(), Network: jobNetwork(a, stores)}
	n.Temporary = !a.Global.OnlyNamed() || hasRuntime(stores, session.RuntimeOpenClaw)
	n.Programs = hasRuntime(stores, session.RuntimeOpenClaw) || len(a.Config.Events.Commands) > 0
	if dir := a.Getenv("TMPDIR"); filepath.IsAbs(dir) {
		n.Scratch = filepath.Clean(dir)
	}
	if profile == schedule.Monitor && !a.Config.Monitor.Compact {
		return n
	}
	if dir := a.Config.Archive.Dir; dir != "" {
		n.Writable = append(n.Writable, workspace.Absolute(dir))
	}
	for _, s := range stores {
		if changes(s) && !IsRemote(s.Runtime()) {
			n.Writable = append(n.Writable, s.Root())
		}
	}
	if !a.Global.OnlyNamed() {
		n.Writable = append(n.Writable, usualStores(a)...)
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
func usualStores(a *workspace.Settings) (dirs []string) {
	for _, kind := range workspace.Runtimes() {
		if kind.Remote || a.Global.Runtime != "" && a.Global.Runtime != kind.Name {
			continue
		}
		for _, home := range kind.Traits().Homes {
			dir := filepath.Join(a.Home(), strings.TrimPrefix(home, "~/"))
			if changes(kind.Open(dir, a.Config)) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// jobNetwork is how much of the network the configuration needs.
func jobNetwork(a *workspace.Settings, stores []session.Store) schedule.Network {
	need := schedule.NoNetwork
	if hasRuntime(stores, session.RuntimeOpenClaw) {
		need = schedule.Loopback // its gateway
	}
	if len(a.Config.Events.Commands) > 0 {
		need = schedule.Internet // nobody knows what they do
	}
	for _, server := range servers(a) {
		need = max(need, networkOf(server))
	}
	return need
}

// servers are the addresses of all servers that the configuration names.
func servers(a *workspace.Settings) (all []string) {
	usual := map[string]string{"ollama": embed.OllamaURL(a.Getenv("OLLAMA_HOST"))}
	for _, s := range []struct{ provider, base string }{
		{a.Config.Embed.Provider, a.Config.Embed.BaseURL}, {a.Config.Summarize.Provider, a.Config.Summarize.BaseURL}, {a.Config.Facts.Provider, a.Config.Facts.BaseURL},
	} {
		if isServer(s.provider) {
			all = append(all, cmp.Or(s.base, usual[s.provider], "https://"+s.provider))
		}
	}
	if a.Config.Archive.Remote != "" {
		all = append(all, cmp.Or(a.Config.Archive.Endpoint, "https://s3.amazonaws.com"))
	}
	for _, address := range []string{a.Config.Yarnnn.DSN, a.Config.Events.URL, a.Config.Memory.Remote.URL} {
		if address != "" {
			all = append(all, address)
		}
	}
	for _, c := range receivers(a) {
		if u, err := a.Address(c); err == nil {
			all = append(all, u.String())
		} else {
			all = append(all, "") // anywhere
		}
	}
	return all
}

// receivers are the addresses that are told of events.
func receivers(a *workspace.Settings) (all []workspace.AddressConfig) {
	for _, w := range a.Config.Events.Webhooks {
		all = append(all, w.AddressConfig)
	}
	for _, h := range a.Config.Events.Healthchecks {
		all = append(all, h.AddressConfig)
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

// CheckOwners refuses a job of the system for stores of another account: only the
// owner of a log gets a lease on it.
func CheckOwners(j schedule.Job, stores []session.Store) error {
	for _, s := range stores {
		if IsRemote(s.Runtime()) {
			continue
		}
		info, err := os.Stat(s.Root())
		if err != nil {
			continue // using it says why
		}
		if uid, known := durable.Owner(info); known && uid != j.Account.UID {
			return &failure.Error{
				Code: "owner", Exit: failure.ExitUsage, Path: s.Root(),
				Hint: fmt.Sprintf("sessctl schedule install --system --run-as %s, as root", accountName(uid)),
				Err:  fmt.Errorf("%s belongs to %s, and the job would run as %s", s.Root(), accountName(uid), j.Account.Name),
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

// CheckCalendar lets systemd read an expression that only it knows.
func CheckCalendar(ctx context.Context, a *workspace.Run, j schedule.Job, m schedule.Manager) error {
	if j.When.Calendar == "" || m != schedule.Systemd {
		return nil
	}
	said, err := managerPrograms{}.Run(ctx, nil, "systemd-analyze", "calendar", "--", j.When.Calendar)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		text := strings.TrimSpace(string(said) + " " + strings.TrimSpace(wording.FirstLine(err.Error(), 200)))
		return failure.Usage("for example daily, *-*-* 03:00 or Mon..Fri 22:30; see man systemd.time", "--on-calendar: %q is not a calendar expression: %s", j.When.Calendar, text)
	}
	return nil // without that program systemd says so when the timer is started
}

// makeDataDirectory is the command that makes it, with what it lies in, so that all
// of it belongs to the account.
func makeDataDirectory(account, dir string) string {
	return asAccount(account) + "mkdir -p -m 700 " + schedule.ShellWord(dir)
}

// command is what a job runs, as a shell takes it.
func command(j schedule.Job) string {
	words := []string{schedule.ShellWord(j.Program)}
	for _, argument := range j.Arguments {
		words = append(words, schedule.ShellWord(argument))
	}
	return strings.Join(words, " ")
}

// asAccount begins a command that is run as an account.
func asAccount(account string) string {
	if runtime.GOOS == "darwin" {
		return "sudo -u " + account + " "
	}
	return "runuser -u " + account + " -- "
}

// CheckInstall refuses what cannot work, before anything is written.
func CheckInstall(ctx context.Context, a *workspace.Run, h schedule.Host, m schedule.Manager, j schedule.Job) error {
	switch {
	case runtime.GOOS == "windows":
		return &failure.Error{Code: "no_manager", Exit: failure.ExitFailed, Hint: "let the task scheduler start: sessctl " + strings.Join(j.Arguments, " "), Err: errors.New("no manager that is known here runs on Windows")}
	case !h.Installed(ctx, m):
		return &failure.Error{Code: "no_manager", Exit: failure.ExitFailed, Hint: "choose another with --manager, or print the files with sessctl schedule show", Err: fmt.Errorf("%s is not installed on this machine", m)}
	case m == schedule.Systemd && h.Unreachable(ctx, j.System):
		return &failure.Error{
			Code: "no_manager", Exit: failure.ExitFailed, Err: fmt.Errorf("systemd runs here, and its manager for %s cannot be reached", j.Account.Name),
			Hint: fmt.Sprintf("loginctl enable-linger %s, then export XDG_RUNTIME_DIR=/run/user/%d; or, as root, --system --run-as %s; or --manager cron", j.Account.Name, j.Account.UID, j.Account.Name),
		}
	case j.System && os.Geteuid() != 0:
		return &failure.Error{Code: "permission", Exit: failure.ExitFailed, Hint: "sudo sessctl schedule install --system --run-as " + j.Account.Name, Err: errors.New("only root installs a job of the system")}
	case !j.System:
		return nil
	}
	info, err := os.Stat(a.DataDir())
	if err != nil {
		return &failure.Error{
			Code: "no_data", Exit: failure.ExitFailed, Path: a.DataDir(), Hint: "make it as the account: " + makeDataDirectory(j.Account.Name, a.DataDir()),
			Err: fmt.Errorf("a job of the system cannot make its data directory: %w", err),
		}
	}
	if uid, known := durable.Owner(info); known && uid != j.Account.UID {
		return &failure.Error{Code: "owner", Exit: failure.ExitFailed, Path: a.DataDir(), Hint: "run the job as that account (--run-as), or choose another --data-dir", Err: fmt.Errorf("the data directory %s belongs to %s, and the job would run as %s", a.DataDir(), accountName(uid), j.Account.Name)}
	}
	return nil
}

// CronHint says how cron is started.
const CronHint = "start it: systemctl start cron (crond on some systems)"

// NoteInstalled says what else there is to know about a schedule.
func NoteInstalled(ctx context.Context, a *workspace.Run, h schedule.Host, p *schedule.Plan, j schedule.Job) {
	if p.Offline {
		what := map[schedule.Manager]workspace.Note{
			schedule.Systemd: {Message: "systemd does not run here: the timer starts with it"},
			schedule.Cron:    {Message: "cron does not run here: the line is of use when it does", Hint: CronHint},
		}
		a.Notice(what[p.Manager])
	}
	states, _ := h.States(ctx, a.Now()) // what cannot be listed is no reason to stop
	for _, s := range states {
		if s.Profile == p.Profile && (s.Manager != p.Manager || s.System != p.System) && (s.Account == "" || s.Account == j.Account.Name) {
			a.Tell(workspace.Note{Path: s.Path, Message: p.Profile + " is scheduled there as well, and would run twice", Hint: fmt.Sprintf("sessctl schedule remove %s --%s --manager %s", s.Profile, ScopeName(s.System), s.Manager)})
		}
	}
	if p.Manager != schedule.Systemd || p.System {
		return
	}
	linger, err := managerPrograms{}.Run(ctx, nil, "loginctl", "show-user", j.Account.Name, "--property=Linger", "--value")
	if err != nil || strings.TrimSpace(string(linger)) != "yes" {
		a.Notice(workspace.Note{Message: "the timers of a user stop when the user logs out", Hint: "loginctl enable-linger " + j.Account.Name})
	}
}
