package omp

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// List implements [session.Store]: the sessions of each working directory, in
// the order of their names, which begin with a time, each followed by what
// belongs to it; then those that omp's gc has put away. Of a session that is in
// both places, which a killed gc leaves, the live one counts.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	l := &lister{Lister: s.NewLister(), live: map[string]bool{}}
	if err := logfile.Unreadable(filepath.Join(s.Base, sessionsName)); err != nil {
		return l.Listing, err
	}
	err := l.Base(ctx, func(base *logfile.Dir, name string) {
		if name == sessionsName {
			l.directories(base, name)
		}
	})
	if err != nil {
		return l.Listing, err
	}
	err = l.Base(ctx, func(base *logfile.Dir, name string) {
		if away := filepath.Join(archiveName, sessionsName); name == archiveName && base.HasDirectory(away) {
			l.away = true
			l.directories(base, away)
		}
	})
	l.MarkNewest()
	return l.Listing, err
}

// lister collects the sessions of one store.
type lister struct {
	*logfile.Lister
	away bool            // of what gc has put away
	live map[string]bool // ids of sessions that are there and not put away
}

// directories lists the directories of working directories.
func (l *lister) directories(base *logfile.Dir, name string) {
	top := l.Below(base, name)
	if top == nil {
		return
	}
	defer top.Close()
	l.Each(top, func(name string) {
		if strings.HasPrefix(name, ".") {
			return
		}
		d := l.Below(top, name)
		if d == nil {
			return
		}
		defer d.Close()
		if !l.away {
			l.Listing.Agents = append(l.Listing.Agents, agentOf(name))
		}
		l.logs(d)
	})
}

// logs lists one directory of a working directory.
func (l *lister) logs(d *logfile.Dir) {
	l.Each(d, func(name string) {
		ref, ok := l.Located(d, name, session.ReasonMovedAside.Text())
		if !ok || ref.Kind == session.KindArchived && l.live[ref.ID] {
			return
		}
		if ref.Kind == session.KindLive {
			ref.Key = ref.Agent // omp -c goes on with the newest one of a working directory
			l.live[ref.ID] = true
		}
		l.Add(ref)
		if stem, isLog := stemOf(name); isLog {
			l.family(d, stem, ref)
		}
	})
}

// family lists what lies in the directory of a session.
func (l *lister) family(in *logfile.Dir, stem string, of session.Ref) {
	if !in.HasDirectory(stem) {
		return
	}
	d := l.Below(in, stem)
	if d == nil {
		return
	}
	defer d.Close()
	l.Each(d, func(name string) {
		ref, ok := l.Located(d, name, "")
		if !ok {
			return
		}
		ref.Parent, ref.Key = of.ID, of.ID+"/"+name
		if ref.Kind == session.KindOutput {
			ref.State, ref.Reason = session.StateUnsupported, session.ReasonBelongsTo.Text()
		}
		l.Add(ref)
	})
}

// locate reads where a log lies, an output, or a blob.
func locate(below string) (session.Ref, bool) {
	if hash, isBlob := strings.CutPrefix(below, blobsName+"/"); isBlob {
		return session.Ref{Agent: blobsName, ID: hash, Kind: session.KindOutput}, isHash(hash)
	}
	kind := session.KindLive
	if rest, away := strings.CutPrefix(below, archiveName+"/"); away {
		kind, below = session.KindArchived, rest
	}
	parts := strings.Split(below, "/")
	if len(parts) < 3 || parts[0] != sessionsName {
		return session.Ref{}, false
	}
	name := parts[len(parts)-1]
	stem, isLog := stemOf(name)
	ref := session.Ref{Agent: agentOf(parts[1]), ID: idOf(stem), Kind: kind}
	switch {
	case strings.HasPrefix(name, "."), strings.HasSuffix(name, ".gz") != (kind == session.KindArchived) && len(parts) == 3:
		return ref, false
	case len(parts) == 3:
		return ref, isLog && session.SafeID(stem)
	}
	ref.Parent = idOf(parts[2])
	ref.Kind, ref.ID = session.KindOutput, session.CleanID(ref.Parent+"."+name)
	if isLog {
		ref.Kind, ref.ID = session.KindSubagent, session.CleanID(ref.Parent+"."+stem)
	}
	return ref, len(parts) == 4 && session.SafeID(parts[2]) && session.SafeID(name)
}

// stemOf is the name of a log without its end.
func stemOf(name string) (stem string, isLog bool) {
	if stem, isLog = strings.CutSuffix(name, packedEnd); isLog {
		return stem, true
	}
	return strings.CutSuffix(name, logEnd)
}

// idOf is the session's id in the name of its log, <time>_<id>.
func idOf(stem string) string {
	if _, id, ok := strings.Cut(stem, "_"); ok && session.SafeID(id) {
		return id
	}
	return session.CleanID(stem)
}

// agentOf is the agent whose logs a directory holds: its name, which is the
// working directory with dashes, without the dashes at its ends.
func agentOf(directory string) string {
	if name := strings.Trim(directory, "-"); name != "" {
		return session.CleanAgent(name)
	}
	return "home" // the home directory itself is "-"
}
