package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// unreadPlace is where sessions are known to lie that no store reads.
type unreadPlace struct {
	owner string // a runtime, or what people call a program that is not read
	// pattern matches the files: below the home directory (~), the data directory of
	// the user ($XDG_DATA_HOME), the directory of a variable, or else each store of the
	// runtime.
	pattern string
	cause   session.Cause
}

// unreadPlaces are all that are known. What a store lists is left out of them, by its path
// or by the id of its session.
var unreadPlaces = []unreadPlace{
	{"Mistral Vibe", "~/.vibe/logs/session/*/messages.jsonl", session.CauseProgram},
	{"Amp", "$XDG_DATA_HOME/amp/threads/*.json", session.CauseProgram},
	{"Letta Code", "~/.letta/lc-local-backend/conversations/*/messages.jsonl", session.CauseProgram},
	{"Letta Code", "$LETTA_LOCAL_BACKEND_DIR/conversations/*/messages.jsonl", session.CauseProgram},
	{session.RuntimeAntigravity, "~/.gemini/antigravity*/conversations/*.db", session.CauseStore},
	{session.RuntimeAntigravity, "~/.gemini/antigravity*/conversations/*.pb", session.CauseStore},
	{"Continue", "~/.continue/sessions/*-*.json", session.CauseProgram},
	{"gptme", "$XDG_DATA_HOME/gptme/logs/*/conversation.jsonl", session.CauseProgram},
	{"OpenHands", "~/.openhands/conversations/*/base_state.json", session.CauseProgram},
	{"Zed", "$XDG_DATA_HOME/zed/threads/threads.db", session.CauseProgram},

	{session.RuntimeClaude, "projects/*/*/*-*-*-*-*.jsonl", session.CausePlace},
	{session.RuntimeOpenClaw, "agents/*/sessions/*/*.jsonl", session.CausePlace},

	{session.RuntimeHermes, "~/.hermes*/sessions/*.json", session.CauseName},
	{session.RuntimeHermes, "~/.hermes*/sessions/*.jsonl", session.CauseName},
	{session.RuntimeHermes, "~/.hermes/profiles/*/sessions/*.json", session.CauseName},
	{session.RuntimeHermes, "~/.hermes/profiles/*/sessions/*.jsonl", session.CauseName},
	{session.RuntimeHermes, "~/.hermes*/state.db.*backup*", session.CauseStore},
	{session.RuntimeCursor, "~/.cursor/chats/*/*/store.db", session.CauseStore},

	{session.RuntimeHermes, "~/.hermes*/state.db-[sw]*", causeTorn},
	{session.RuntimeHermes, "~/.hermes/profiles/*/state.db-[sw]*", causeTorn},
	{session.RuntimeGoose, "$XDG_DATA_HOME/goose/sessions/sessions.db-[sw]*", causeTorn},
	{session.RuntimeOpenCode, "$XDG_DATA_HOME/opencode/*.db-[sw]*", causeTorn},
	{session.RuntimeKilo, "$XDG_DATA_HOME/kilo/*.db-[sw]*", causeTorn},
	{session.RuntimeOpenClaw, "agents/*/agent/openclaw-agent.sqlite-[sw]*", causeTorn},

	{session.RuntimeCopilot, "~/.copilot/history-session-state/*.json", session.CauseLayout},
	{session.RuntimeGoose, "$XDG_DATA_HOME/goose/sessions/*.jsonl", session.CauseLayout},
	{session.RuntimeOpenCode, "$XDG_DATA_HOME/opencode/storage/session/*/*.json", session.CauseLayout},
}

// causeTorn stands for what is wrong with the logs of a database: see [torn].
const causeTorn session.Cause = "torn"

// causeOf is the cause for which a file of a place is not read, "" if there is none.
func (p unreadPlace) causeOf(path string) session.Cause {
	switch {
	case p.cause == causeTorn:
		return torn(path)
	case filepath.Base(path) == "sessions.json": // which chat has which session: nobody said it
		return ""
	}
	return p.cause
}

// tornPlaces are where logs of databases may lie without them.
func tornPlaces() []unreadPlace {
	return slices.DeleteFunc(slices.Clone(unreadPlaces), func(p unreadPlace) bool { return p.cause != causeTorn })
}

