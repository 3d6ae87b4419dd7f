package steps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize/state"
)

// BriefDocument is `brief --json` and the result of memory_state (docs/json.md): where
// the work of an agent stands.
type BriefDocument struct {
	Schema int `json:"schema"`
	recall.Standing
	Notes []workspace.Note `json:"notes"`
}

// BriefOptions say whose work is meant, and how long the text may be.
type BriefOptions struct {
	Agent            agentset.Set
	Runtime, Session string
	Runes            int // code points of the text
}

// The lengths of a brief, in code points: below, nothing can be told, and beyond, a
// summary tells more.
const (
	leastBrief   = 200
	defaultBrief = 1200
	longestBrief = 4000
)

// Validate refuses what cannot be told.
func (o *BriefOptions) Validate() error {
	if o.Runes == 0 {
		o.Runes = defaultBrief
	}
	if o.Runes < leastBrief || o.Runes > longestBrief {
		return failure.Usage("1200 is usual", "--chars must be between %d and %d", leastBrief, longestBrief)
	}
	return nil
}

// Brief says where the work stands in the newest session of an agent in which a person
// has asked for something: in its log, or where a fresh session took its place, in its
// archive. Text of secrets is left out.
func Brief(ctx context.Context, run *workspace.Run, o BriefOptions) (BriefDocument, error) {
	all, err := run.FindSessions(ctx)
	if f := (*failure.Error)(nil); err != nil && !(errors.As(err, &f) && f.Code == "no_store") {
		return BriefDocument{}, err
	}
	doc, found, err := briefOf(ctx, run, o, all.Sessions)
	switch {
	case err != nil:
		return doc, err
	case !found:
		if err := selection.CheckAgent(ctx, run, nil, o.Agent); err != nil {
			return doc, err
		}
		return doc, &failure.Error{Code: "unknown_session", Exit: failure.ExitFailed, Hint: "sessctl sizes and sessctl archives list show the sessions there are", Err: fmt.Errorf("no session in which somebody has asked for something")}
	}
	doc.Schema, doc.Text = 1, doc.State.Text(o.Runes)
	return doc, nil
}

// briefOf looks at the main session of the agent first, in its log and in its archives,
// and then at all that are meant: what a timer has asked for is not where work stands.
func briefOf(ctx context.Context, run *workspace.Run, o BriefOptions, sessions []workspace.Found) (doc BriefDocument, found bool, err error) {
	live, archived := briefable(sessions, o), []archive.Entry{}
	archives, err := run.OpenArchive()
	if err == nil {
		archived, err = archives.List(ctx, archive.Filter{Agent: o.Agent, Runtime: o.Runtime})
	}
	if err != nil {
		run.PassOver(workspace.Note{Path: run.CatalogueDir(), Message: "what is archived is not known: " + err.Error()})
	}
	archived = archivedBriefable(archived, o)
	for _, main := range []bool{true, false} {
		of := slices.DeleteFunc(slices.Clone(live), func(s workspace.Found) bool { return main && !s.Primary })
		doc, found, err = briefOfLive(ctx, run, of)
		if err != nil || found {
			return doc, found, err
		}
		kept := slices.DeleteFunc(slices.Clone(archived), func(e archive.Entry) bool { return main && !mainKey(live, e) })
		doc, found, err = briefOfArchives(ctx, run, archives, kept)
		if err != nil || found {
			return doc, found, err
		}
	}
	return doc, false, nil
}

// mainKey reports whether an archive is of the main session of its agent, which may
// have begun anew under the same key.
func mainKey(live []workspace.Found, e archive.Entry) bool {
	return strings.HasSuffix(e.Key, ":main") || slices.ContainsFunc(live, func(s workspace.Found) bool {
		return s.Primary && s.Runtime == e.Runtime && s.Agent == e.Agent && s.Key == e.Key
	})
}

// mostBriefed is how many sessions are looked at for one that tells where work stands.
const mostBriefed = 5

// briefable are the sessions that are meant, the newest first.
func briefable(sessions []workspace.Found, o BriefOptions) []workspace.Found {
	own := slices.DeleteFunc(slices.Clone(sessions), func(s workspace.Found) bool {
		own := workspace.Shown(s.Kind) && s.Kind != session.KindSubagent && s.Kind != session.KindDatabase
		return !own || o.Runtime != "" && s.Runtime != o.Runtime || !o.Agent.Holds(s.Runtime, s.Agent) || o.Session != "" && s.ID != o.Session && !strings.EqualFold(s.Key, o.Session)
	})
	slices.SortStableFunc(own, func(x, y workspace.Found) int { return y.ModTime.Compare(x.ModTime) })
	return own
}

