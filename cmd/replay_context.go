package cmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	fs.StringVar(&o.File, "file", "", "any session `file` of any runtime, in any place")
	fs.StringVar(&o.Query, "query", "", "keep the last six messages and the older turns about this `text`, 20 messages in all")
	fs.Float64Var(&o.Relevance, "min-relevance", replay.DefaultRelevance, "with --query: how similar an older turn must be, as a `cosine`")
	fs.Int64Var(&o.Budget, "budget", 0, "leave out the oldest turns until about this many `tokens` are left (0: no budget)")
	fs.StringVar(&o.Format, "format", string(replay.Text), "text, json, openai, anthropic or aisdk")
	fs.BoolVar(&o.NoRepair, "no-repair", false, "leave calls without results and results without calls as they are")
	fs.IntVar(&o.KeepToolResults, "keep-tool-results", replay.DefaultToolResults, "keep this many of the last tool results whole (-1: all)")
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
	case o.NoRepair && provider && format != replay.AISDK:
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
			if a.JSON && !c.Flags().Changed("format") {
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
	messages, scan, err := replay.Read(ctx, contextScanner(s), func() (io.ReadCloser, error) { return openFound(ctx, s) })
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
	text := visibleReplay(replay.Format(o.Format), out.String())
	if o.Check != "" {
		return checkReplay(a, o.Check, text)
	}
	_, err = io.WriteString(a.Out, text)
	return err
}

// contextScanner reads what the runtime of a session sends of it.
func contextScanner(s found) replay.Scanner {
	if beside := s.store.Capabilities().Context; beside != nil && s.Kind.InFile() {
		return besideLog{beside, s.Ref}
	}
	return s.store
}

// besideLog is a session a part of whose context lies beside its log.
type besideLog struct {
	store session.ContextScanner
	ref   session.Ref
}

// Scan implements [replay.Scanner].
func (b besideLog) Scan(ctx context.Context, log io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	return b.store.ScanContext(ctx, b.ref, log, o, emit)
}

// visibleReplay is a replay as a terminal may see it: text with what is hidden in
// it made visible, JSON with its own escapes.
func visibleReplay(f replay.Format, text string) string {
	if f == replay.Text {
		return strings.TrimSuffix(visibleText(text), "\n") + "\n"
	}
	return string(visibleJSON([]byte(text)))
}

// replayed finds the session to replay: a file, or a session of an agent.
func (a *invocation) replayed(ctx context.Context, o replayOptions) (found, error) {
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
func (a *invocation) sessionFile(path string) (found, error) {
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
		if slices.Contains(kind.traits().Formats, format) {
			ref := session.Ref{Runtime: kind.name, Path: path, Bytes: info.Size(), ModTime: info.ModTime(), Kind: session.KindLive}
			if parent := filepath.Base(filepath.Dir(path)); format == session.FormatAgent && session.SafeID(parent) {
				ref.ID = parent // such a log does not name itself
			}
			return found{Ref: ref, store: kind.open(os.TempDir(), a.config)}, nil
		}
	}
	return found{}, &failure{code: "unknown_format", exit: exitFailed, path: path, hint: "runtimes that can be read: " + runtimeNames(), err: fmt.Errorf("%s: not a session log of a known runtime%s", path, whyUnknown(head))}
}

// whyUnknown says what is wrong with the beginning of a file that is no session,
// as far as that can be seen.
func whyUnknown(head []byte) string {
	text := bytes.TrimSpace(head)
	if len(text) == 0 {
		return ": it is empty"
	}
	if text[0] != '{' {
		return ""
	}
	var first json.RawMessage
	err := json.NewDecoder(bytes.NewReader(head)).Decode(&first)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		before := head[:min(int(syntax.Offset), len(head))]
		return fmt.Sprintf(": line %d is not JSON", 1+bytes.Count(before, []byte("\n")))
	case errors.Is(err, io.ErrUnexpectedEOF) && len(head) < session.HeadSize:
		return ": it ends inside a record"
	}
	return ""
}

