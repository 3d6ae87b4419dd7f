package cmd

import (
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/unattended"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/exchange"
	"github.com/sessctl/sessctl/pkg/hooks"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
	"github.com/sessctl/sessctl/pkg/operate/schedule"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completer offers values for a flag or an argument. c has parsed the flags that
// were typed so far. It changes nothing and says nothing: what cannot be read
// offers nothing.
type completer func(a *app, c *cobra.Command) []selection.Candidate

// completeFlags says what is offered for every flag that takes a value. A key
// is a flag, or a command and a flag where that means something else there.
func completeFlags() map[string]completer {
	return map[string]completer{
		"agent": completeAgents, "session": completeSessions, "runtime": words(workspace.RuntimeList()...), "store": completeStores, "only-store": completeStores,
		"archives prune undelete": completeTrashedArchives, "clean undelete": completeTrashedSessions, "give-up": completeUnfinished,
		"recall session": completeRemembered, "memory forget session": completeRemembered, "memory export session": completeRemembered,
		"sort": words("tokens", "bytes", "age", "agent"), "strategy": words(steps.StrategyNames()...), "gateway": words("auto", "never", "require"),
		"rank": words("hybrid", "text", "vector", "seed"), "category": words(recall.Categories()[1:]...), "kind": words(strings.Split(recall.KindNames(), ", ")...), "recall kind": words(append(strings.Split(recall.KindNames(), ", "), recall.KindWork)...),
		"replay-context format": words(formatNames()...), "memory export format": words("jsonl", "arrow"), "prove format": words("jsonl", "in-toto"), "model": completeModels,
		"since": words("1d", "7d", "30d"), "until": words("1d", "7d", "30d"), "max-age": words("7d", "30d", "90d"), "older-than": words("30d", "60d", "90d"), "local-keep": words("7d", "30d", "90d"), "grace": words("7d", "30d"), "lock-wait": words("1m", "10m", "1h"), "read-data": words("true", "false", "10%"), "interval": words("1m", "5m", "1h"), "listen": words("127.0.0.1:7433", "unix:"),
		"host": completeHosts, "manager": words(unattended.ManagerNames()...), "every": words("5m", "30m", "1h", "6h", "1d"), "on-calendar": words("hourly", "daily", "weekly", "*-*-* 03:00"), "program": nil,
		"action": words("compacted", "remembered", "archived", "undone", "trash", "purge", "undelete", "restore"), "state": words(audit.EventStates()...), "type": words(outbox.Types()...),
		"config": nil, "pprof": nil, "data-dir": nil, "to": nil, "output": nil, "file": nil, "check": nil, "head": nil, "textfile": nil, "html": nil, "tls-cert": nil, "tls-key": nil, // files
		"memory forget text": nil, "cwd": nil, "server": nil, "database": nil, "on": nil, // names
		"in": words(steps.IntoRuntimes()...), "tools": words("mixed", "mapped", "text"), "images": words(steps.ImagesAll, steps.ImagesNone),
	}
}

// completeArguments says what is offered for the arguments of a command.
func completeArguments() map[string]completer {
	return map[string]completer{
		"schedule install": completeSchedules, "schedule show": completeSchedules, "schedule remove": completeSchedules,
		"hook install": words(hooks.Names()...), "hook remove": words(hooks.Names()...), "hook run": words(hooks.Names()...),
		"archives show": completeArchives, "restore": completeArchives, "archives verify": completeArchives, "archives upload": completeArchives,
		"continue": completeSessions, "undo": completeReceipts, "shrink": words(removal.Shrinkable()...),
		"run": completeProfiles, "schedule failed": completeProfiles,
		"pin": completePins, "events show": completeEvents, "events retry": completeEvents, "events test": completeTargets,
	}
}

// addCompletions tells cobra what to offer, for every command below root. Where
// nothing is known of a value, no files are offered either.
func (a *app) addCompletions(c *cobra.Command) {
	path := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), c.Root().Name()), " ")
	flags, arguments := completeFlags(), completeArguments()
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { a.addFlagCompletion(c, f, path, flags) })
	if !c.HasParent() {
		c.PersistentFlags().VisitAll(func(f *pflag.Flag) { a.addFlagCompletion(c, f, path, flags) })
	}
	if c.ValidArgsFunction == nil {
		c.ValidArgsFunction = cobra.NoFileCompletions
		if offer := arguments[path]; offer != nil {
			c.ValidArgsFunction = a.offering(offer)
		}
	}
	for _, below := range c.Commands() {
		a.addCompletions(below)
	}
}

