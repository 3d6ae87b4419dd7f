package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/session"
)

type replayOptions struct {
	Agent, Session, File string
	Query                string
	Relevance            float64
	Budget               int64
	Format               string
	NoRepair             bool
	KeepToolResults      int
	Check                string
	Recent               bool
}

func (o *replayOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Agent, "agent", "", "the main session of this `agent`")
	fs.StringVar(&o.Session, "session", "", "this session (`id` or key)")
	fs.StringVar(&o.File, "file", "", "any session `file` of any runtime, wherever it lies")
	fs.StringVar(&o.Query, "query", "", "keep the last six messages and the older turns about this `text`, 20 messages in all")
	fs.Float64Var(&o.Relevance, "min-relevance", replay.DefaultRelevance, "with --query: how similar an older turn must be, as a `cosine`")
	fs.Int64Var(&o.Budget, "budget", 0, "leave out the oldest turns until about so many `tokens` are left (0: no budget)")
	fs.StringVar(&o.Format, "format", string(replay.Text), "text, json, openai, anthropic or aisdk")
	fs.BoolVar(&o.NoRepair, "no-repair", false, "leave calls without results and results without calls as they are")
	fs.IntVar(&o.KeepToolResults, "keep-tool-results", replay.DefaultToolResults, "so many of the last tool results stay whole (-1: all)")
	fs.StringVar(&o.Check, "check", "", "compare with this `file` instead of printing; exit 1 and a diff if it is not the same")
	fs.BoolVar(&o.Recent, "recent", false, "the summaries of the last sessions, for runtimes that start with them (yarnnn)")
}

func (o *replayOptions) validate() error {
	const see = "see sessctl replay-context --help"
	format := replay.Format(o.Format)
	provider := format == replay.OpenAI || format == replay.Anthropic || format == replay.AISDK
	switch {
	case o.Recent && (o.File != "" || o.Agent != "" || o.Session != ""):
		return usageError(see, "--recent goes with no session")
	case o.Recent:
		return nil
	case o.File == "" && o.Agent == "" && o.Session == "":
		return usageError("name an agent, a session or a file; sessctl sizes shows what there is", "which session? --agent, --session, --file or --recent is needed")
	case o.File != "" && (o.Agent != "" || o.Session != ""):
		return usageError(see, "--file goes with neither --agent nor --session")
	case !slices.Contains(replay.Formats(), format):
		return usageError("--format takes text, json, openai, anthropic or aisdk", "unknown format %q", o.Format)
	case o.NoRepair && provider:
		return usageError("providers refuse a context whose calls and results do not fit", "--no-repair does not go with --format %s", o.Format)
	case o.Budget < 0:
		return usageError(see, "--budget must not be negative")
	}
	return nil
}