// openFound opens a session's log, whatever it lies in.
func openFound(ctx context.Context, s found) (io.ReadCloser, error) {
	if source := s.store.Capabilities().SourceOf(s.Ref); source != nil {
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

// selectMessages keeps what is about the query. Without an embedder the newest
// messages are kept, and a note says so.
func (a *app) selectMessages(ctx context.Context, messages []replay.Message, o replayOptions) ([]replay.Message, error) {
	embedding, err := a.openEmbedder()
	if err != nil {
		return nil, err
	}
	kept, err := replay.Select(ctx, messages, replay.Selection{
		Query: o.Query, Relevance: o.Relevance,
		Similar: func(ctx context.Context, query string, texts []string) ([]float64, error) {
			return cosines(ctx, embedding, query, texts)
		},
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		a.notice(note{Message: "the newest messages are kept: " + err.Error()})
	}
	return kept, nil
}

// cosines compares unit vectors. A text that has no vector is similar to
// nothing.
func cosines(ctx context.Context, e *embedding, query string, texts []string) ([]float64, error) {
	q, err := e.queries.EmbedQuery(ctx, query)
	if err != nil {
		return nil, err
	}
	scores := make([]float64, len(texts))
	if e.expected.Provider == "builtin" {
		return scores, cosinesOfQuestions(ctx, e.queries, q, texts, scores)
	}
	for r := range embed.Batches(ctx, e.documents, texts, embed.BatchOptions{Dim: len(q)}) {
		if errors.Is(r.Err, embed.ErrUnavailable) || ctx.Err() != nil {
			return nil, r.Err
		}
		for j := range r.Vector {
			scores[r.Index] += float64(r.Vector[j]) * float64(q[j])
		}
	}
	return scores, nil
}

// cosinesOfQuestions compares a question with questions, both embedded as such.
// The built-in embedder gives the vector of a short document little length in
// the dimensions of its words (that is what makes it rank well), so that no
// cosine of it would reach the default threshold of 0.45, not even that of a
// text with itself (docs/dev/decisions.md D20).
func cosinesOfQuestions(ctx context.Context, e embed.QueryEmbedder, q []float32, texts []string, scores []float64) error {
	for i, text := range texts {
		v, err := e.EmbedQuery(ctx, text)
		if errors.Is(err, embed.ErrNoVector) {
			continue
		}
		if err != nil {
			return err
		}
		for j := range v {
			scores[i] += float64(v[j]) * float64(q[j])
		}
	}
	return nil
}

// checkReplay compares a replay with a stored one.
func checkReplay(a *app, path, got string) error {
	want, err := os.ReadFile(path)
	if err != nil {
		return &failure{code: "no_file", exit: exitFailed, path: path, hint: "make it with: sessctl replay-context ... > " + path, err: fmt.Errorf("read the stored replay: %w", err)}
	}
	if string(want) == got {
		return nil
	}
	if _, err := fmt.Fprint(a.Out, visibleText(difference(path, strings.Split(string(want), "\n"), strings.Split(got, "\n")))); err != nil {
		return err
	}
	return &failure{code: "differs", exit: exitFailed, path: path, hint: "if the new replay is right, write it over the stored one", err: fmt.Errorf("the replay is not the one in %s", path)}
}

// recentDocument is `replay-context --recent --json`.
type recentDocument struct {
	Schema    int      `json:"schema"`
	Summaries []string `json:"summaries"` // newest first
}

func runRecent(ctx context.Context, a *app) error {
	stores, err := a.openStores()
	if err != nil {
		return err
	}
	doc := recentDocument{Schema: 1, Summaries: []string{}}
	able := 0
	for _, store := range stores {
		reader := store.Capabilities().Recent
		if reader == nil {
			continue
		}
		able++
		summaries, err := reader.Recent(ctx, a.now())
		if errors.Is(err, session.ErrManyUsers) {
			return &failure{code: "many_users", exit: exitUsage, hint: "say whose with yarnnn.user_id (SESSCTL_YARNNN_USER_ID)", err: err}
		}
		if err != nil {
			return err
		}
		doc.Summaries = append(doc.Summaries, summaries...)
	}
	if able == 0 {
		return &failure{code: "no_store", exit: exitFailed, hint: "set yarnnn.dsn, or --store yarnnn=DSN", err: fmt.Errorf("no store keeps summaries of recent sessions")}
	}
	if a.JSON {
		return a.printJSON(doc)
	}
	if len(doc.Summaries) > 0 {
		_, err = fmt.Fprintln(a.Out, "Recent conversations:")
	}
	for _, s := range doc.Summaries {
		_, err = fmt.Fprintln(a.Out, visibleText(s))
	}
	return err
}
