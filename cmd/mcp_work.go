package cmd

import (
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/mcptool"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory"
)

func (s *mcpServer) work(ctx context.Context, in mcptool.WorkInput) (string, error) {
	of, err := s.confined(ctx, in.Agent)
	if err != nil {
		return "", err
	}
	a := s.request(io.Discard, of)
	defer workspace.CloseStores(a.Run)
	o := recall.Options{
		Query: in.Query, File: in.File, Command: in.Command, Error: in.Error, Kind: recall.KindWork, Agent: of.Agent, Runtime: of.Runtime, Since: in.Since, Until: in.Until,
		Rank: memory.RankHybrid, Limit: min(max(cmp.Or(in.Limit, recall.UsualHits), 1), recall.MostHits), Elsewhere: true,
	}
	if o.Names() > 1 || o.Names() == 1 && in.Query != "" || strings.TrimSpace(o.Wanted()) == "" {
		return "", failure.Usage("", "give one of file, command, error and query")
	}
	if err := s.options.CheckKnown(ctx, a.Run, nil, of); err != nil {
		return "", err
	}
	doc, err := recall.Recall(ctx, a.Run, o)
	if err != nil {
		return "", err
	}
	return mcptool.WorkText(doc), nil
}
