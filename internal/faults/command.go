//go:build linux && amd64

package faults

import (
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/crashloop"
)

// Command is one row of the table: something sessctl does to files.
type Command struct {
	Name    string   // in the table
	Runtime string   // of the session: a key of layouts
	Args    []string // of sessctl; $ARCHIVE and $RECEIPT are ids of the prepared home
	Env     []string // further variables; $DIR is the home
	// Prepare brings the home into the state in which the command starts.
	// The files of the runtime are there already.
	Prepare func(*Home) error
	// Done checks what exit 0 has promised. Nothing ran since.
	Done func(*Home) error
	// Settled checks what else must be so after the next runs; nil is nothing.
	Settled func(*Home) error
	// Refusals is what it may say, whatever the exit code, when there is
	// nothing left that it may do.
	Refusals []string
	// Sessions says that the command works on the agent's own files, so that
	// an agent that writes meets it.
	Sessions bool
	// Intends says that it moves the old log aside under a name that it has
	// written down before.
	Intends bool
	// Rested is for how long the log has been left alone when the command
	// starts. One that has settled (session.Settled, two seconds) is read once
	// where others are read twice.
	Rested time.Duration
	// Lacking is what the system does not have.
	Lacking crashloop.Lacking
}

// On returns the command on a system that has less.
func (c Command) On(less System) Command {
	c.Name, c.Lacking = c.Name+", "+less.Name, less.Lacking
	return c
}

// System is one that has less than Linux on a local disk.
type System struct {
	Name    string
	Lacking crashloop.Lacking
}

// Systems lists those that sessctl knows (docs/reliability.md, "Where the
// system gives less").
func Systems() []System {
	return []System{
		{"no leases", crashloop.Lacking{Leases: true}},                                 // as on macOS
		{"no leases, no exchange", crashloop.Lacking{Leases: true, RenameFlags: true}}, // as on a network file system
	}
}

// Commands lists every command that changes files.
func Commands() []Command {
	return slices.Concat(compactions(), undos(), carryings(), archivings(), restores(), prunings(), cleanings(), memories(), extractions())
}

func compactions() []Command {
	const now = " --quiet-period 0s" // the next run is at once, and the log just changed
	compact := func(name, runtime, args string, done func(*Home) error) Command {
		return Command{
			Name: "compact, " + name, Runtime: runtime, Args: strings.Fields("compact --runtime " + runtime + " " + args),
			Done: done, Settled: remembers(Chunks), Sessions: true,
		}
	}
	all := []Command{
		compact("rotate, openclaw", "openclaw", "--force --agent a --strategy rotate", rotated),
		compact("rotate, pi", "pi", "--force --agent work-a --strategy rotate", rotated),
		compact("rotate, agent", "agent", "--force --agent agent --strategy rotate", rotated),
		compact("rotate, annabelle", "annabelle", "--force --agent a --clear", rotated),
		compact("overlay, pi", "pi", "--force --agent work-a --strategy overlay --keep-recent-tokens 10"+now, overlaid),
		compact("overlay, agent", "agent", "--force --agent agent --strategy overlay --keep-recent-tokens 10"+now, overlaid),
		compact("rewrite, annabelle", "annabelle", "--agent a --strategy rewrite"+now, rewritten),
		compact("cleared, macstats", "macstats", "--agent mac-stats --strategy rewrite"+now, cleared),
		compact("rewrite, macstats", "macstats", "--agent mac-stats --strategy rewrite"+now, replaced),
	}
	for i := range 2 {
		all[i].Intends = true
	}
	all[8].Prepare = inUse
	return all
}

// carryings are runs that have nothing else to do than to carry a late line.
// An agent that writes meets the append, which is that of an overlay.
func carryings() []Command {
	carrying := func(runtime, agent string) Command {
		return Command{
			Name: "late lines, " + runtime, Runtime: runtime, Prepare: cameLate, Done: carried,
			Args: []string{"compact", "--runtime", runtime, "--agent", agent},
		}
	}
	return []Command{carrying("openclaw", "a"), carrying("pi", "work-a"), carrying("agent", "agent")}
}

func prunings() []Command {
	const prune = "archive prune --max-age 90d --keep 1 --force --yes"
	return []Command{
		{
			Name: "archive prune", Runtime: "openclaw", Args: strings.Fields(prune),
			Prepare: oldArchives, Done: pruned,
		},
		{
			Name: "archive prune, purge", Runtime: "openclaw", Args: strings.Fields(prune + " --grace 0h"),
			Prepare: oldArchives, Done: pruned,
		},
	}
}

func archivings() []Command {
	return []Command{
		{
			Name: "archive, openclaw", Runtime: "openclaw", Args: []string{"archive", "--agent", "a"},
			Done: archived, Sessions: true,
		},
		{
			Name: "archive, pi, zstd", Runtime: "pi", Args: []string{"archive", "--runtime", "pi", "--agent", "work-a"},
			Env: []string{"SESSCTL_ARCHIVE_COMPRESSION=zstd"}, Done: archived, Sessions: true,
		},
		{
			Name: "archive, log left alone", Runtime: "openclaw", Args: []string{"archive", "--agent", "a"},
			Done: archived, Sessions: true, Rested: 2100 * time.Millisecond,
		},
	}
}

func memories() []Command {
	command := func(name, args string, prepare func(*Home) error, chunks int) Command {
		return Command{
			Name: name, Runtime: "openclaw", Args: strings.Fields(args), Prepare: prepare,
			Done: func(*Home) error { return nil }, Settled: remembers(chunks),
			Refusals: []string{"no such record", "no memory yet"},
		}
	}
	all := []Command{
		command("memory reindex", "memory reindex", compacted, Chunks),
		command("memory reindex, memory gone", "memory reindex --from-archives", forgotten, Chunks),
		command("memory reindex, memory damaged", "memory reindex --from-archives", damaged, Chunks),
		command("memory forget", "memory forget --agent a --yes", compacted, 0),
	}
	all[3].Settled = forgot
	return all
}
