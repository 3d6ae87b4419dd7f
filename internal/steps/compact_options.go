package steps

import (
	"context"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// StrategyNames are the strategies a person can ask for.
func StrategyNames() []string {
	return []string{string(session.StrategyRotate), string(session.StrategyOverlay), string(session.StrategyRewrite), string(session.StrategyTrim)}
}

// ValidateCompact refuses options that contradict each other.
func ValidateCompact(o *selection.CompactOptions) error {
	const see = "see sessctl compact --help"
	switch {
	case o.Agent == "" && !o.All && o.Session == "":
		return failure.Usage("name an agent, or use --all; sessctl sizes shows the agents there are", "which session? --agent, --all or --session is needed")
	case o.All && (o.Agent != "" || o.Session != ""):
		return failure.Usage(see, "--all goes with neither --agent nor --session")
	case o.Clear && o.Strategy != string(session.StrategyRotate):
		return failure.Usage(see, "--clear goes with no other strategy")
	case o.Strategy != "" && !slices.Contains(StrategyNames(), o.Strategy):
		return failure.Usage("strategies: "+strings.Join(StrategyNames(), ", "), "--strategy: unknown strategy %q", o.Strategy)
	case !slices.Contains([]compact.GatewayUse{compact.GatewayAuto, compact.GatewayNever, compact.GatewayRequire}, compact.GatewayUse(o.Gateway)):
		return failure.Usage("auto asks a running gateway, never leaves its sessions alone, require changes nothing without one", "--gateway: unknown use of the gateway %q", o.Gateway)
	case o.MaxCalls < 0:
		return failure.Usage("0 asks none: summaries are extractive", "--max-llm-calls must not be negative")
	case o.KeepRecentTokens < 0:
		return failure.Usage(see, "--keep-recent-tokens must not be negative")
	case o.KeepAsked && o.Strategy == string(session.StrategyRotate):
		return failure.Usage("rotate starts a fresh session; its log stays in the archive", "--keep-recent-tokens does not go with the strategy rotate")
	case o.SkipSummary && session.Strategy(o.Strategy) != session.StrategyRotate && o.Strategy != "":
		return failure.Usage("the summary takes the place of what is cut away", "--skip-summary does not go with the strategy %s", o.Strategy)
	}
	return nil
}

// ResolveSession puts whole ids in the place of what was typed.
func ResolveSession(ctx context.Context, run *workspace.Run, o *selection.CompactOptions, receipts []compact.Receipt) (err error) {
	if err := selection.CheckAgent(ctx, run, nil, o.Agent); err != nil {
		return err
	}
	sessions := make([]archive.Meta, 0, len(receipts))
	for _, r := range receipts {
		sessions = append(sessions, archive.Meta{Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Key: r.Key})
	}
	o.Session, err = selection.KnownSession(sessions, o.Session, selection.Scope{Runtime: run.Global.Runtime, Agent: o.Agent})
	return err
}

// Wants reports whether a receipt is about a session that the options mean.
func Wants(a *workspace.Settings, o selection.CompactOptions, r compact.Receipt) bool {
	return o.Agent.Holds(r.Runtime, r.Agent) && (a.Global.Runtime == "" || r.Runtime == a.Global.Runtime) &&
		(o.Session == "" || r.Session == o.Session || r.Key == o.Session)
}
