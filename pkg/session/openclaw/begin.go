package openclaw

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// triedVersion is the version of OpenClaw that has taken such a session in and gone on
// with it.
const triedVersion = "2026.9.6"

// tools are OpenClaw's names of the tools that others have too.
func tools() session.ToolNames {
	return session.ToolNames{
		Run: "exec", Read: "read", Write: "write", Edit: "edit",
		Command: "command", Path: "path", Old: "oldText", New: "newText", List: "edits",
		Tried: [2]string{triedVersion, triedVersion},
	}
}

// begunEntry is what the index says of a session that is begun.
type begunEntry struct {
	ID      string `json:"sessionId"`
	Updated int64  `json:"updatedAt"`
	File    string `json:"sessionFile"`
	Name    string `json:"displayName,omitempty"`
}

// PlanBegin implements [session.Beginner]: a log and an index as versions with files had
// them, which the runtime's own command takes into its database (docs/dev/formats.md, "A
// session that is begun"). The key is a new one.
func (s *Store) PlanBegin(_ context.Context, c session.Carried) (session.Begun, error) {
	agent, err := s.receiver()
	if err != nil {
		return session.Begun{}, fmt.Errorf("begin a session of OpenClaw: %w", err)
	}
	id := session.OrderedID(c.Now)
	key := "agent:" + agent + ":carried-" + id[strings.LastIndex(id, "-")+1:]
	dir := filepath.Join(s.root, agentsName, agent, sessionsName)
	log, err := piformat.Begin(id, c)
	index, wrong := json.Marshal(map[string]begunEntry{key: {id, c.Now.UnixMilli(), filepath.Join(dir, id+logEnd), c.Title}})
	if err = errors.Join(err, wrong); err != nil {
		return session.Begun{}, fmt.Errorf("begin a session of OpenClaw: %w", err)
	}
	return session.Begun{
		ID: id, Path: s.databaseFile(agent).Path() + storedMark + id, Log: log,
		Owner: filepath.Join(dir, indexName), Directory: string(index), Command: []string{"openclaw", "resume", key},
	}, nil
}

// receiver is the agent that gets a session: the only one with a database, or main. While
// a gateway runs, or where files wait that the runtime would take in too, there is none.
func (s *Store) receiver() (string, error) {
	if err := s.unserved(s.root); err != nil {
		return "", err
	}
	root, err := s.pin.OpenRoot(s.root)
	if err != nil {
		return "", fmt.Errorf("open store: %w", err)
	}
	defer root.Close()
	agents, err := s.lister(root, time.Time{}).agents()
	if err != nil {
		return "", err
	}
	agents = slices.DeleteFunc(agents, func(agent string) bool {
		db, _, err := s.era(root, agent)
		return err != nil || db == nil
	})
	switch {
	case len(agents) == 0:
		return "", errors.New("no agent keeps its sessions in a database, as OpenClaw 2026.9 does: start it once")
	case slices.Contains(agents, "main"):
		agents = []string{"main"}
	case len(agents) > 1:
		return "", fmt.Errorf("it has %d agents, and none is main", len(agents))
	}
	return agents[0], s.nothingWaits(root, agents[0])
}

// nothingWaits makes sure that no index or log lies where the runtime's command looks for
// what it takes in.
func (s *Store) nothingWaits(root *os.Root, agent string) error {
	d, err := s.directory(root, agent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == indexName || strings.HasSuffix(name, logEnd) {
			return fmt.Errorf("%s waits to be taken in by the runtime: run openclaw doctor --fix first: %w", d.At(name), fs.ErrExist)
		}
	}
	return nil
}

// Begin implements [session.Beginner]. The runtime's command has the same lock as its
// gateway. What it has not taken in is removed again.
func (s *Store) Begin(ctx context.Context, b session.Begun) (err error) {
	if _, err := s.receiver(); err != nil {
		return fmt.Errorf("begin a session of OpenClaw: %w", err)
	}
	dir := filepath.Dir(b.Owner)
	logs := &logfile.Logs{Name: session.RuntimeOpenClaw, Store: s.root, Base: dir}
	for _, f := range []session.Begun{{Path: filepath.Join(dir, b.ID+logEnd), Log: b.Log}, {Path: b.Owner, Log: []byte(b.Directory)}} {
		if err := logs.Begin(ctx, f); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, takeBack(f)) }()
	}
	agent := filepath.Base(filepath.Dir(dir))
	_, err = s.call(context.WithoutCancel(ctx), importDeadline, "doctor", "--session-sqlite", "import", "--session-sqlite-agent", agent, "--json")
	if err != nil {
		return fmt.Errorf("begin a session of OpenClaw: %w", err)
	}
	return nil
}

// takeBack removes a file that was written, if it is still there as it was.
func takeBack(b session.Begun) error {
	text, err := os.ReadFile(b.Path)
	if err == nil && string(text) == string(b.Log) {
		err = durable.RemoveFile(b.Path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// importDeadline is for a command that checks the whole database. It is not cut short by
// an interrupt: half of its work would be left.
const importDeadline = 10 * time.Minute

// call runs the runtime's program for this store. What it says of a refusal is the error.
func (s *Store) call(ctx context.Context, deadline time.Duration, arguments ...string) ([]byte, error) {
	program, err := s.options.program()
	if err != nil {
		return nil, fmt.Errorf("its own program takes a session in: %w", err)
	}
	run := s.options.Run
	if run == nil {
		run = runProgram
	}
	limited, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	out, err := run(limited, Call{Program: program, Arguments: arguments, Environment: s.options.environment(s.root, program, &gateway{})})
	if err != nil {
		err = readReply(out, err, nil)
	}
	return out, err
}

// Version implements [session.Versioner].
func (s *Store) Version(ctx context.Context) (string, error) {
	out, err := s.call(ctx, s.options.deadline(), "--version")
	for _, word := range strings.Fields(string(out)) {
		if strings.Count(word, ".") == 2 && word[0] >= '0' && word[0] <= '9' {
			return word, nil
		}
	}
	if err == nil {
		err = errors.New("it does not say its version")
	}
	return "", fmt.Errorf("ask for the version of OpenClaw: %w", err)
}
