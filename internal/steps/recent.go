package steps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/session"
)

// RecentDocument is `replay-context --recent --json`.
type RecentDocument struct {
	Schema    int      `json:"schema"`
	Summaries []string `json:"summaries"` // of one runtime after the other, the newest first
}

const (
	recentSummaries = 3  // of a runtime
	recentLogs      = 20 // of a runtime are read for a summary of its own
)

// recentSummary is the summary of one session.
type recentSummary struct {
	runtime, text string
	at            time.Time
}

// Recent returns the summaries of the last three sessions of each runtime. A runtime
// that starts with such summaries says which they are. Of the others they are those that
// memory has, and of a session of which it has none, that of its last compaction. agent
// is "" for all agents.
func Recent(ctx context.Context, run *workspace.Run, agent agentset.Set) (RecentDocument, error) {
	doc := RecentDocument{Schema: 1, Summaries: []string{}}
	if err := recentOfStores(ctx, run, agent, &doc); err != nil {
		return doc, err
	}
	if run.Global.Runtime == session.RuntimeYarnnn {
		return doc, nil
	}
	found, err := recentKept(ctx, run, agent)
	if err != nil {
		return doc, err
	}
	slices.SortStableFunc(found, func(x, y recentSummary) int {
		return cmp.Or(cmp.Compare(x.runtime, y.runtime), y.at.Compare(x.at))
	})
	for i, s := range found {
		if i < recentSummaries || found[i-recentSummaries].runtime != s.runtime {
			doc.Summaries = append(doc.Summaries, "["+s.at.UTC().Format(time.DateOnly)+"] "+s.text)
		}
	}
	return doc, nil
}

// recentOfStores asks the stores whose runtimes start with summaries. What one of them
// keeps is its user's, and no agent's.
func recentOfStores(ctx context.Context, run *workspace.Run, agent agentset.Set, doc *RecentDocument) error {
	stores, err := run.OpenStores()
	if err == nil && len(stores) == 0 && run.Global.Runtime == session.RuntimeYarnnn {
		err = workspace.NoStores(&run.Settings)
	}
	if err != nil || agent != "" {
		return err
	}
	for _, store := range stores {
		reader := store.Capabilities().Recent
		if reader == nil {
			continue
		}
		summaries, err := reader.Recent(ctx, run.Now())
		if errors.Is(err, session.ErrManyUsers) {
			return &failure.Error{Code: "many_users", Exit: failure.ExitUsage, Hint: "say whose with yarnnn.user_id (SESSCTL_YARNNN_USER_ID)", Err: err}
		}
		if err != nil {
			return err
		}
		doc.Summaries = append(doc.Summaries, summaries...)
	}
	return nil
}

// recentKept returns the newest summaries that memory has of sessions, and those that the
// logs have of sessions of which it has none. Those of YARNNN are of its users, whom
// memory does not know apart.
func recentKept(ctx context.Context, run *workspace.Run, agent agentset.Set) (found []recentSummary, err error) {
	store, err := recall.ReadMemory(ctx, run)
	var f *failure.Error
	if err != nil && !(errors.As(err, &f) && f.Code == "no_memory") {
		return nil, err
	}
	if err == nil {
		defer store.Close()
		found, err = recentRemembered(ctx, run, store, agent)
	} else {
		store, err = nil, nil
	}
	if err := errors.Join(err, selection.CheckAgent(ctx, run, store, agent)); err != nil {
		return nil, err
	}
	logs, err := recentSessions(ctx, run, agent, len(found) > 0)
	for _, of := range logs {
		if err != nil {
			break
		}
		var more []recentSummary
		more, err = recentCompacted(ctx, run, store, of)
		found = append(found, more...)
	}
	return slices.DeleteFunc(found, func(s recentSummary) bool { return s.runtime == session.RuntimeYarnnn }), err
}

