package openclaw

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// gateway is a running gateway of a state directory.
type gateway struct {
	process int
	// config is the path of its configuration and port the one it listens on,
	// as it says itself; "" and 0 if it was only seen to have its state open.
	config string
	port   int
	// foreign says that another user has written its lock, who could have put
	// any port there.
	foreign bool
}

// gateways finds the running gateway of a state directory and asks it.
type gateways struct {
	state   *stateDir
	options Options // how it is found and asked
}

// unserved returns a [*session.BusyError] with Served set while a gateway runs
// for this store.
func (gs *gateways) unserved(path string) error {
	g, err := gs.gateway()
	if err != nil || g == nil {
		return err
	}
	return &session.BusyError{Path: path, Served: true, Reason: session.ReasonGatewayRuns.Text(g.process)}
}

// gateway returns the gateway that runs for this store, nil if none is seen.
//
// A gateway of 2026.7.1 keeps, as long as it runs,
// <temporary directory>/openclaw-<uid>/gateway.<hash>.lock with its process,
// its configuration's path and its port, and <state dir>/state/openclaw.sqlite
// open. The first is found on every system; the second, on Linux, also finds
// a gateway with another temporary directory, and tells whose state a gateway
// is that has its configuration elsewhere. One in a container or on another
// machine is not seen.
func (gs *gateways) gateway() (*gateway, error) {
	for _, name := range gs.gatewayLocks() {
		lock, err := readGatewayLock(name)
		if err != nil {
			return nil, err
		}
		if lock.alive() && gs.served(lock) {
			return &gateway{process: lock.pid, config: lock.config, port: lock.port, foreign: lock.foreign}, nil
		}
	}
	if pid := gatewayWithOpen(gs.stateFile()); pid != 0 {
		return &gateway{process: pid}, nil
	}
	return nil, nil
}

// stateFile is the database that a gateway keeps open.
func (gs *gateways) stateFile() string {
	return filepath.Join(gs.state.root, "state", "openclaw.sqlite")
}

