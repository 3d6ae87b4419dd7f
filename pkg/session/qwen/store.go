package qwen

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// Store is one home directory of Qwen Code, a [session.Store]. It holds nothing
// open and may be used by several goroutines at once.
type Store struct {
	logfile.Logs
	changes logfile.RotatingLogs // of the same logs
	inside  string               // where the projects lie below the base, with a slash, or ""
}

// depth is how many directories a log lies below the home directory at most.
const depth = 4

// Open returns the store of a .qwen directory, or of the directory of projects in
// it.
func Open(root string) *Store {
	root = logfile.Absolute(root)
	s := &Store{}
	if logfile.IsDirectory(filepath.Join(root, projectsName)) {
		s.inside = projectsName + "/"
	}
	s.Logs = logfile.Logs{
		Pin:  &logfile.Pin{},
		Name: session.RuntimeQwen, Store: root, Base: root, Depth: depth,
		Locate: s.locate,
	}
	s.ReadAll = s.Scan
	s.changes = logfile.RotatingLogs{Logs: s.Logs}
	return s
}

const (
	projectsName  = "projects"
	chatsName     = "chats"
	archiveName   = "archive"
	subagentsName = "subagents"
	logEnd        = ".jsonl"
)

// Roots returns the home directory of Qwen Code if it holds projects: that of
// QWEN_HOME, else ~/.qwen.
func Roots(home string, getenv func(string) string) []string {
	if root := logfile.Expand(getenv("QWEN_HOME"), home); root != "" {
		return logfile.Holding(filepath.Dir(root), filepath.Base(root), projectsName)
	}
	return logfile.Holding(home, ".qwen", projectsName)
}

// OwnCommand implements [session.Adviser].
func (s *Store) OwnCommand(session.Ref) string {
	return "/compress in the session makes its context small"
}

// List implements [session.Store]: the sessions of each working directory, in the
// order of their names, then those of sub-agents. The newest session of a
// directory is the one that `qwen -c` goes on with.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	l := &lister{s.NewLister(), s}
	if err := logfile.Unreadable(filepath.Join(s.Base, projectsName)); err != nil {
		return l.Listing, err
	}
	err := l.Base(ctx, func(base *logfile.Dir, name string) {
		switch {
		case s.inside == "":
			l.project(base, name)
		case name == projectsName:
			l.in(base, name, func(d *logfile.Dir) { l.Each(d, func(name string) { l.project(d, name) }) })
		}
	})
	l.MarkNewest()
	if err == nil && s.inside != "" {
		err = l.Base(ctx, func(base *logfile.Dir, name string) {
			if name == tmpName {
				l.outputs(ctx, base)
			}
		})
	}
	return l.Listing, err
}

// lister collects the sessions of one store.
type lister struct {
	*logfile.Lister
	store *Store
}

// in opens a directory, if it is there, while its content is listed.
func (l *lister) in(of *logfile.Dir, name string, list func(*logfile.Dir)) {
	if d := l.Below(of, name); d != nil {
		defer d.Close()
		list(d)
	}
}

func (l *lister) project(base *logfile.Dir, name string) {
	if strings.HasPrefix(name, ".") {
		return
	}
	found := false
	for _, inner := range []string{chatsName, filepath.Join(chatsName, archiveName)} {
		if base.HasDirectory(filepath.Join(name, inner)) {
			found = true
			l.logs(base, filepath.Join(name, inner))
		}
	}
	if found {
		l.Listing.Agents = append(l.Listing.Agents, agentOf(name))
	}
	if of := filepath.Join(name, subagentsName); base.HasDirectory(of) {
		d := l.Below(base, of)
		if d == nil {
			return
		}
		defer d.Close()
		l.Each(d, func(session string) {
			if d.HasDirectory(session) {
				l.logs(d, session)
			}
		})
	}
}

// logs lists the logs of one directory.
func (l *lister) logs(in *logfile.Dir, name string) {
	d := l.Below(in, name)
	if d == nil {
		return
	}
	defer d.Close()
	l.Each(d, func(name string) {
		ref, ok := l.Located(d, name, session.ReasonMovedAside.Text())
		if !ok {
			return
		}
		l.Add(ref)
	})
}

// locate reads where a log, or an output, lies.
func (s *Store) locate(below string) (session.Ref, bool) {
	if s.inside == "" {
		return locate(below)
	}
	if output, is := strings.CutPrefix(below, tmpName+"/"); is {
		return locateOutput(output)
	}
	log, is := strings.CutPrefix(below, s.inside)
	if !is {
		return session.Ref{}, false
	}
	return locate(log)
}

// locate reads where a log lies below the projects.
func locate(below string) (session.Ref, bool) {
	parts := strings.Split(below, "/")
	id, isLog := strings.CutSuffix(parts[len(parts)-1], logEnd)
	ref := session.Ref{Agent: agentOf(parts[0]), ID: id, Kind: session.KindLive}
	ref.Key = ref.Agent
	isLog = isLog && session.SafeID(id) && !strings.HasPrefix(parts[0], ".")
	switch {
	case len(parts) == 3 && parts[1] == chatsName:
		return ref, isLog
	case len(parts) == 4 && parts[1] == chatsName && parts[2] == archiveName:
		ref.Kind = session.KindArchived
		return ref, isLog
	case len(parts) == 4 && parts[1] == subagentsName && session.SafeID(parts[2]):
		ref.Kind, ref.Parent = session.KindSubagent, parts[2]
		ref.ID, ref.Key = session.CleanID(parts[2]+"."+id), parts[2]+"/"+id
		return ref, isLog
	}
	return ref, false
}

// agentOf makes an agent's id of the name of a project: the working directory's
// path with dashes, without the dashes in front.
func agentOf(project string) string {
	if name := strings.Trim(project, "-"); name != "" {
		return session.CleanAgent(name)
	}
	return session.RuntimeQwen
}