// recentRemembered returns the newest summaries that memory has.
func recentRemembered(ctx context.Context, run *workspace.Run, store *memory.Store, agent agentset.Set) (found []recentSummary, err error) {
	entries, err := selection.Archived(ctx, run, archive.Filter{Runtime: run.Global.Runtime, Agent: agent})
	if err != nil {
		return nil, err
	}
	var members []string // sessions that nobody talked to
	for _, e := range entries {
		if kind := session.Kind(e.Kind); kind == session.KindSubagent || kind == session.KindOutput {
			members = append(members, e.Session)
		}
	}
	list, damaged, err := store.RecentSummaries(ctx, memory.Query{Runtime: run.Global.Runtime, Agent: agent}, members, recentSummaries)
	if damaged > 0 {
		run.Notice(workspace.Note{Message: wording.Plural(damaged, "record") + " damaged and left out", Hint: "sessctl memory verify says more"})
	}
	for _, r := range list {
		found = append(found, recentSummary{r.Runtime, r.Text, time.UnixMilli(r.CreatedAt)})
	}
	return found, err
}

// recentSessions returns the sessions that people had, by their runtimes, the newest
// first. That there is no store is no error where memory has something.
func recentSessions(ctx context.Context, run *workspace.Run, agent agentset.Set, remembered bool) (map[string][]workspace.Found, error) {
	all, err := run.FindSessions(ctx)
	var f *failure.Error
	if remembered && errors.As(err, &f) && f.Code == "no_store" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	logs := map[string][]workspace.Found{}
	for _, s := range briefable(all.Sessions, BriefOptions{Runtime: run.Global.Runtime, Agent: agent}) {
		if s.Runtime != session.RuntimeYarnnn {
			logs[s.Runtime] = append(logs[s.Runtime], s)
		}
	}
	return logs, nil
}

// recentCompacted returns the newest summaries that logs of one runtime have, of sessions
// that memory has none of.
func recentCompacted(ctx context.Context, run *workspace.Run, store *memory.Store, of []workspace.Found) (found []recentSummary, err error) {
	read := 0
	for _, s := range of {
		if len(found) == recentSummaries {
			return found, nil
		}
		if read == recentLogs {
			run.Notice(workspace.Note{Message: fmt.Sprintf("%s: the newest %d of %d sessions were looked at for a summary of their own", s.Runtime, read, len(of))})
			return found, nil
		}
		summary, logged, err := ownSummary(ctx, run, store, s)
		if err != nil {
			return nil, err
		}
		if logged {
			read++
		}
		if summary.text != "" {
			found = append(found, summary)
		}
	}
	return found, nil
}

// ownSummary is the summary that a log has, if memory has none of its session; logged
// says that it was read.
func ownSummary(ctx context.Context, run *workspace.Run, store *memory.Store, s workspace.Found) (found recentSummary, logged bool, err error) {
	known, err := hasSummary(ctx, store, s)
	if known || err != nil {
		return found, false, err
	}
	found, err = lastCompaction(ctx, s)
	if ctx.Err() == nil && err != nil {
		run.Notice(workspace.Note{Path: s.Path, Message: "it was not looked at for a summary: " + err.Error()})
	}
	return found, true, ctx.Err()
}

// hasSummary reports whether memory has a summary of a session. store may be nil.
func hasSummary(ctx context.Context, store *memory.Store, s workspace.Found) (bool, error) {
	if store == nil {
		return false, nil
	}
	list, _, err := store.RecentSummaries(ctx, memory.Query{Runtime: s.Runtime, Agent: agentset.Of(s.Agent, []agentset.ID{{Runtime: s.Runtime, Agent: s.Agent}}), Session: s.ID}, nil, 1)
	return len(list) > 0, err
}

// lastCompaction is the summary with which the context of a session begins, if it has one.
func lastCompaction(ctx context.Context, s workspace.Found) (found recentSummary, err error) {
	messages, scan, err := replay.Read(ctx, ContextScanner(s), func() (io.ReadCloser, error) { return recall.OpenFound(ctx, s) })
	found = recentSummary{runtime: s.Runtime, at: s.ModTime}
	if scan.Last != 0 {
		found.at = time.UnixMilli(scan.Last)
	}
	if i := slices.IndexFunc(messages, func(m replay.Message) bool { return m.Role == replay.Summary }); i >= 0 {
		found.text = messages[i].Text
	}
	return found, err
}