// gatewayLocks are the lock files of all gateways, whosever they are.
func (gs *gateways) gatewayLocks() []string {
	dirs := gs.options.LockDirs
	if dirs == nil {
		dirs = []string{os.TempDir()}
		if runtime.GOOS != "windows" {
			dirs = append(dirs, "/tmp")
		}
	}
	var found []string
	for _, dir := range dirs {
		names, _ := filepath.Glob(filepath.Join(dir, "openclaw*", "gateway.*"+lockEnd)) // the pattern is right
		found = append(found, names...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// gatewayLock is what a gateway's lock says: {"pid", "createdAt",
// "configPath", "port", "startTime"}.
type gatewayLock struct {
	lockFile
	config  string
	port    int
	foreign bool // another user's
}

// readGatewayLock reads a lock. One that is gone, that somebody else may not
// read, or that holds something else is nobody's.
func readGatewayLock(path string) (gatewayLock, error) {
	f, err := durable.OpenRegular(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, durable.ErrNotRegular), errors.Is(err, durable.ErrHeld):
		return gatewayLock{}, nil
	case err != nil:
		return gatewayLock{}, fmt.Errorf("look for a gateway: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxLock))
	if err != nil {
		return gatewayLock{}, fmt.Errorf("look for a gateway: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return gatewayLock{}, fmt.Errorf("look for a gateway: %w", err)
	}
	lock := parseGatewayLock(raw)
	uid, known := durable.Owner(info)
	lock.foreign = known && uid != os.Getuid() && uid != 0
	return lock, nil
}

func parseGatewayLock(raw []byte) gatewayLock {
	l := gatewayLock{lockFile: parseLock(raw)}
	var fields struct {
		Config string          `json:"configPath"`
		Port   json.RawMessage `json:"port"`
		Start  json.RawMessage `json:"startTime"`
	}
	if json.Unmarshal(raw, &fields) != nil {
		return gatewayLock{}
	}
	l.config, l.start = fields.Config, uint64(count(fields.Start))
	if port := count(fields.Port); port < 1<<16 {
		l.port = int(port)
	}
	return l
}

// alive reports whether there is a lock and its gateway runs.
func (l gatewayLock) alive() bool { return l.pid != 0 && l.lockFile.alive(l.created) }

// served reports whether a running gateway is this store's: by the state that
// it has open, or, where that cannot be seen, by where its configuration lies.
func (gs *gateways) served(l gatewayLock) bool {
	if open, known := stateOpen(l.pid, gs.stateFile()); known {
		return open
	}
	mine, err := os.Stat(gs.state.root)
	if err != nil {
		return false
	}
	its, err := os.Stat(filepath.Dir(l.config))
	return err == nil && os.SameFile(mine, its)
}

// Options say how a running gateway is found and asked. The zero value is
// right for the machine's own.
type Options struct {
	// Command is the runtime's program, by name or path; "" means openclaw.
	Command string
	// Environment is what the program starts with, as in os.Environ, which
	// nil means. Where the store is is added to it.
	Environment []string
	// Run runs a program and returns its standard output; nil runs it. An
	// error says how it ended.
	Run func(ctx context.Context, c Call) ([]byte, error)
	// LockDirs are where gateways put their directory of locks; nil means
	// the temporary directories.
	LockDirs []string
	// Deadline is how long one call may take; 0 means 30 seconds.
	Deadline time.Duration
	// Wait is how long the end of a turn is waited for before a reset; 0 is
	// not at all.
	Wait time.Duration
	// System says what of the system is not used; the zero value uses all.
	System durable.System
}

// Call is one run of the runtime's program.
type Call struct {
	Program     string // path
	Arguments   []string
	Environment []string
}

const (
	defaultCommand  = "openclaw"
	defaultDeadline = 30 * time.Second
	maxReply        = 4 << 20 // bytes of a reply that are read
)

func (o Options) deadline() time.Duration {
	if o.Deadline == 0 {
		return defaultDeadline
	}
	return o.Deadline
}

// program finds the runtime's program.
func (o Options) program() (string, error) {
	name := o.Command
	if name == "" {
		name = defaultCommand
	}
	return exec.LookPath(name)
}

// environment makes the program's environment: it must reach the gateway of
// this store and no other. The program's own directory comes first in PATH,
// because an interpreter that was installed with it often lies there, and cron
// does not know of it.
func (o Options) environment(root, program string, g *gateway) []string {
	from := o.Environment
	if from == nil {
		from = os.Environ()
	}
	own := map[string]string{"OPENCLAW_STATE_DIR": root, "NO_COLOR": "1"}
	if g.config != "" {
		own["OPENCLAW_CONFIG_PATH"] = g.config
	}
	if g.port != 0 {
		own["OPENCLAW_GATEWAY_PORT"] = strconv.Itoa(g.port)
	}
	own["PATH"] = filepath.Dir(program)
	var all []string
	for _, variable := range from {
		name, value, _ := strings.Cut(variable, "=")
		if name == "PATH" {
			own["PATH"] += string(os.PathListSeparator) + value
		}
		if _, ours := own[name]; !ours {
			all = append(all, variable)
		}
	}
	for name, value := range own {
		all = append(all, name+"="+value)
	}
	return all
}

// ask calls a method of the gateway and reads its reply into reply.
func (gs *gateways) ask(ctx context.Context, g *gateway, method string, parameters, reply any) error {
	program, err := gs.options.program()
	if err != nil {
		return gs.unasked(err, "set openclaw.command in the configuration to the runtime's program, or stop the gateway")
	}
	encoded, err := json.Marshal(parameters)
	if err != nil {
		return fmt.Errorf("encode the parameters of %s: %w", method, err)
	}
	run, deadline := gs.options.Run, gs.options.deadline()
	if run == nil {
		run = runProgram
	}
	limited, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	out, err := run(limited, Call{
		Program: program, Arguments: []string{"gateway", "call", method, "--params", string(encoded), "--json"},
		Environment: gs.options.environment(gs.state.root, program, g),
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return gs.noAnswer(method, deadline)
	}
	if problem := readReply(out, err, reply); problem != nil {
		return gs.unasked(fmt.Errorf("%s: %w", method, problem), "try by hand: openclaw gateway call "+method+" --params '"+string(encoded)+"'")
	}
	return nil
}

func (gs *gateways) noAnswer(method string, deadline time.Duration) error {
	return gs.unasked(fmt.Errorf("%s: no answer within %s (openclaw.deadline)", method, deadline), "openclaw gateway status shows how the gateway is; the session was not changed by sessctl")
}

func (gs *gateways) unasked(err error, hint string) error {
	return &session.GatewayError{Store: gs.state.root, Err: err, Hint: hint}
}

// readReply takes a reply apart. Of a refusal it returns what the gateway said.
func readReply(out []byte, ended error, reply any) error {
	var refusal struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	err := json.Unmarshal(out, &refusal)
	switch {
	case err == nil && refusal.Error.Message != "":
		return errors.New(refusal.Error.Message)
	case ended != nil:
		return ended
	case err != nil:
		return fmt.Errorf("its answer is not JSON: %w", err)
	}
	return json.Unmarshal(out, reply)
}

// runProgram runs a program. Of what it complains about the end is part of
// the error.
func runProgram(ctx context.Context, c Call) ([]byte, error) {
	program := exec.CommandContext(ctx, c.Program, c.Arguments...)
	program.Env = c.Environment
	program.WaitDelay = 2 * time.Second
	out, complaints := &limitedBuffer{}, &limitedBuffer{}
	program.Stdout, program.Stderr = out, complaints
	if err := program.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s: %w: %s", filepath.Base(c.Program), err, lastPart(complaints.Bytes()))
	}
	return out.Bytes(), nil
}

// lastPart is the end of a text, on one line.
func lastPart(text []byte) string {
	const enough = 300
	text = bytes.TrimSpace(text)
	return strings.ToValidUTF8(strings.Join(strings.Fields(string(text[max(0, len(text)-enough):])), " "), "")
}

// limitedBuffer keeps the first bytes and drops the rest.
type limitedBuffer struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:max(0, min(len(p), maxReply-b.Len()))])
	return len(p), nil
}

// resets lets a running gateway start sessions fresh, and sees by the files that
// it did.
type resets struct{ rotations *rotations }

// PlanReset implements [session.Resetter]. A reset is of one entry of the
// index: a log that several entries mean, or none, is busy while the gateway
// runs.
func (rs *resets) PlanReset(ctx context.Context, ref session.Ref, snap session.Snapshot, now time.Time) (session.Rotation, error) {
	r, err := rs.rotations.PlanRotation(ctx, ref, snap, now)
	if err != nil {
		return session.Rotation{}, err
	}
	r.Kept, r.NewSession = "", ""
	busy := &session.BusyError{Path: ref.Path}
	switch err := rs.rotations.gateways.askable(); {
	case len(r.Keys) == 0:
		busy.Reason = session.ReasonGatewayUnaware.Text()
	case len(r.Keys) > 1:
		busy.Reason = session.ReasonGatewayShares.Text(len(r.Keys))
	case err != nil:
		busy.Reason = session.ReasonGatewayMute.Text(err)
	default:
		return r, nil
	}
	return session.Rotation{}, busy
}

// askable returns why the gateway cannot be asked: its configuration does not
// tell how, and its program is not found.
func (gs *gateways) askable() error {
	if g, err := gs.gateway(); err == nil && g != nil && !g.foreign {
		if _, err := gs.access(g); err == nil {
			return nil
		}
	}
	_, err := gs.options.program()
	return err
}

// Reset implements [session.Resetter]. The gateway is asked first whether a
// turn is going on: its reset would end that turn without an answer. The end of
// one is waited for. Between its answer and the reset lies a millisecond where
// it is asked by its socket, and the seconds that its program takes to start
// where that has to do; a message that comes in then is refused or lost by the
// gateway (docs/compact.md).
func (rs *resets) Reset(ctx context.Context, r session.Rotation) (session.Rotation, error) {
	done, ok, err := rs.FindReset(ctx, r)
	if err != nil || ok {
		return done, err
	}
	g, err := rs.rotations.gateways.gateway()
	switch {
	case err != nil:
		return r, err
	case g == nil:
		return r, &session.BusyError{Path: r.Live, Reason: session.ReasonGatewayStopped.Text()}
	}
	asker, err := rs.rotations.gateways.asker(ctx, g)
	if err != nil {
		return r, err
	}
	defer asker.close()
	if err := rs.awaitGap(ctx, asker, r); err != nil {
		return r, err
	}
	if err := rs.rotations.step("asked"); err != nil {
		return r, err
	}
	refused := asker.ask(ctx, "sessions.reset", map[string]string{"key": r.Before[0].Key}, &struct{}{})
	if done, err = rs.afterReset(ctx, r, refused); err != nil {
		return done, err
	}
	return done, rs.confirm(ctx, asker, r)
}

// confirm asks the gateway which session it goes on with: its files may say more
// than it does. It is an error if that is the old one. A gateway that does not
// answer, or that is asked by its program, which takes seconds, is believed its
// files.
func (rs *resets) confirm(ctx context.Context, asker asker, r session.Rotation) error {
	const tries, wait = 8, 250 * time.Millisecond
	for range tries {
		id, err := asker.current(ctx, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || id != r.Before[0].Session {
			return nil
		}
		if err := rs.rotations.stored.state.pause(ctx, wait); err != nil {
			return err
		}
	}
	return rs.rotations.gateways.unasked(fmt.Errorf("its files show a fresh session, but it goes on with %s", r.Before[0].Session), "restart the gateway; everything is archived, and the next run says whether the fresh session is in force")
}

// gapWait is how long the gateway is left alone before it is asked again
// whether a turn is going on.
const gapWait = 200 * time.Millisecond

// awaitGap waits until the gateway says that no turn is going on. It returns a
// [*session.BusyError] if one is going on for too long, or if the log is not
// what was archived any more.
func (rs *resets) awaitGap(ctx context.Context, asker asker, r session.Rotation) error {
	for end := time.Now().Add(rs.rotations.gateways.options.Wait); ; {
		err := rs.rotations.gateways.askIdle(ctx, asker, r)
		if err == nil {
			err = asker.quiet(ctx)
		}
		if !errors.Is(err, errTurn) {
			return errors.Join(err, rs.rotations.stored.state.unchanged(r))
		}
		if !time.Now().Before(end) {
			return &session.BusyError{Path: r.Live, Reason: errTurn.Error()}
		}
		if err := rs.rotations.stored.state.pause(ctx, gapWait); err != nil {
			return err
		}
	}
}

// errTurn says that the gateway has work for the session.
var errTurn = errors.New(session.ReasonGatewayTurn.Text())

// afterReset believes the files: what the gateway said, or did not say any
// more, is only a reason where they show nothing.
func (rs *resets) afterReset(ctx context.Context, r session.Rotation, refused error) (session.Rotation, error) {
	if err := ctx.Err(); err != nil {
		return r, err
	}
	const tries, wait = 8, 250 * time.Millisecond
	for try := 0; ; try++ {
		done, ok, err := rs.FindReset(ctx, r)
		switch {
		case err != nil || ok:
			return done, err
		case refused != nil:
			return r, refused
		case try == tries:
			return r, rs.rotations.gateways.unasked(errors.New("it says that it started the session fresh, but its files do not show it"), "openclaw sessions lists what the gateway knows; the session was not changed by sessctl")
		}
		if err := rs.rotations.stored.state.pause(ctx, wait); err != nil {
			return r, err
		}
	}
}

// sessionRow is a session as the gateway lists it.
type sessionRow struct {
	Key       string `json:"key"`
	SessionID string `json:"sessionId"`
	Active    bool   `json:"hasActiveRun"`
}

// askIdle asks the gateway whether it means the same session and whether a
// turn is going on.
func (gs *gateways) askIdle(ctx context.Context, asker asker, r session.Rotation) error {
	row, err := gs.askRow(ctx, asker, r)
	switch {
	case err != nil:
		return err
	case row.SessionID != r.Before[0].Session:
		return &session.BusyError{Path: r.Live, Reason: session.ReasonGatewayMoved.Text()}
	case row.Active:
		return errTurn
	}
	return nil
}

// askRow asks the gateway what it knows of the session of a rotation.
func (gs *gateways) askRow(ctx context.Context, asker asker, r session.Rotation) (sessionRow, error) {
	key := r.Before[0].Key
	var reply struct {
		Path     string       `json:"path"`
		Sessions []sessionRow `json:"sessions"`
	}
	if err := asker.ask(ctx, "sessions.list", map[string]string{"agentId": r.Agent, "search": key}, &reply); err != nil {
		return sessionRow{}, err
	}
	if filepath.IsAbs(reply.Path) && !sameFile(reply.Path, r.Index) {
		return sessionRow{}, gs.unasked(fmt.Errorf("it serves another store (%s)", reply.Path), "")
	}
	i := slices.IndexFunc(reply.Sessions, func(row sessionRow) bool { return strings.EqualFold(row.Key, key) })
	if i < 0 {
		return sessionRow{}, gs.unasked(fmt.Errorf("it does not know the session %s", key), "")
	}
	return reply.Sessions[i], nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// unchanged returns a [*session.BusyError] unless the log is what was
// archived.
func (at *stateDir) unchanged(r session.Rotation) error {
	d, name, err := at.directoryOf(r.Live)
	if err != nil {
		return err
	}
	defer d.Close()
	info, err := d.Root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return logfile.Gone(r.Live)
	}
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	return r.Snapshot.Matches(info)
}

// FindReset implements [session.Resetter].
func (rs *resets) FindReset(ctx context.Context, r session.Rotation) (session.Rotation, bool, error) {
	d, name, err := rs.rotations.stored.state.directoryOf(r.Live)
	if err != nil {
		return r, false, err
	}
	defer d.Close()
	if r.Index != d.At(indexName) || len(r.Before) != 1 {
		return r, false, fmt.Errorf("look for the reset of %s: the plan is not whole", r.Live)
	}
	v, err := d.look(ctx, "")
	if err != nil {
		return r, false, err
	}
	if v.index == nil {
		return r, false, &session.BusyError{Path: r.Live, Reason: session.ReasonIndexUnreadNow.Text()}
	}
	e := v.index.entry(r.Before[0].Key)
	if e == nil || e.session == "" || e.session == r.Before[0].Session {
		return r, false, nil
	}
	closed, err := v.closedBy(name, r)
	if err != nil || closed == "" {
		return r, false, err
	}
	r.Kept, r.NewSession = v.At(closed), e.session
	return r, true, nil
}

// closedBy returns the name that the runtime gave the log when it closed it
// after the reset was planned, "" if there is none. The runtime renames a log,
// so its inode tells which one it is; without that it is the newest, if there
// is no live one.
func (v *view) closedBy(live string, r session.Rotation) (string, error) {
	newest := ""
	for _, name := range slices.Backward(v.resets(live)) {
		info, err := v.Root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("look at %s: %w", v.At(name), err)
		}
		if logfile.Unusable(info) != "" || closedAt(name, live).Before(r.At.Add(-clockSlack)) {
			continue
		}
		if r.Snapshot.SameFile(session.Observe(v.At(name), info)) {
			return name, nil
		}
		if newest == "" {
			newest = name
		}
	}
	if _, err := v.Root.Lstat(live); newest != "" && errors.Is(err, fs.ErrNotExist) {
		return newest, nil
	}
	return "", nil
}

// clockSlack is how far the gateway's clock may be behind this program's.
const clockSlack = time.Minute

// resets returns the closed logs of a log, oldest first.
func (v *view) resets(live string) []string {
	var found []string
	for name, n := range v.all.byName {
		if n.kind == session.KindReset && n.live == live {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// closedAt is the time in the name of a closed log, zero if there is none.
func closedAt(name, live string) time.Time {
	at, err := time.Parse(stampForm, strings.TrimPrefix(name, live+".reset."))
	if err != nil {
		return time.Time{}
	}
	return at
}
