package cmd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sessctl/sessctl/pkg/facts"
)

type factsOptions struct {
	Agent, Session, File string
	All, Archived        bool
	Max, Last            int
	MinConfidence        float64
	Idle                 time.Duration
	MaxCalls             int
	DryRun, Force        bool
	Lines                bool

	List       bool
	Kind       string
	Superseded bool
}

func (o *factsOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Agent, "agent", "", "the sessions of this `agent`")
	fs.BoolVar(&o.All, "all", false, "the sessions of every agent that is found")
	fs.StringVar(&o.Session, "session", "", "only this session (`id` or key)")
	fs.StringVar(&o.File, "file", "", "any session `file` of any runtime; its facts are stored if it is known whose it is, or with --agent")
	fs.BoolVar(&o.Archived, "archived", false, "look at archives instead: the newest of each session that is meant")
	fs.IntVar(&o.Max, "max", facts.DefaultMost, "store at most `n` new facts of a session, the surest (0: no limit)")
	fs.IntVar(&o.Last, "last", facts.DefaultMessages, "look at the last `n` messages of a session (0: all)")
	fs.Float64Var(&o.MinConfidence, "min-confidence", facts.DefaultConfidence, "store facts of at least this `confidence`, 0 to 1")
	fs.DurationVar(&o.Idle, "idle", 5*time.Minute, "leave sessions for later that changed within this `duration`")
	fs.IntVar(&o.MaxCalls, "max-llm-calls", 0, "ask models at most so many `times` in this run (default 50)")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print what would be stored and change nothing; no model is asked")
	fs.BoolVar(&o.Force, "force", false, "look again at sessions that were looked at")
	fs.BoolVar(&o.Lines, "jsonl", false, "print one JSON object a fact and nothing else")
	fs.BoolVar(&o.List, "list", false, "print the facts that are known")
	fs.StringVar(&o.Kind, "kind", "", "with --list: only facts of this `kind`: "+kindNames())
	fs.BoolVar(&o.Superseded, "superseded", false, "with --list: also facts that newer ones have superseded")
	fromConfig(fs, "max-llm-calls", "llm.max_calls")
}

func kindNames() string {
	var names []string
	for _, k := range facts.Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

func checkKind(kind string) error {
	if kind != "" && !slices.Contains(facts.Kinds(), facts.Kind(kind)) {
		return usageError("kinds: "+kindNames(), "unknown kind of facts %q", kind)
	}
	return nil
}

func (o *factsOptions) validate() error {
	const see = "see sessctl extract-facts --help"
	switch {
	case o.List && (o.File != "" || o.DryRun || o.Force || o.Archived):
		return usageError(see, "--list goes with --agent, --session, --kind and --superseded only")
	case o.List:
		return checkKind(o.Kind)
	case o.Kind != "" || o.Superseded:
		return usageError(see, "--kind and --superseded go with --list")
	case o.Agent == "" && !o.All && o.Session == "" && o.File == "":
		return usageError("name an agent, or use --all; sessctl sizes shows the agents there are", "which sessions? --agent, --all, --session or --file is needed")
	case o.All && (o.Agent != "" || o.Session != "" || o.File != "") || o.File != "" && (o.Session != "" || o.Archived):
		return usageError(see, "of --all, --session and --file only one can be meant")
	case o.Max < 0 || o.Last < 0 || o.MaxCalls < 0 || o.Idle < 0:
		return usageError(see, "--max, --last, --idle and --max-llm-calls must not be negative")
	case !(o.MinConfidence >= 0 && o.MinConfidence <= 1):
		return usageError(see, "--min-confidence must be from 0 to 1, not %v", o.MinConfidence)
	}
	return nil
}

// most is how many new facts of a session are stored; -1 for all.
func (o *factsOptions) most() int {
	if o.Max == 0 {
		return -1
	}
	return o.Max
}

func newExtractFactsCommand(a *app) *cobra.Command {
	var o factsOptions
	c := &cobra.Command{
		Use:   "extract-facts",
		Short: "Remember what people said about themselves, their work and decisions",
		Long: fmt.Sprintf(`Find facts in what was said and store them in memory: preference, background,
pattern, project, contact and decision. Only what is said outright becomes a fact
("my name is", "I prefer", "we decided"); each has the line of the log and the
words that say so. With facts.provider a model finds more, and every fact of it
is held against the conversation. What looks like a secret is never a fact.

The last %d messages of a session are looked at once it has been idle for five
minutes, and again when it has gone on. What is known is not stored again; what
has changed supersedes the older fact, which is kept. Sessions are only read.
Facts are found with "sessctl recall --category fact" and listed with --list.
`, facts.DefaultMessages) + exitHelp,
		Example: `  sessctl extract-facts --agent coordinator --dry-run
  sessctl extract-facts --all
  sessctl extract-facts --file session.jsonl --last 0 --max 0 --dry-run
  sessctl extract-facts --list --kind contact --jsonl
  sessctl recall --category fact "where does the user live"`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			if o.List {
				return runListFacts(c.Context(), a, o)
			}
			return runExtractFacts(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}