// torn says what is wrong with a write-ahead log ("-wal"), or with the index of one
// ("-shm"), "" for nothing. A program that closes its database removes the index before
// the log, so that an index alone says that somebody else took the log away.
func torn(path string) session.Cause {
	database, isIndex := strings.CutSuffix(path, "-shm")
	if log, isLog := strings.CutSuffix(path, "-wal"); isLog {
		if _, err := os.Lstat(log); errors.Is(err, fs.ErrNotExist) {
			return session.CauseNoMain
		}
	}
	_, err := os.Lstat(database)
	if _, logErr := os.Lstat(database + "-wal"); isIndex && err == nil && errors.Is(logErr, fs.ErrNotExist) {
		return session.CauseNoLog
	}
	return ""
}

// LacksLog reports whether the write-ahead log of a database was taken away: its index
// is still there.
func LacksLog(database string) bool {
	_, err := os.Lstat(database + "-shm")
	return err == nil && torn(database+"-shm") == session.CauseNoLog
}

// passedOver looks in places for what no store has listed. A run with --only-store is
// about those stores alone.
func (run *Run) passedOver(all Inventory, places []unreadPlace) (unread []session.Unread) {
	listed := listedNames(all)
	for _, p := range places {
		if run.Global.Runtime != "" && p.owner != run.Global.Runtime {
			continue
		}
		for _, pattern := range run.patterns(p) {
			paths, _ := filepath.Glob(pattern) // the patterns are ours
			for _, path := range paths {
				info, err := os.Stat(path)
				if err != nil || !info.Mode().IsRegular() || listed.has(p.owner, path) || filepath.Base(filepath.Dir(path)) == retention.DirName {
					continue // what clean has put aside is its own, and archived
				}
				if cause := p.causeOf(path); cause != "" {
					unread = append(unread, session.Unread{Runtime: p.owner, Path: path, Bytes: info.Size(), Cause: cause})
				}
			}
		}
	}
	return unread
}

// missing are the directories that settings name and that are not there.
func missing(run *Run) (unread []session.Unread) {
	for _, kind := range Runtimes() {
		if kind.Named == nil || run.Global.OnlyNamed() || run.Global.Runtime != "" && run.Global.Runtime != kind.Name {
			continue
		}
		paths := kind.Named(run.Home(), run.Getenv)
		slices.Sort(paths)
		for _, path := range slices.Compact(paths) {
			if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
				unread = append(unread, session.Unread{Runtime: kind.Name, Path: path, Cause: session.CauseMissing})
			}
		}
	}
	return unread
}

// patterns are those of a place in this run.
func (run *Run) patterns(p unreadPlace) (patterns []string) {
	base, below, _ := strings.Cut(filepath.FromSlash(p.pattern), string(filepath.Separator))
	named := run.Global.OnlyNamed()
	switch {
	case base == "~" && !named && run.Home() != "":
		return []string{filepath.Join(quoteGlob(run.Home()), below)}
	case base[0] == '$' && !named:
		dir := run.Getenv(base[1:])
		if !filepath.IsAbs(dir) && base == "$XDG_DATA_HOME" {
			dir = filepath.Join(run.Home(), ".local", "share")
		}
		if filepath.IsAbs(dir) {
			return []string{filepath.Join(quoteGlob(dir), below)}
		}
		return nil
	case base == "~", base[0] == '$':
		return nil
	}
	for _, store := range run.Opened {
		if store.Runtime() == p.owner {
			patterns = append(patterns, filepath.Join(quoteGlob(store.Root()), filepath.FromSlash(p.pattern)))
		}
	}
	return patterns
}

// quoteGlob is a path in which no character stands for others.
func quoteGlob(path string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(path)
}

// names are the paths and the ids of what stores have listed.
type names struct{ paths, ids map[string]bool }

func listedNames(all Inventory) names {
	n := names{map[string]bool{}, map[string]bool{}}
	for i := range all.Sessions {
		s := &all.Sessions[i]
		path := s.Path
		if !s.Kind.InFile() {
			path, _ = sqlitefile.CutPath(path)
		}
		n.paths[path], n.ids[s.Runtime+"\x00"+s.ID] = true, true
	}
	for _, u := range all.NotRead {
		n.paths[u.Path] = true
	}
	return n
}

// has reports whether a file was listed, or the session that it is named after: by
// its own name, or by that of its directory.
func (n names) has(runtime, path string) bool {
	stem := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	return n.paths[path] || slices.ContainsFunc([]string{stem, filepath.Base(filepath.Dir(path))}, func(id string) bool { return n.ids[runtime+"\x00"+id] })
}
