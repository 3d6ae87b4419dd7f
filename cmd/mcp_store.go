package cmd

import (
	"cmp"
	"context"
	"io"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/mcptool"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory"
)

func (s *mcpServer) store(ctx context.Context, in mcptool.StoreInput) (string, error) {
	of, err := s.confined(ctx, in.Agent)
	if err != nil {
		return "", err
	}
	words, redacted, err := in.Words()
	if err != nil {
		return "", err
	}
	a := s.request(io.Discard, of)
	defer workspace.CloseStores(a.Run)
	a.Global.LockWait = cmp.Or(a.Global.LockWait, jobLockWait)
	from, asking, err := s.storingFor(ctx, a.Run, of)
	if err != nil {
		return "", err
	}
	if asking != nil {
		redacted += mcptool.RedactKnown(ctx, a.Run, *asking, &words)
	}
	words.Runtime, words.Agent, words.Session = from.Runtime, from.Agent, from.Session
	words.Returned, words.Everybody, words.At = s.told.All(), !s.options.IsConfined(), a.Now()
	r, existing, err := mcptool.StoreOwnWords(ctx, a.Run, words)
	if err != nil {
		return "", mcptool.ExplainStore(err)
	}
	return mcptool.StoredText(r, existing, redacted) + mcptool.NotesText(s.options.Notes(a.Notes)), nil
}

// storingFor is whose memory it is, and the session that asks, nil if that is not known.
func (s *mcpServer) storingFor(ctx context.Context, a *workspace.Run, of selection.Scope) (memory.Source, *workspace.Found, error) {
	if !s.options.Remote {
		if one := mcptool.AskingSession(ctx, a, of); one != nil {
			return memory.Source{Runtime: one.Runtime, Agent: one.Agent, Session: one.ID}, one, nil
		}
	}
	switch {
	case of.Agent == "":
		return memory.Source{}, nil, failure.Usage("sessions lists the agents there are", "agent is needed: sessctl cannot tell which session is asking")
	case s.options.Agent == "": // the confined agent was named by a person
		if err := s.options.CheckKnown(ctx, a, nil, of); err != nil {
			return memory.Source{}, nil, err
		}
	}
	one, err := selection.TheAgent(ctx, a, of)
	return memory.Source{Runtime: one.Runtime, Agent: one.Agent}, nil, err
}
