package cmd

import (
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/hooks"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
	"github.com/sessctl/sessctl/pkg/operate/schedule"
	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completer offers values for a flag or an argument. c has parsed the flags that
// were typed so far. It changes nothing and says nothing: what cannot be read
// offers nothing.
type completer func(a *app, c *cobra.Command) []candidate

// completeFlags says what is offered for every flag that takes a value. A key
// is a flag, or a command and a flag where that means something else there.
func completeFlags() map[string]completer {
	return map[string]completer{
		"agent": completeAgents, "session": completeSessions, "runtime": words(runtimeList()...), "store": completeStores,
		"undo": completeReceipts, "archive prune undelete": completeTrashedArchives, "clean undelete": completeTrashedSessions, "give-up": completeUnfinished,
		"recall session": completeRemembered, "memory forget session": completeRemembered, "memory export session": completeRemembered,
		"sort": words("tokens", "bytes", "age", "agent"), "strategy": words(strategyNames()...), "gateway": words("auto", "never", "require"),
		"rank": words("hybrid", "text", "vector", "seed"), "category": words(recallCategories()[1:]...), "kind": words(strings.Split(kindNames(), ", ")...), "recall kind": words(append(strings.Split(kindNames(), ", "), kindWork)...),
		"replay-context format": words(formatNames()...), "memory export format": words("jsonl", "arrow"), "model": completeModels,
		"since": words("1d", "7d", "30d"), "until": words("1d", "7d", "30d"), "max-age": words("7d", "30d", "90d"), "older-than": words("30d", "60d", "90d"), "shrink": words(shrinkReport, shrinkSessions, shrinkJournal, shrinkVacuum), "local-keep": words("7d", "30d", "90d"), "grace": words("7d", "30d"), "lock-wait": words("1m", "10m", "1h"), "interval": words("1m", "5m", "1h"), "listen": words("127.0.0.1:7433", "unix:"),
		"host": completeHosts, "manager": words(managerNames()...), "every": words("5m", "30m", "1h", "6h", "1d"), "on-calendar": words("hourly", "daily", "weekly", "*-*-* 03:00"), "program": nil,
		"state": words(eventStates()...), "type": words(outbox.Types()...),
		"config": nil, "pprof": nil, "data-dir": nil, "to": nil, "output": nil, "file": nil, "check": nil, "textfile": nil, "html": nil, "tls-cert": nil, "tls-key": nil, // files
		"memory forget text": nil,
	}
}

// completeArguments says what is offered for the arguments of a command.
func completeArguments() map[string]completer {
	return map[string]completer{
		"schedule install": completeSchedules, "schedule show": completeSchedules, "schedule remove": completeSchedules,
		"hook install": words(hooks.Names()...), "hook remove": words(hooks.Names()...), "hook run": words(hooks.Names()...),
		"archive show": completeArchives, "archive restore": completeArchives, "archive verify": completeArchives, "archive upload": completeArchives,
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
			if strings.HasPrefix(x.id, word) && visible(x.id) == x.id && !seen[x.id] {
				seen[x.id] = true
				all = append(all, cobra.CompletionWithDesc(x.id, visible(x.what)))
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

func words(names ...string) completer {
	return func(*app, *cobra.Command) (all []candidate) {
		for _, name := range names {
			all = append(all, candidate{id: name})
		}
		return all
	}
}

func formatNames() (names []string) {
	for _, f := range replay.Formats() {
		names = append(names, string(f))
	}
	return names
}

// scopeOf is what --agent and --runtime say so far.
func scopeOf(a *app, c *cobra.Command) scope {
	agent, _ := c.Flags().GetString("agent") // "" where there is no such flag
	return scope{a.global.Runtime, agent}
}

func completeAgents(a *app, c *cobra.Command) (all []candidate) {
	if live, _, err := a.listStores(c.Context()); err == nil {
		for _, o := range live.owners {
			all = append(all, candidate{o.agent, o.runtime})
		}
	}
	entries, _ := a.archived(c.Context(), archive.Filter{Runtime: a.global.Runtime})
	for _, e := range entries {
		all = append(all, candidate{e.Agent, e.Runtime + ", archived"})
	}
	return all
}

func completeSessions(a *app, c *cobra.Command) (all []candidate) {
	live, _, err := a.listStores(c.Context())
	if err != nil {
		return nil
	}
	of := scopeOf(a, c)
	for _, s := range live.sessions {
		if shown(s.Kind) && of.holds(s.Runtime, s.Agent) {
			all = append(all, candidate{s.ID, fmt.Sprintf("%s, %s, %s, %s ago", s.Agent, s.Runtime, formatBytes(s.Bytes), formatAge(a.now().Sub(s.ModTime)))})
		}
	}
	return all
}

// completePins offers sessions to pin, or with --remove those that are pinned.
func completePins(a *app, c *cobra.Command) (all []candidate) {
	if remove, _ := c.Flags().GetBool("remove"); !remove {
		return completeSessions(a, c)
	}
	known, err := a.readPinned()
	if err != nil {
		return nil
	}
	for _, s := range known.Sessions {
		if scopeOf(a, c).holds(s.Runtime, s.Agent) {
			all = append(all, candidate{s.Session, s.Agent + ", " + s.Runtime})
		}
	}
	return all
}

func completeRemembered(a *app, c *cobra.Command) []candidate {
	store, err := memory.Open(c.Context(), a.memoryDir(), memory.Options{NoTrace: true})
	if err != nil {
		return nil
	}
	defer store.Close()
	all, err := a.storedSessions(c.Context(), store, scopeOf(a, c))
	if err != nil {
		return nil
	}
	return all
}

func completeModels(a *app, c *cobra.Command) (all []candidate) {
	store, err := memory.Open(c.Context(), a.memoryDir(), memory.Options{NoTrace: true})
	if err != nil {
		return nil
	}
	defer store.Close()
	stats, err := store.Stats(c.Context())
	if err != nil {
		return nil
	}
	for _, m := range stats.Models {
		all = append(all, candidate{m.Name, plural(m.Vectors, "vector")})
	}
	return all
}

func completeArchives(a *app, c *cobra.Command) (all []candidate) {
	agent := scopeOf(a, c).agent
	entries, err := a.archived(c.Context(), archive.Filter{Runtime: a.global.Runtime, Agent: agent})
	if err != nil {
		return nil
	}
	for _, e := range entries {
		all = append(all, archiveCandidate(e))
	}
	return all
}

func completeReceipts(a *app, _ *cobra.Command) (all []candidate) {
	receipts, _, err := a.receipts().Examine()
	if err != nil {
		return nil
	}
	undone := compact.UndoneBy(receipts)
	for _, r := range receipts {
		if row := receiptRow(r, undone[r.ID].ID); row.Undo != "" {
			all = append(all, candidate{shortReceipt(r.ID), r.Agent + ", " + shownTime(row.At)})
		}
	}
	return all
}

func completeTrashedSessions(a *app, _ *cobra.Command) []candidate {
	all := []candidate{{"all", "everything in the trash"}}
	items, _ := a.sessionTrash().List()
	for _, item := range items {
		if s, err := retention.SessionOf(item); err == nil {
			all = append(all, candidate{s.Session, s.Agent + ", " + s.Runtime})
		}
	}
	return all
}

func completeTrashedArchives(a *app, _ *cobra.Command) (all []candidate) {
	items, _ := a.archiveTrash().List()
	for _, item := range items {
		all = append(all, candidate{item.ID, a.tilde(item.From)})
	}
	return all
}

// completeUnfinished offers the changes that earlier runs have begun.
func completeUnfinished(a *app, _ *cobra.Command) (all []candidate) {
	intents, _, err := compact.Journal{Dir: a.journalDir()}.Examine()
	if err != nil {
		return nil
	}
	for _, in := range intents {
		all = append(all, candidate{in.ID, in.String()})
	}
	return all
}

// completeSchedules offers what can be scheduled.
func completeSchedules(a *app, c *cobra.Command) []candidate {
	return append(completeProfiles(a, c), candidate{schedule.Monitor, "looks at all sessions"})
}

// completeStores offers the stores that are found, as --store takes them.
func completeStores(a *app, _ *cobra.Command) (all []candidate) {
	for _, kind := range runtimes() {
		if kind.remote {
			continue
		}
		for _, root := range kind.roots(a.home(), a.getenv, a.config) {
			all = append(all, candidate{id: kind.name + "=" + root})
		}
	}
	return all
}