func newReplayContextCommand(a *app) *cobra.Command {
	var o replayOptions
	c := &cobra.Command{
		Use:   "replay-context",
		Short: "Print what an agent would send to its model",
		Long: `Rebuild the context of a session from its log as its runtime does: the active
branch, the summary of the last compaction, and what followed. Calls without
results are repaired, all but the last two tool results are cut short, and with
--query or --budget only a part is kept. The session is only read; nothing is
redacted.
` + exitHelp,
		Example: `  sessctl replay-context --agent coordinator
  sessctl replay-context --file session.jsonl --format anthropic
  sessctl replay-context --agent coordinator --query "importer port" --budget 8000
  sessctl replay-context --file fixture.jsonl --format json --check golden.json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if a.global.JSON && !c.Flags().Changed("format") {
				o.Format = string(replay.JSON)
			}
			if err := o.validate(); err != nil {
				return err
			}
			if o.Recent {
				return runRecent(c.Context(), a)
			}
			return runReplay(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

func runReplay(ctx context.Context, a *app, o replayOptions) error {
	s, err := a.replayed(ctx, o)
	if err != nil {
		return err
	}
	messages, scan, err := replay.Read(ctx, s.store, func() (io.ReadCloser, error) { return openFound(ctx, s) })
	if err != nil {
		return err
	}
	if o.Query != "" {
		if messages, err = a.selectMessages(ctx, messages, o); err != nil {
			return err
		}
	}
	if !o.NoRepair {
		messages = replay.Repair(messages)
	}
	messages = replay.Budget(replay.Truncate(messages, o.KeepToolResults), o.Budget)
	var out bytes.Buffer
	origin := replay.Origin{Runtime: s.Runtime, Agent: s.Agent, Session: cmp.Or(s.ID, scan.SessionID)}
	if err := replay.Write(&out, replay.Format(o.Format), origin, messages); err != nil {
		return err
	}
	text := printable(replay.Format(o.Format), out.String())
	if o.Check != "" {
		return checkReplay(a, o.Check, text)
	}
	_, err = io.WriteString(a.Out, text)
	return err
}

// printable is a replay as a terminal may see it: text with what is hidden in
// it made visible, JSON with its own escapes.
func printable(f replay.Format, text string) string {
	if f == replay.Text {
		return strings.TrimSuffix(visibleText(text), "\n") + "\n"
	}
	return string(visibleJSON([]byte(text)))
}

// replayed finds the session that is meant: a file, or one of an agent's.
func (a *app) replayed(ctx context.Context, o replayOptions) (found, error) {
	if o.File != "" {
		return a.sessionFile(o.File)
	}
	all, err := a.findSessions(ctx)
	if err != nil {
		return found{}, err
	}
	targets, _, err := chooseTargets(all, compactOptions{Agent: o.Agent, Session: o.Session})
	if err != nil {
		return found{}, err
	}
	targets = slices.DeleteFunc(targets, func(s found) bool { return s.Kind == session.KindDatabase })
	switch len(targets) {
	case 0:
		return found{}, &failure{code: "unknown_session", exit: exitFailed, hint: "sessctl sizes shows the sessions there are", err: fmt.Errorf("agent %q has no session to replay", o.Agent)}
	case 1:
		return targets[0], nil
	}
	slices.SortStableFunc(targets, func(x, y found) int { return y.ModTime.Compare(x.ModTime) })
	a.notice(note{Path: targets[0].Path, Message: fmt.Sprintf("the newest of %d sessions; --session names another", len(targets))})
	return targets[0], nil
}

// sessionFile recognises a file by its content.
func (a *app) sessionFile(path string) (found, error) {
	path = absolute(path)
	f, err := durable.OpenRegular(path)
	if err != nil {
		return found{}, &failure{code: "no_file", exit: exitFailed, path: path, err: fmt.Errorf("open session: %w", err)}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return found{}, fmt.Errorf("open session: %w", err)
	}
	plain, _, err := jsonl.Decompress(f, info.Size())
	if err != nil {
		return found{}, fmt.Errorf("open session: %w", err)
	}
	defer plain.Close()
	head, err := io.ReadAll(io.LimitReader(plain, session.HeadSize))
	if err != nil && len(head) == 0 {
		return found{}, fmt.Errorf("read session: %w", err)
	}
	format := session.Detect(path, head)
	for _, kind := range runtimes() {
		if kind.name == runtimeOf(format) {
			ref := session.Ref{Runtime: kind.name, Path: path, Bytes: info.Size(), ModTime: info.ModTime(), Kind: session.KindLive}
			if parent := filepath.Base(filepath.Dir(path)); format == session.FormatAgent && session.SafeID(parent) {
				ref.ID = parent // such a log does not name itself
			}
			return found{Ref: ref, store: kind.open(os.TempDir(), a.config)}, nil
		}
	}
	return found{}, &failure{code: "unknown_format", exit: exitFailed, path: path, hint: "runtimes that can be read: " + runtimeNames(), err: fmt.Errorf("%s: its content (%s) is no session that can be replayed", path, format)}
}

// runtimeOf is the runtime that reads a format; "" for none.
func runtimeOf(f session.Format) string {
	switch f {
	case session.FormatPi, session.FormatFragment:
		return session.RuntimePi
	case session.FormatCodex, session.FormatCodexBare, session.FormatCodexJSON:
		return "codex"
	case session.FormatGemini, session.FormatGeminiJSON:
		return "gemini"
	case session.FormatClaude, session.FormatOpenClaw, session.FormatAnnabelle, session.FormatAgent, session.FormatMacStats, session.FormatYarnnn:
		return string(f)
	}
	return ""
}

// openFound opens a session's log, whatever it lies in.
func openFound(ctx context.Context, s found) (io.ReadCloser, error) {
	if source, ok := s.store.(session.LogSource); ok && s.Kind == session.KindStored {
		return source.OpenLog(ctx, s.Ref)
	}
	f, err := durable.OpenRegular(s.Path)
	if err != nil {
		return nil, err
	}
	plain, _, err := jsonl.Decompress(f, s.Bytes)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the log: %w", err), f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{plain, closers{plain, f}}, nil
}

// closers closes several things.
type closers []io.Closer

// Close implements io.Closer.
func (c closers) Close() error {
	var errs []error
	for _, one := range c {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}
