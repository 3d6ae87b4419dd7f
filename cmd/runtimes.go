package cmd

import (
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/agent"
	"github.com/sessctl/sessctl/pkg/session/annabelle"
	"github.com/sessctl/sessctl/pkg/session/claude"
	"github.com/sessctl/sessctl/pkg/session/codex"
	"github.com/sessctl/sessctl/pkg/session/gemini"
	"github.com/sessctl/sessctl/pkg/session/macstats"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/pi"
	"github.com/sessctl/sessctl/pkg/session/yarnnn"
)

// runtimeKind is one runtime that this program can open stores of.
type runtimeKind struct {
	name  string
	roots func(home string, getenv func(string) string, c config) []string
	open  func(root string, c config) session.Store
	// remote says that a root is no directory.
	remote bool
}

// runtimes is the list of runtimes, in the order they are shown.
func runtimes() []runtimeKind {
	return []runtimeKind{
		{name: session.RuntimeOpenClaw, roots: onDisk(openclaw.Roots), open: openOpenClaw},
		{name: session.RuntimePi, roots: onDisk(pi.Roots), open: func(root string, _ config) session.Store { return pi.Open(root) }},
		{name: session.RuntimeAgent, roots: onDisk(agent.Roots), open: openAgent},
		{name: session.RuntimeAnnabelle, roots: onDisk(annabelle.Roots), open: openAnnabelle},
		{name: session.RuntimeMacStats, roots: onDisk(macstats.Roots), open: func(root string, c config) session.Store {
			return macstats.Open(root, macstats.Options{LessonsAgent: c.MacStats.LessonsAgent})
		}},
		{name: session.RuntimeCodex, roots: onDisk(codex.Roots), open: func(root string, _ config) session.Store { return codex.Open(root) }},
		{name: session.RuntimeClaude, roots: onDisk(claude.Roots), open: func(root string, _ config) session.Store { return claude.Open(root) }},
		{name: session.RuntimeGemini, roots: onDisk(gemini.Roots), open: func(root string, _ config) session.Store { return gemini.Open(root) }},
		{name: session.RuntimeYarnnn, roots: databases, remote: true, open: openYarnnn},
	}
}

// onDisk finds roots that no configuration names.
func onDisk(roots func(home string, getenv func(string) string) []string) func(string, func(string) string, config) []string {
	return func(home string, getenv func(string) string, _ config) []string { return roots(home, getenv) }
}

// databases are the databases that the configuration names.
func databases(_ string, _ func(string) string, c config) []string {
	if c.Yarnnn.DSN == "" {
		return nil
	}
	return []string{c.Yarnnn.DSN}
}

func openOpenClaw(root string, c config) session.Store {
	return openclaw.OpenWith(root, openclaw.Options{Command: c.OpenClaw.Command})
}

func openAgent(root string, c config) session.Store {
	return agent.Open(root, agent.Options{
		ReserveTokens: c.Compaction.Reserve, KeepRecentTokens: c.Compaction.Keep, ContextWindow: c.Compaction.Window,
	})
}

func openAnnabelle(root string, c config) session.Store {
	o := c.Annabelle
	return annabelle.Open(root, annabelle.Options{
		ThresholdChars: o.ThresholdChars, MinTurns: o.MinTurns, Cooldown: o.Cooldown, KeepRecentTurns: o.KeepRecentTurns,
	})
}

func openYarnnn(dsn string, c config) session.Store {
	o := c.Yarnnn
	return yarnnn.Open(dsn, yarnnn.Options{Inactivity: o.Inactivity, UserMessages: o.UserMessages, User: o.UserID})
}

func runtimeNames() string {
	var names []string
	for _, k := range runtimes() {
		names = append(names, k.name)
	}
	return strings.Join(names, ", ")
}
