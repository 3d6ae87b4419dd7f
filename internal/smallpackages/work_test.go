package smallpackages_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/agent"
	"github.com/sessctl/sessctl/pkg/session/annabelle"
	"github.com/sessctl/sessctl/pkg/session/claude"
	"github.com/sessctl/sessctl/pkg/session/codex"
	"github.com/sessctl/sessctl/pkg/session/gemini"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/pi"
	"github.com/sessctl/sessctl/pkg/work"
)

// scanner is the part of a store that reads logs.
type scanner interface {
	Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error)
}

func scanners() map[session.Format]scanner {
	return map[session.Format]scanner{
		session.FormatPi: pi.Open(""), session.FormatOpenClaw: openclaw.Open("", openclaw.Options{}), session.FormatFragment: pi.Open(""),
		session.FormatAgent: agent.Open("", agent.Options{}), session.FormatAnnabelle: annabelle.Open("", annabelle.Options{}),
		session.FormatCodex: codex.Open(""), session.FormatCodexBare: codex.Open(""),
		session.FormatGemini: gemini.Open(""), session.FormatGeminiJSON: gemini.Open(""), session.FormatClaude: claude.Open(""),
	}
}

// done is what was done in a log, as the product reads it.
func done(t testing.TB, s scanner, log []byte) (all []*work.Action, counts work.Counts) {
	t.Helper()
	scan, err := s.Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{}, func(m *session.Message) error {
		if m.Details != nil {
			t.Errorf("line %d has details that nobody asked for", m.Line)
		}
		return nil
	})
	if errors.Is(err, session.ErrUnknownFormat) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := work.NewReader(func(a *work.Action) error {
		all = append(all, a)
		return nil
	})
	if _, err = s.Scan(context.Background(), bytes.NewReader(log), session.ScanOptions{Tree: scan.Tree, Details: true}, r.Add); err != nil {
		t.Fatal(err)
	}
	if counts, err = r.Close(); err != nil {
		t.Fatal(err)
	}
	return all, counts
}

// line is an action in one line.
func line(a *work.Action) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", a.Call.FirstLine)
	if a.Answered {
		fmt.Fprintf(&b, "-%d", a.Result.FirstLine)
	}
	fmt.Fprintf(&b, " %s(%s)", a.Kind, a.Tool)
	for _, x := range []struct{ name, text string }{{"in", a.Directory}, {"$", a.Command}, {"path", a.Path}, {"query", a.Query}, {"url", a.URL}} {
		if x.text != "" {
			fmt.Fprintf(&b, " %s %q", x.name, x.text)
		}
	}
	if a.Span.From > 0 {
		fmt.Fprintf(&b, " lines %d-%d", a.Span.From, a.Span.To)
	}
	if a.HasExit {
		fmt.Fprintf(&b, " exit %d", a.Exit)
	}
	if a.Failed {
		fmt.Fprintf(&b, " failed %q", a.Errors)
	}
	if a.Branch != session.Active {
		b.WriteString(" abandoned")
	}
	return b.String()
}