// LiveLog is the log of a session that there is.
func LiveLog(run *workspace.Run, s workspace.Found) ReadableLog {
	open := func(context.Context) (io.ReadCloser, error) { return run.Pins.OpenSingle(s.Store, s.Path) }
	if source := s.Adapter.Capabilities().SourceOf(s.Ref); source != nil {
		open = func(ctx context.Context) (io.ReadCloser, error) { return source.OpenLog(ctx, s.Ref) }
	}
	return ReadableLog{Name: s.Path, Reader: s.Adapter, Bytes: s.Bytes, Open: open}
}

func briefOfLive(ctx context.Context, run *workspace.Run, sessions []workspace.Found) (BriefDocument, bool, error) {
	for _, s := range sessions[:min(len(sessions), mostBriefed)] {
		now, err := stateOf(ctx, LiveLog(run, s))
		if ctx.Err() != nil {
			return BriefDocument{}, false, ctx.Err()
		}
		if err != nil {
			run.PassOver(workspace.Note{Path: s.Path, Message: err.Error()})
			continue
		}
		if now.Request != nil {
			return BriefDocument{Standing: recall.Standing{Runtime: s.Runtime, Agent: s.Agent, Session: s.ID, State: now}}, true, nil
		}
	}
	return BriefDocument{}, false, nil
}

// archivedBriefable are the archives of sessions that are meant, the newest first: those
// of sub-agents and of outputs are of no session that somebody talks to.
func archivedBriefable(entries []archive.Entry, o BriefOptions) []archive.Entry {
	entries = slices.DeleteFunc(entries, func(e archive.Entry) bool {
		kind := session.Kind(e.Kind)
		return kind == session.KindSubagent || kind == session.KindOutput || kind == session.KindDatabase ||
			o.Session != "" && e.Session != o.Session && !strings.EqualFold(e.Key, o.Session)
	})
	slices.SortStableFunc(entries, func(x, y archive.Entry) int { return y.CreatedAt.Compare(x.CreatedAt) })
	return entries
}

func briefOfArchives(ctx context.Context, run *workspace.Run, archives *archive.Store, entries []archive.Entry) (BriefDocument, bool, error) {
	for _, e := range entries[:min(len(entries), mostBriefed)] {
		reader := workspace.ArchiveReader(&run.Settings, e)
		if reader == nil {
			continue
		}
		open := func(ctx context.Context) (io.ReadCloser, error) { return archives.OpenEntry(ctx, e) }
		now, err := stateOf(ctx, ReadableLog{Name: "archive " + e.ID, Reader: reader, Bytes: e.Bytes, Open: open})
		if ctx.Err() != nil {
			return BriefDocument{}, false, ctx.Err()
		}
		if err != nil {
			run.PassOver(workspace.Note{Path: e.Path, Message: err.Error()})
			continue
		}
		if now.Request != nil {
			return BriefDocument{Standing: recall.Standing{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session, Archive: e.ID, State: now}}, true, nil
		}
	}
	return BriefDocument{}, false, nil
}

// stateOf reads a log and says where its work stands. A log with forks is read twice:
// what was abandoned is not where work stands.
func stateOf(ctx context.Context, log ReadableLog) (state.State, error) {
	var tree *session.Tree
	for {
		reader := &state.Reader{}
		scan, err := ScanReadable(ctx, log, session.ScanOptions{Tree: tree}, func(m *session.Message) error {
			if m.Branch == session.Active {
				reader.Add(m)
			}
			return nil
		})
		if err != nil || tree != nil || scan.Tree == nil || !scan.Tree.Forked() {
			return reader.State(), err
		}
		tree = scan.Tree
	}
}

// ScanReadable scans a log from its beginning, also one that is compressed.
func ScanReadable(ctx context.Context, log ReadableLog, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	r, err := log.Open(ctx)
	if err != nil {
		return session.Scan{}, err
	}
	defer r.Close()
	plain, _, err := jsonl.Decompress(r, log.Bytes)
	if err != nil {
		return session.Scan{}, fmt.Errorf("read %s: %w", log.Name, err)
	}
	defer plain.Close()
	return log.Reader.Scan(ctx, plain, o, emit)
}

// DescribeBrief is the brief as it is printed: what the log says, and where its lines
// can be read.
func DescribeBrief(doc recall.Standing) string {
	head := "   session " + wording.Visible(doc.Session) + " of " + wording.Visible(doc.Agent) + " (" + doc.Runtime + ")"
	if doc.Archive != "" {
		head += "; sessctl archives show " + wording.Visible(doc.Archive) + " --lines N-M reads its lines"
	}
	return head + "\n" + recall.Indent(wording.VisibleText(doc.Text)) + "\n"
}
