package steps

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
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/exchange"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/replay"
	"github.com/sessctl/sessctl/pkg/session"
)

// ReplayOptions are the options of replay-context.
type ReplayOptions struct {
	Agent           agentset.Set
	Session, File   string
	Query           string
	Relevance       float64
	Budget          int64
	Format          string
	NoRepair        bool
	KeepToolResults int
	CutResults      bool // KeepToolResults was asked for
	Check           string
	Recent          bool
	RelevanceText   string // what takes the place of Relevance; "" for nothing
}

// RelevanceVariable is the variable in which Annabelle keeps its bound for older turns.
const RelevanceVariable = "HISTORY_RELEVANCE_THRESHOLD"

// relevance reads the bound of the variable, where a question is asked.
func (o *ReplayOptions) relevance() error {
	if o.Query == "" || o.RelevanceText == "" {
		return nil
	}
	bound, err := strconv.ParseFloat(o.RelevanceText, 64)
	if err != nil || !(bound >= -1 && bound <= 1) {
		return failure.Usage("it is a number such as 0.45; --min-relevance takes its place", "%s: %q is no cosine", RelevanceVariable, o.RelevanceText)
	}
	o.Relevance = bound
	return nil
}

// WholeResults is how many of the last tool results stay whole: as many as was asked for,
// else as many as the runtime leaves. -1 are all.
func (o *ReplayOptions) WholeResults(runtime string) int {
	if o.CutResults {
		return o.KeepToolResults
	}
	return cmp.Or(workspace.TraitsOf(runtime).WholeResults, -1)
}

// Validate refuses options that contradict each other.
func (o *ReplayOptions) Validate() error {
	const see = "see sessctl replay-context --help"
	format := replay.Format(o.Format)
	switch {
	case o.Recent && (o.File != "" || o.Session != ""):
		return failure.Usage(see, "--recent goes with neither --session nor --file")
	case o.Recent:
		return nil
	case o.File == "" && o.Agent == "" && o.Session == "":
		return failure.Usage("name an agent, a session or a file; sessctl sizes shows what there is", "which session? --agent, --session, --file or --recent is needed")
	case o.File != "" && (o.Agent != "" || o.Session != ""):
		return failure.Usage(see, "--file goes with neither --agent nor --session")
	case !slices.Contains(exchange.Formats(), format):
		return failure.Usage("--format takes "+FormatNames(), "unknown format %q", o.Format)
	case format == exchange.FormatATIF && (o.Query != "" || o.Budget != 0 || o.NoRepair || o.CutResults):
		return failure.Usage("the other formats are of a context", "--format atif is of the whole session: it goes with none of --query, --budget, --no-repair and --keep-tool-results")
	case o.NoRepair && exchange.Strict(format):
		return failure.Usage("providers refuse a context whose calls and results do not fit", "--no-repair does not go with --format %s", o.Format)
	case o.Budget < 0:
		return failure.Usage(see, "--budget must not be negative")
	}
	return o.relevance()
}

