package selection

import (
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// CompactOptions are the options of compact.
type CompactOptions struct {
	Agent            agentset.Set
	All              bool
	Session          string
	Threshold        compact.Threshold
	DryRun           bool
	Force            bool
	Clear            bool
	Strategy         string
	SkipSummary      bool
	SkipArchive      bool
	KeepRecentTokens int64
	Focus            string
	Quiet            time.Duration
	Gateway          string
	MaxCalls         int

	// Whether they were given as flags: not as defaults or by the configuration.
	ThresholdAsked, KeepAsked bool
	Agreed                    AgreedSessions
}

// AgreedSessions are the only sessions that a run may change, because a person has
// pointed at one or agreed to a plan. The zero value is those that the options mean.
type AgreedSessions struct {
	Store string   // only sessions of the store with this root
	Path  string   // of the session that was pointed at: only those of its database, if it is in one
	Names []string // only these, see AgreedName
}

// Of leaves out the sessions that nobody has agreed to.
func (g AgreedSessions) Of(sessions []workspace.Found) []workspace.Found {
	if g.Store == "" && g.Path == "" && g.Names == nil {
		return sessions // all are meant: there may be 100,000
	}
	place := g.Store
	if i := slices.IndexFunc(sessions, func(s workspace.Found) bool { return g.Path != "" && s.Path == g.Path }); i >= 0 {
		place = placeOf(sessions[i])
	}
	return slices.DeleteFunc(slices.Clone(sessions), func(s workspace.Found) bool {
		return g.Store != "" && s.Store != g.Store || place != g.Store && placeOf(s) != place ||
			g.Names != nil && !slices.Contains(g.Names, AgreedName(s.Runtime, s.Agent, s.ID, s.Path))
	})
}

// AgreedName tells a session apart from all others: stores of one runtime may hold
// sessions of the same agent and id, as when a home was copied.
func AgreedName(runtime, agent, session, path string) string {
	return strings.Join([]string{runtime, agent, session, path}, "\x00")
}

// Policy is what the options ask of a compaction. For what earlier runs began, their
// quiet period is that of the sessions that they name.
func (o *CompactOptions) Policy(run *workspace.Run) compact.Policy {
	named := func(r session.Rotation) bool {
		return (run.Global.Runtime == "" || r.Runtime == run.Global.Runtime) && o.names(r)
	}
	return compact.Policy{
		Pins:        run.Pins,
		OutputLimit: run.OutputLimit(),
		Off:         !run.Config.Compaction.Enabled,
		DryRun:      o.DryRun, Limits: run.Config.Compaction.Limits(o.Threshold, o.ThresholdAsked), Force: o.Force, SkipArchive: o.SkipArchive, SkipSummary: o.SkipSummary,
		Strategy: session.Strategy(o.Strategy), Quiet: o.Quiet, QuietOf: workspace.QuietWhere(&run.Settings, o.Quiet, named), Asked: o.ThresholdAsked, Requested: !o.All,
		Gateway: compact.GatewayUse(o.Gateway), LongestTurn: run.Config.Compaction.LongestTurn,
		Keep: session.Keep{Tokens: o.KeepRecentTokens},
	}
}

// names reports whether the options mean the session that a change is of.
func (o *CompactOptions) names(r session.Rotation) bool {
	ofAgent := o.Agent.Holds(r.Runtime, r.Agent)
	isKey := func(key string) bool { return strings.EqualFold(key, o.Session) }
	return ofAgent && (o.Session == "" || strings.HasPrefix(r.Session, o.Session) || slices.ContainsFunc(r.Keys, isKey))
}
