package cmd

import (
	"context"
	"errors"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/tui"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/browse"
	"github.com/spf13/pflag"
)

// load reads everything that can be browsed and hands it to show: first what a
// listing says, then with the contexts measured and the archives.
func (b *browser) load(ctx context.Context, show func(browse.Home)) error {
	own := b.piece(func(any) {})
	defer workspace.End(own.Run)
	selection.OpenTailCache(own.Run, true)
	own.EndsLater = own.TailCache.Empty() // the tree is not to wait for them
	home := browse.Home{Now: own.Now(), Into: steps.IntoRuntimes()}
	all, notices, err := own.ListStores(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	own.ShowOdd(notices)
	own.TellUnread(workspace.UnreadRows(own.UnreadOf(all)))
	all.Sessions = all.Readable()
	if err == nil {
		all, err = selection.Of(all, b.options.Agent)
	}
	if err != nil {
		failure := tui.FailureOf(err)
		home.Problem, home.Hint = failure.Message, failure.Hint
	}
	home.Sessions = tui.ListedSessions(all.Sessions)
	show(home)
	if own.EndsLater {
		selection.ReadEnds(ctx, own.Run)
	}
	measured, err := measureListed(ctx, own, all)
	if err != nil {
		return err
	}
	home.Sessions = measured
	if err := errors.Join(tui.AddArchives(ctx, own.Run, &home, b.options.Agent), tui.AddPins(ctx, own.Run, &home), tui.AddTrash(own.Run, &home)); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		own.Notice(workspace.Note{Message: err.Error(), Hint: failure.Explain(err).Hint})
	}
	tui.NameProjects(ctx, own.Run, &home)
	for _, n := range own.Notes {
		text := n.Text()
		if n.Hint != "" {
			text += " (" + n.Hint + ")"
		}
		home.Notes = append(home.Notes, text)
	}
	home.Complete = true
	show(home)
	return nil
}

// measureListed measures the contexts of sessions, as `sizes --all` does.
func measureListed(ctx context.Context, a *app, all workspace.Inventory) ([]browse.Session, error) {
	var o selection.SizesOptions
	if _, err := optionsOf(a, func(fs *pflag.FlagSet) { addSizesFlags(&o, fs) }, steps.StepFlags{"--all"}); err != nil {
		return nil, err
	}
	rows, err := selection.MeasureAll(ctx, a.Run, all.Sessions, selection.InDatabase(all), o)
	if err != nil {
		return nil, err
	}
	selection.SaveTailCache(a.Run)
	sessions := make([]browse.Session, len(rows))
	for i, row := range rows {
		cells := selection.SizesCells(&a.Run.Settings, row)
		s := browse.Session{
			Runtime: row.Runtime, Agent: row.Agent, ID: row.Session, Name: row.Name(), Title: row.Title, Store: all.Sessions[i].Store, Path: row.Path, Place: a.Tilde(row.Path),
			State: cells[len(cells)-1], Warn: row.Over || row.Unreadable, Bytes: row.Bytes, Tokens: row.Tokens, Measured: !row.Unreadable, Used: row.Last, Beside: !workspace.Shown(all.Sessions[i].Kind),
		}
		if all.Sessions[i].Kind.Closed() { // nobody goes on with it: it has no context
			s.State, s.Warn, s.Tokens, s.Closed = tui.ListedState(all.Sessions[i].Ref), row.Unreadable, 0, true
		}
		sessions[i] = s
	}
	return sessions, nil
}

// undoable lists what can be undone.
func (b *browser) undoable(ctx context.Context, of browse.Target) ([]browse.Doing, error) {
	own := b.piece(func(any) {})
	defer workspace.End(own.Run)
	return tui.Undoable(ctx, own.Run, of)
}

// isCanceled reports work that was broken off.
func isCanceled(err error) bool { return errors.Is(err, context.Canceled) }