// FormatNames lists the formats for a message.
func FormatNames() string {
	var names []string
	for _, f := range exchange.Formats() {
		names = append(names, string(f))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// WriteTrajectory writes a whole session in the format ATIF.
func WriteTrajectory(ctx context.Context, w io.Writer, s workspace.Found) error {
	about := exchange.Session{Runtime: s.Runtime, Agent: s.Agent, ID: s.ID}
	if s.Store != "" {
		listing, err := s.Adapter.List(ctx)
		if err != nil {
			return err
		}
		for _, ref := range listing.Refs {
			if ref.Kind == session.KindSubagent && ref.Parent == s.ID {
				about.Subagents = append(about.Subagents, ref.ID)
			}
		}
	}
	_, err := exchange.ATIF(ctx, w, about, s.Adapter, func() (io.ReadCloser, error) { return recall.OpenFound(ctx, s) })
	if errors.Is(err, exchange.ErrNothing) {
		return &failure.Error{Code: "nothing_said", Exit: failure.ExitFailed, Path: s.Path, Hint: "--format json writes it", Err: err}
	}
	return err
}

// ContextScanner reads what the runtime of a session sends of it.
func ContextScanner(s workspace.Found) session.Scanner {
	if beside := s.Adapter.Capabilities().Context; beside != nil && s.Kind.InFile() {
		return besideLog{beside, s.Ref}
	}
	return s.Adapter
}

// besideLog is a session a part of whose context lies beside its log.
type besideLog struct {
	store session.ContextScanner
	ref   session.Ref
}

// Scan implements [session.Scanner].
func (b besideLog) Scan(ctx context.Context, log io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	return b.store.ScanContext(ctx, b.ref, log, o, emit)
}

// VisibleReplay is a replay as a terminal may see it: text with what is hidden in
// it made visible, JSON with its own escapes.
func VisibleReplay(f replay.Format, text string) string {
	if f == replay.Text {
		return strings.TrimSuffix(wording.VisibleText(text), "\n") + "\n"
	}
	return string(wording.VisibleJSON([]byte(text)))
}

// Replayed finds the session to replay: a file, or a session of an agent.
func Replayed(ctx context.Context, run *workspace.Run, o ReplayOptions) (workspace.Found, error) {
	if o.File != "" {
		return SessionFile(run, o.File)
	}
	all, err := run.FindSessions(ctx)
	if err != nil {
		return workspace.Found{}, err
	}
	targets, _, err := selection.ChooseTargets(all, selection.CompactOptions{Agent: o.Agent, Session: o.Session})
	if err != nil {
		return workspace.Found{}, err
	}
	targets = slices.DeleteFunc(targets, func(s workspace.Found) bool { return s.Kind == session.KindDatabase })
	switch len(targets) {
	case 0:
		return workspace.Found{}, &failure.Error{Code: "unknown_session", Exit: failure.ExitFailed, Hint: "sessctl sizes shows the sessions there are", Err: fmt.Errorf("agent %q has no session to replay", o.Agent)}
	case 1:
		return targets[0], nil
	}
	slices.SortStableFunc(targets, func(x, y workspace.Found) int { return y.ModTime.Compare(x.ModTime) })
	run.Notice(workspace.Note{Path: targets[0].Path, Message: fmt.Sprintf("the newest of %d sessions; %s names another", len(targets), nameOfAnother(targets))})
	return targets[0], nil
}

// nameOfAnother is the option that chooses another one of sessions than the first.
func nameOfAnother(targets []workspace.Found) string {
	if i := slices.IndexFunc(targets, func(s workspace.Found) bool { return s.ID == targets[0].ID && s.Store != targets[0].Store }); i > 0 {
		return "--only-store " + targets[i].Runtime + "=" + session.ShellWord(targets[i].Store)
	}
	return "--session"
}

// SessionFile recognises a file by its content.
func SessionFile(run *workspace.Run, path string) (workspace.Found, error) {
	path = workspace.Absolute(path)
	f, err := durable.OpenRegular(path)
	if err != nil {
		return workspace.Found{}, &failure.Error{Code: "no_file", Exit: failure.ExitFailed, Path: path, Err: fmt.Errorf("open session: %w", err)}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return workspace.Found{}, fmt.Errorf("open session: %w", err)
	}
	plain, _, err := jsonl.Decompress(f, info.Size())
	if err != nil {
		return workspace.Found{}, fmt.Errorf("open session: %w", err)
	}
	defer plain.Close()
	head, err := io.ReadAll(io.LimitReader(plain, session.HeadSize))
	if err != nil && len(head) == 0 {
		return workspace.Found{}, fmt.Errorf("read session: %w", err)
	}
	format := session.Detect(path, head)
	for _, kind := range workspace.Runtimes() {
		if slices.Contains(kind.Traits().Formats, format) {
			ref := session.Ref{Runtime: kind.Name, Path: path, Bytes: info.Size(), ModTime: info.ModTime(), Kind: session.KindLive}
			if parent := filepath.Base(filepath.Dir(path)); format == session.FormatAgent && session.SafeID(parent) {
				ref.ID = parent // such a log does not name itself
			}
			return workspace.Found{Ref: ref, Adapter: kind.Open(os.TempDir(), run.Config)}, nil
		}
	}
	if name := format.Unread(); name != "" {
		return workspace.Found{}, &failure.Error{Code: "unknown_format", Exit: failure.ExitFailed, Path: path, Hint: "runtimes that can be read: " + workspace.RuntimeNames(), Err: fmt.Errorf("%s: a session of %s, which sessctl does not read", path, name)}
	}
	return workspace.Found{}, &failure.Error{Code: "unknown_format", Exit: failure.ExitFailed, Path: path, Hint: "runtimes that can be read: " + workspace.RuntimeNames(), Err: fmt.Errorf("%s: not a session log of a known runtime%s", path, whyUnknown(head))}
}

// TellDoubt tells if nobody can say that a replay is what the runtime would send, and if
// the file has more than is replayed: see [tellOthers].
func TellDoubt(run *workspace.Run, s workspace.Found, scan session.Scan) {
	if reason := scan.Doubt.Reason(s.Path); reason != "" {
		run.Notice(workspace.Note{Path: s.Path, Message: "the replay is uncertain: " + reason})
	}
	tellOthers(run, s, scan)
}

// tellOthers tells of a file with several conversations that only its last one was read.
func tellOthers(run *workspace.Run, s workspace.Found, scan session.Scan) {
	if s.Runtime == session.RuntimeExchange && scan.Headers > 1 {
		run.Notice(workspace.Note{Path: s.Path, Message: fmt.Sprintf("the last of %d conversations in it", scan.Headers), Hint: "archive --file with --remember keeps all of them"})
	}
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

// Cosines compares unit vectors. A text that has no vector is similar to
// nothing.
func Cosines(ctx context.Context, e *workspace.Embedding, query string, texts []string) ([]float64, error) {
	q, err := e.Queries.EmbedQuery(ctx, query)
	if err != nil {
		return nil, err
	}
	scores := make([]float64, len(texts))
	if e.Expected.Provider == "builtin" {
		return scores, cosinesOfQuestions(ctx, e.Queries, q, texts, scores)
	}
	for r := range embed.Batches(ctx, e.Documents, texts, embed.BatchOptions{Dim: len(q)}) {
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