func (a *app) addFlagCompletion(c *cobra.Command, f *pflag.Flag, path string, flags map[string]completer) {
	if f.Value.Type() == "bool" {
		return
	}
	offer, known := flags[path+" "+f.Name]
	if !known {
		offer, known = flags[f.Name]
	}
	if known && offer == nil {
		return // the shell's own completion of files
	}
	complete := cobra.NoFileCompletions
	if known {
		complete = a.offering(offer)
	}
	if err := c.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
		panic(err) // a flag that is registered twice in the source
	}
}

// offering reads the configuration with the flags that are typed, and offers
// what begins with the word that is completed.
func (a *app) offering(offer completer) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if a.loadConfig(c) != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var all []cobra.Completion
		seen := map[string]bool{}
		for _, x := range offer(a, c) {
			if strings.HasPrefix(x.ID, word) && wording.Visible(x.ID) == x.ID && !seen[x.ID] {
				seen[x.ID] = true
				all = append(all, cobra.CompletionWithDesc(x.ID, wording.Visible(x.What)))
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

func words(names ...string) completer {
	return func(*app, *cobra.Command) (all []selection.Candidate) {
		for _, name := range names {
			all = append(all, selection.Candidate{ID: name})
		}
		return all
	}
}

func formatNames() (names []string) {
	for _, f := range exchange.Formats() {
		names = append(names, string(f))
	}
	return names
}

// scopeOf is what --agent and --runtime say so far.
func scopeOf(a *app, c *cobra.Command) selection.Scope {
	agent, _ := c.Flags().GetString("agent") // "" where there is no such flag
	if agent == "" || a.Global.Runtime != "" {
		return selection.Scope{Runtime: a.Global.Runtime, Agent: agentset.Named(agent)}
	}
	return selection.Scope{Agent: selection.AgentsMeant(c.Context(), a.Run, agent)}
}

func completeAgents(a *app, c *cobra.Command) (all []selection.Candidate) {
	if live, _, err := a.ListStores(c.Context()); err == nil {
		for _, o := range live.Owners {
			all = append(all, selection.Candidate{ID: o.Agent, What: o.Runtime})
		}
	}
	entries, _ := selection.Archived(c.Context(), a.Run, archive.Filter{Runtime: a.Global.Runtime})
	for _, e := range entries {
		all = append(all, selection.Candidate{ID: e.Agent, What: e.Runtime + ", archived"})
	}
	return all
}

func completeSessions(a *app, c *cobra.Command) (all []selection.Candidate) {
	live, _, err := a.ListStores(c.Context())
	if err != nil {
		return nil
	}
	of := scopeOf(a, c)
	for _, s := range live.Sessions {
		if workspace.Shown(s.Kind) && of.Holds(s.Runtime, s.Agent) {
			all = append(all, selection.Candidate{ID: s.ID, What: fmt.Sprintf("%s, %s, %s, %s ago", s.Agent, s.Runtime, wording.Bytes(s.Bytes), wording.Age(a.Now().Sub(s.ModTime)))})
		}
	}
	return all
}

// completePins offers sessions to pin, or with --remove those that are pinned.
func completePins(a *app, c *cobra.Command) (all []selection.Candidate) {
	if remove, _ := c.Flags().GetBool("remove"); !remove {
		return completeSessions(a, c)
	}
	known, err := removal.ReadPinned(c.Context(), a.Run)
	if err != nil {
		return nil
	}
	for _, s := range known.Sessions {
		if scopeOf(a, c).Holds(s.Runtime, s.Agent) {
			all = append(all, selection.Candidate{ID: s.Session, What: s.Agent + ", " + s.Runtime})
		}
	}
	return all
}

func completeRemembered(a *app, c *cobra.Command) []selection.Candidate {
	store, err := memory.Open(c.Context(), a.MemoryDir(), memory.Options{NoTrace: true})
	if err != nil {
		return nil
	}
	defer store.Close()
	all, err := selection.StoredSessions(c.Context(), a.Run, store, scopeOf(a, c))
	if err != nil {
		return nil
	}
	return all
}

func completeModels(a *app, c *cobra.Command) (all []selection.Candidate) {
	store, err := memory.Open(c.Context(), a.MemoryDir(), memory.Options{NoTrace: true})
	if err != nil {
		return nil
	}
	defer store.Close()
	stats, err := store.Stats(c.Context())
	if err != nil {
		return nil
	}
	for _, m := range stats.Models {
		all = append(all, selection.Candidate{ID: m.Name, What: wording.Plural(m.Vectors, "vector")})
	}
	return all
}

func completeArchives(a *app, c *cobra.Command) (all []selection.Candidate) {
	agent := scopeOf(a, c).Agent
	entries, err := selection.Archived(c.Context(), a.Run, archive.Filter{Runtime: a.Global.Runtime, Agent: agent})
	if err != nil {
		return nil
	}
	for _, e := range entries {
		all = append(all, selection.ArchiveCandidate(e))
	}
	return all
}

func completeReceipts(a *app, _ *cobra.Command) (all []selection.Candidate) {
	receipts, _, err := a.Receipts().Examine()
	if err != nil {
		return nil
	}
	undone := compact.UndoneBy(receipts)
	for _, r := range receipts {
		if row := audit.ReceiptRow(r, undone[r.ID].ID); row.Undo != "" {
			all = append(all, selection.Candidate{ID: selection.ShortReceipt(r.ID), What: r.Agent + ", " + wording.ShownTime(row.At)})
		}
	}
	return all
}

func completeTrashedSessions(a *app, _ *cobra.Command) []selection.Candidate {
	all := []selection.Candidate{{ID: "all", What: "everything in the trash"}}
	items, _ := a.SessionTrash().List()
	for _, item := range items {
		if s, err := retention.SessionOf(item); err == nil {
			all = append(all, selection.Candidate{ID: s.Session, What: s.Agent + ", " + s.Runtime})
		}
	}
	return all
}

func completeTrashedArchives(a *app, _ *cobra.Command) (all []selection.Candidate) {
	items, _ := a.ArchiveTrash().List()
	for _, item := range items {
		all = append(all, selection.Candidate{ID: item.ID, What: a.Tilde(item.From)})
	}
	return all
}

// completeUnfinished offers the changes that earlier runs have begun.
func completeUnfinished(a *app, _ *cobra.Command) (all []selection.Candidate) {
	intents, _, err := compact.Journal{Dir: a.JournalDir()}.Examine()
	if err != nil {
		return nil
	}
	for _, in := range intents {
		all = append(all, selection.Candidate{ID: in.ID, What: in.String()})
	}
	return all
}

// completeSchedules offers what can be scheduled.
func completeSchedules(a *app, c *cobra.Command) []selection.Candidate {
	return append(completeProfiles(a, c), selection.Candidate{ID: schedule.Monitor, What: "looks at all sessions"})
}

// completeStores offers the stores that are found, as --store takes them.
func completeStores(a *app, _ *cobra.Command) (all []selection.Candidate) {
	for _, kind := range workspace.Runtimes() {
		if kind.Remote {
			continue
		}
		for _, root := range kind.Roots(a.Home(), a.Getenv, a.Config) {
			all = append(all, selection.Candidate{ID: kind.Name + "=" + root})
		}
	}
	return all
}
