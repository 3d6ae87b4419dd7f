package selection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/naming"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/tailcache"
)

// SizesOptions are the options of sizes.
type SizesOptions struct {
	Agent     agentset.Set
	Threshold compact.Threshold
	Over      bool
	Sort      string
	All       bool
	ByType    bool
	Orphans   bool
	NoCache   bool
	HostsOption

	ThresholdAsked bool // as a flag: not as a default or by the configuration
}

// Validate refuses options that contradict each other.
func (o *SizesOptions) Validate() error {
	if !slices.Contains([]string{"tokens", "bytes", "age", "agent"}, o.Sort) {
		return failure.Usage("--sort takes tokens, bytes, age or agent", "unknown sort key %q", o.Sort)
	}
	if o.ByType && o.Asked() {
		return failure.Usage("without --by-type the sessions of all hosts are listed", "--host does not go with --by-type")
	}
	return nil
}

// SizesDocument is `sizes --json` (docs/json.md).
type SizesDocument struct {
	Schema    int           `json:"schema"`
	Threshold int64         `json:"threshold"`         // tokens; 0 for none, and with --host if the hosts have different ones
	Share     int64         `json:"threshold_percent"` // of the window; 0 for the same
	Sessions  []*SessionRow `json:"sessions"`
	// Unread is what was seen and not read; empty with --host, where each host tells it.
	Unread []workspace.UnreadRow `json:"unread"`
	Notes  []workspace.Note      `json:"notes"`
	Hosts  []HostAnswer          `json:"hosts,omitempty"` // of --host

	Measured int `json:"-"` // sessions, also those that --over leaves out
}

// SessionRow is one session of `sizes`.
type SessionRow struct {
	Host           string   `json:"host,omitempty"` // with --host
	Runtime        string   `json:"runtime"`
	Agent          string   `json:"agent"`
	Session        string   `json:"session"`
	Key            string   `json:"key"`
	Kind           string   `json:"kind"`
	Path           string   `json:"path"`
	Title          string   `json:"title"`        // what the runtime calls it, else the first thing that a person asked; "" for nothing
	Project        string   `json:"project"`      // the working directory, "" if the log names none
	ProjectName    string   `json:"project_name"` // what people call the agent, see ProjectNames
	LastUsed       string   `json:"last_used"`    // RFC 3339, UTC
	Bytes          int64    `json:"bytes"`
	Messages       int      `json:"messages"`
	MessagesSource string   `json:"messages_source"` // count or estimate
	Tokens         int64    `json:"tokens"`
	TokenSource    string   `json:"token_source"`
	IndexTokens    *int64   `json:"index_tokens"` // the runtime's own counter, null if it has none
	ContextWindow  int      `json:"context_window"`
	Percent        *float64 `json:"percent"` // of the context window, null if that is unknown
	Over           bool     `json:"over"`
	DueBy          string   `json:"due_by"`        // what made it over: tokens, share or runtime
	Compact        string   `json:"compact"`       // what compact --all does with a session that is over, see prospect
	LastActivity   string   `json:"last_activity"` // RFC 3339, UTC
	Expires        *string  `json:"expires"`       // when the runtime deletes the log by itself, null for never
	State          string   `json:"state"`
	Reason         string   `json:"reason"`
	Unreadable     bool     `json:"unreadable"` // the log could not be read, see reason: tokens and messages are not known
	// CarriedFrom is the session whose words it began with, null for its own.
	CarriedFrom *session.CarriedFrom `json:"carried_from"`

	Last   time.Time `json:"-"`
	Limit  int64     `json:"-"` // tokens from which it is due; 0 where its runtime decides, or nothing can
	alike  bool      // another session of the agent has the same key
	Unread error     `json:"-"` // why it could not be read
}

// Sizes measures the sessions that the options mean.
func Sizes(ctx context.Context, run *workspace.Run, o SizesOptions) (SizesDocument, error) {
	OpenTailCache(run, !o.NoCache)
	all, err := SessionsFor(ctx, run, o)
	if err != nil {
		return SizesDocument{}, err
	}
	sessions := all.Readable()
	doc := SizesDocument{Schema: 1, Threshold: o.Threshold.Tokens, Share: o.Threshold.Percent, Sessions: make([]*SessionRow, 0, len(sessions)), Unread: workspace.UnreadRows(all.NotRead), Measured: len(sessions)}
	rows, err := MeasureAll(ctx, run, sessions, InDatabase(all), o)
	if err != nil {
		return doc, err
	}
	for _, row := range rows {
		if row.Over || !o.Over {
			doc.Sessions = append(doc.Sessions, row)
		}
	}
	SaveTailCache(run)
	SortRows(doc.Sessions, o.Sort)
	doc.Notes = run.Notes
	return doc, nil
}

// NameProjects says what people call the agents.
func (d *SizesDocument) NameProjects(names Projects) {
	for _, row := range d.Sessions {
		row.ProjectName = names.Of(row.Runtime, row.Agent)
	}
}

// SessionsFor lists the sessions that the options mean, and tells what was not read.
func SessionsFor(ctx context.Context, run *workspace.Run, o SizesOptions) (workspace.Inventory, error) {
	all, notices, err := run.ListStores(ctx)
	run.ShowOdd(notices)
	if err != nil && !workspace.IsNoStore(err) {
		return all, err
	}
	all.NotRead = run.UnreadOf(all)
	run.TellUnread(workspace.UnreadRows(all.NotRead))
	if err != nil {
		return all, err
	}
	if all, err = Of(all, o.Agent); err != nil {
		return all, err
	}
	WarnOfPurge(ctx, run, all.Sessions)
	if !o.All {
		all.Sessions = slices.DeleteFunc(all.Sessions, func(s workspace.Found) bool { return !workspace.Shown(s.Kind) })
	}
	if all.Sessions, err = WithoutArchivedPrompts(ctx, run, all.Sessions); err != nil {
		return all, err
	}
	if o.Orphans {
		all.Sessions = slices.DeleteFunc(all.Sessions, func(s workspace.Found) bool { return s.Kind != session.KindOrphan })
	}
	return all, nil
}

// SortRows sorts sessions as the option says.
func SortRows(rows []*SessionRow, key string) {
	slices.SortFunc(rows, func(x, y *SessionRow) int {
		first := 0
		switch key {
		case "tokens":
			first = cmp.Compare(y.Tokens, x.Tokens)
		case "bytes":
			first = cmp.Compare(y.Bytes, x.Bytes)
		case "age":
			first = y.Last.Compare(x.Last)
		}
		if first != 0 {
			return first
		}
		if first = byName(x, y); first != 0 {
			return first
		}
		return cmp.Or(cmp.Compare(y.Tokens, x.Tokens), strings.Compare(x.Path, y.Path))
	})
}

func byName(x, y *SessionRow) int {
	return cmp.Or(strings.Compare(x.Agent, y.Agent), strings.Compare(x.Runtime, y.Runtime), strings.Compare(x.Session, y.Session))
}

// thresholdState is the word of the table.
func (r *SessionRow) thresholdState() string {
	switch {
	case r.Unreadable:
		return "unreadable"
	case r.Compact == ProspectIrreducible:
		return ProspectIrreducible
	case r.Over:
		return "over"
	}
	return "ok"
}

// Name is what the session is called in a table: its key, but for one that does
// not tell it from others.
func (r *SessionRow) Name() string {
	if r.Key != "" && r.Key != r.Agent && !r.alike && r.Reason != session.ReasonEarlier.Text() {
		return r.Key
	}
	return r.Session
}

func (r *SessionRow) messageCount() string {
	if r.MessagesSource == "estimate" {
		return "~" + wording.Count(int64(r.Messages))
	}
	return wording.Count(int64(r.Messages))
}

// MeasureAll makes the row of every session, and tells of logs that cannot be
// read.
func MeasureAll(ctx context.Context, run *workspace.Run, sessions []workspace.Found, inDatabase map[workspace.Owner]bool, o SizesOptions) ([]*SessionRow, error) {
	m := NewMeasurer(run, inDatabase, o.Threshold, o.ThresholdAsked)
	m.counts = true
	rows, err := m.Rows(ctx, sessions)
	for _, row := range rows {
		TellUnread(run, row.Path, row.Unread)
		if row.Refusal() != "" {
			run.Notice(row.Note())
		}
	}
	markAlike(rows)
	return rows, err
}

// markAlike marks the sessions of an agent that have the same key. An earlier
// session of a key is not one of them: the key means the one that came after.
func markAlike(rows []*SessionRow) {
	type place struct{ runtime, agent, key string }
	first := map[place]*SessionRow{}
	for _, r := range rows {
		if r.Reason == session.ReasonEarlier.Text() {
			continue
		}
		at := place{r.Runtime, r.Agent, r.Key}
		if other := first[at]; other != nil {
			r.alike, other.alike = true, true
		} else {
			first[at] = r
		}
	}
}

// Rows makes the row of every session. Logs that are not known from an earlier
// run are read, as many at a time as there are workers.
func (m *Measurer) Rows(ctx context.Context, sessions []workspace.Found) ([]*SessionRow, error) {
	rows := make([]*SessionRow, len(sessions))
	var unknown []int
	for i := range sessions {
		if m.known(&sessions[i]) {
			rows[i] = m.measure(ctx, &sessions[i])
		} else {
			unknown = append(unknown, i)
		}
	}
	err := session.Spread(ctx, m.Workers(), len(unknown), func(_, i int) {
		rows[unknown[i]] = m.measure(ctx, &sessions[unknown[i]])
	})
	if err != nil {
		return nil, err
	}
	m.findKept(ctx, sessions, rows)
	return rows, nil
}

// TellUnread says why a log could not be read. One of another format was read,
// and one that is gone since it was listed is not missing.
func TellUnread(run *workspace.Run, path string, err error) {
	switch {
	case err == nil || errors.Is(err, session.ErrUnknownFormat):
	case errors.Is(err, fs.ErrNotExist):
		run.Notice(workspace.Note{Path: path, Message: err.Error()})
	default:
		run.PassOver(workspace.Note{Path: path, Message: err.Error()})
	}
}

// Measurer makes rows of `sizes`.
type Measurer struct {
	*workspace.Run
	Policy     compact.Policy           // that of compact --all
	InDatabase map[workspace.Owner]bool // agents whose sessions are in a database
	counts     bool                     // all messages are counted, which reads a log that has changed to its beginning
	Names      bool                     // what sessions are called is looked for
}

// NewMeasurer measures as compact --all does, and looks for what sessions are called.
func NewMeasurer(run *workspace.Run, inDatabase map[workspace.Owner]bool, threshold compact.Threshold, asked bool) Measurer {
	all := CompactOptions{
		All: true, Threshold: threshold, ThresholdAsked: asked, Strategy: run.Config.Compaction.Strategy,
		Quiet: run.Config.Compaction.Quiet, Gateway: run.Config.Compaction.Gateway, KeepRecentTokens: run.Config.Compaction.Keep,
	}
	return Measurer{Run: run, Policy: all.Policy(run), InDatabase: inDatabase, Names: true}
}

// known says whether a row can be made without reading.
func (m *Measurer) known(s *workspace.Found) bool {
	seen, ok := m.TailCache.Seen(s.Path)
	return ok && (seen.Tail.MessagesExact || !m.counts) && (seen.Named || !m.Names)
}

// measure reads the end of one log. A log that cannot be read is a row that
// says so, not the end of the run.
func (m *Measurer) measure(ctx context.Context, s *workspace.Found) *SessionRow {
	row := &SessionRow{
		Runtime: s.Runtime, Agent: s.Agent, Session: s.ID, Key: s.Key, Kind: string(s.Kind), Path: s.Path,
		Bytes: s.Bytes, ContextWindow: int(m.Policy.Limits.Window(s.Ref, session.Tail{})), State: string(s.State), Reason: s.Reason, Last: s.ModTime,
	}
	if s.Counter.Tokens > 0 {
		row.IndexTokens = &s.Counter.Tokens
	}
	if !s.Expires.IsZero() {
		expires := s.Expires.UTC().Format(time.RFC3339)
		row.Expires = &expires
	}
	if err := m.readLog(ctx, row, s); err != nil {
		row.State, row.Reason, row.TokenSource = string(session.StateUnsupported), err.Error(), session.TokensFromEstimate
		row.Unread, row.Unreadable = err, true
		row.Over, row.DueBy, row.Compact = false, "", ""
	}
	row.LastActivity = row.Last.UTC().Format(time.RFC3339)
	row.LastUsed = row.LastActivity
	if row.ContextWindow > 0 && !row.Unreadable {
		percent := math.Round(1000*float64(row.Tokens)/float64(row.ContextWindow)) / 10
		row.Percent = &percent
	}
	m.log(ctx, row, s)
	return row
}

// log logs what was decided about a session, and what was compared.
func (m *Measurer) log(ctx context.Context, r *SessionRow, s *workspace.Found) {
	workspace.Decided(ctx, m.Run, workspace.Decision{
		Ref: s.Ref, Asked: "sizes", Outcome: cmp.Or(r.Compact, r.State), Reason: r.Reason,
		Values: []any{"state", r.State, "tokens", r.Tokens, "threshold", m.Policy.Limits.For(s.Ref), "over", r.Over, "quiet", m.Policy.Quiet, "modified", s.ModTime},
	})
}

func (m *Measurer) readLog(ctx context.Context, r *SessionRow, s *workspace.Found) error {
	tail, err := tail(ctx, m.Run, s)
	if err != nil {
		return err
	}
	if err := m.judge(ctx, r, s, tail); err != nil {
		return err
	}
	if m.Names {
		m.name(ctx, r, s)
	}
	r.Tokens, r.TokenSource = tail.Tokens, tail.TokenSource
	r.Messages, r.MessagesSource = tail.Messages, "count"
	r.ContextWindow = int(m.Policy.Limits.Window(s.Ref, tail))
	if !tail.LastActivity.IsZero() {
		r.Last = tail.LastActivity
	}
	if tail.MessagesExact {
		return nil
	}
	r.MessagesSource = "estimate"
	if !m.counts {
		return nil
	}
	if counter := s.Adapter.Capabilities().Counter; counter != nil {
		r.MessagesSource = "count"
		if r.Messages, err = counter.CountMessages(ctx, s.Ref); err == nil {
			m.TailCache.Add(s.Path, func(seen *session.CachedTail) { seen.Tail.Messages, seen.Tail.MessagesExact = r.Messages, true })
		}
	}
	return err
}

// name says what a session is called, from memory if its log has not changed.
func (m *Measurer) name(ctx context.Context, r *SessionRow, s *workspace.Found) {
	seen, known := m.TailCache.Seen(s.Path)
	if !known || !seen.Named {
		seen.Name = naming.Of(ctx, s.Adapter, s.Ref)
		m.TailCache.Add(s.Path, func(kept *session.CachedTail) { kept.Name, kept.Named = seen.Name, true })
	}
	listed := session.Name{Title: naming.Tidy(s.Title), Project: s.Project} // a name changes without the log
	seen.Name = listed.Or(seen.Name)
	s.Title, s.Project = seen.Name.Title, seen.Name.Project
	r.Title, r.Project, r.CarriedFrom = s.Title, s.Project, seen.Name.From.Document()
}

// barCells is the width of the bar that shows how full a context is.
const barCells = 10

// SizesRows makes the rows for programs, each valid until the next.
func SizesRows(doc SizesDocument) iter.Seq[[]string] {
	row := make([]string, 0, 11)
	return func(yield func([]string) bool) {
		for _, s := range doc.Sessions {
			tokens, messages := strconv.FormatInt(s.Tokens, 10), strconv.Itoa(s.Messages)
			if s.Unreadable {
				tokens, messages = UnknownFigure, UnknownFigure
			}
			if row = row[:0]; doc.Hosts != nil {
				row = append(row, wording.Visible(s.Host))
			}
			row = append(row,
				wording.Visible(s.Runtime), wording.Visible(s.Agent), wording.Visible(s.Name()), tokens, wording.Visible(s.TokenSource),
				s.thresholdState(), strconv.FormatInt(s.Bytes, 10), messages, wording.Visible(s.LastActivity), wording.Visible(s.State),
			)
			if !yield(row) {
				return
			}
		}
	}
}

// SizesCells are the cells of a session in the table of sizes.
func SizesCells(a *workspace.Settings, s *SessionRow) []string {
	state := s.State
	switch {
	case s.Unreadable:
		state = "unreadable: " + s.Reason
	case s.Compact == ProspectIrreducible:
		state = "over, irreducible"
	case s.Compact == ProspectUnsupported:
		state = "over, unsupported"
	case s.Over:
		state = "over, " + state
	}
	if s.Kind != "live" && s.Kind != "database" {
		state += " (" + s.Kind + ")"
	}
	if s.CarriedFrom != nil {
		state += ", " + s.CarriedFrom.String()
	}
	tokens, messages, source := wording.Count(s.Tokens), s.messageCount(), s.TokenSource
	if s.Unreadable {
		tokens, messages, source = UnknownFigure, UnknownFigure, ""
	}
	return []string{
		cmp.Or(s.ProjectName, s.Agent), s.Name(), s.Title, s.Runtime, tokens, s.context(), source,
		wording.Bytes(s.Bytes), messages, wording.Age(a.Now().Sub(s.Last)), state,
	}
}

// UnknownFigure stands where there is no figure.
const UnknownFigure = "-"

// context shows how full the model's context window is, where it is known.
func (r *SessionRow) context() string {
	if r.Percent == nil {
		return UnknownFigure
	}
	return Bar(r.Tokens, int64(r.ContextWindow))
}

// Bar draws tokens of whole as filled cells and a percentage.
func Bar(tokens, whole int64) string {
	percent := int(100 * tokens / max(whole, 1))
	filled := min(barCells, (percent*barCells+50)/100)
	return strings.Repeat("█", filled) + strings.Repeat("░", barCells-filled) + fmt.Sprintf(" %3d%%", percent)
}

// OpenTailCache opens what `sizes` remembers of logs. Without a cache, or a home
// directory for it, it is remembered for this run only.
func OpenTailCache(run *workspace.Run, cached bool) {
	o := tailcache.Options{Now: run.Now}
	if path := CacheFile(&run.Settings); cached && path != "" && workspace.Ours(&run.Settings, path) {
		o.File, o.Stamp = path, ProgramStamp(run.Version)
	}
	run.TailCache = tailcache.Open(o)
}

// SaveTailCache keeps what was seen for the next run. A cache that cannot be
// written costs that run time and nothing else.
func SaveTailCache(run *workspace.Run) { _ = run.TailCache.Save() }

// CacheFile is where that is kept, or "" without a home directory.
func CacheFile(a *workspace.Settings) string { return cacheFile(a, "sizes") }

func cacheFile(a *workspace.Settings, name string) string {
	if dir := a.Xdg("XDG_CACHE_HOME", ".cache"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sessctl", name)
	}
	return ""
}

// UnchangedCache is where archive remembers which files it need not read again, or ""
// where it cannot.
func UnchangedCache(run *workspace.Run) string { return ownCache(run, "unchanged") }

// ownCache is a file of the cache, or "" where none can be written.
func ownCache(run *workspace.Run, name string) string {
	if path := cacheFile(&run.Settings, name); path != "" && workspace.Ours(&run.Settings, path) {
		return path
	}
	return ""
}

// ProgramStamp tells builds of the program apart: another one may read a log
// in another way.
func ProgramStamp(version string) string {
	stamp := version
	path, err := os.Executable()
	if err != nil {
		return stamp
	}
	info, err := os.Stat(path)
	if err != nil {
		return stamp
	}
	return stamp + " " + strconv.FormatInt(info.Size(), 10) + " " + strconv.FormatInt(info.ModTime().UnixNano(), 10)
}

// ReadEnds lists the stores again whose listing reads the ends of logs too, and
// leaves these in the tail cache. What cannot be listed now is read log by log.
func ReadEnds(ctx context.Context, run *workspace.Run) {
	for _, s := range run.Opened {
		if with := s.Capabilities().WithTailCache; with != nil {
			_, _ = with(run.TailCache).List(ctx)
		}
	}
}

// tail is what the end of a log says, from memory if nothing has changed.
func tail(ctx context.Context, run *workspace.Run, s *workspace.Found) (session.Tail, error) {
	if !s.Kind.InFile() {
		return s.Adapter.Tail(ctx, s.Ref)
	}
	if known, ok := run.TailCache.Seen(s.Path); ok {
		return known.Tail, nil
	}
	before, err := os.Lstat(s.Path)
	if err != nil || !before.Mode().IsRegular() {
		return s.Adapter.Tail(ctx, s.Ref)
	}
	if known, ok := run.TailCache.Find(s.Path, before); ok {
		return known.Tail, nil
	}
	tail, err := s.Adapter.Tail(ctx, s.Ref)
	if err == nil && s.Adapter.Capabilities().WithTailCache == nil { // such a store keeps the beginning too
		keep(run, s.Path, before, tail)
	}
	return tail, err
}

// keep remembers what was read of a log that was before what info says, if it
// still is that.
func keep(run *workspace.Run, path string, info os.FileInfo, tail session.Tail) {
	log, err := durable.OpenRegular(path)
	if err != nil {
		return
	}
	defer log.Close()
	after, err := log.Stat()
	if err == nil && durable.Identify(after) == durable.Identify(info) && after.Size() == info.Size() && after.ModTime().Equal(info.ModTime()) {
		run.TailCache.Keep(path, after, log, session.CachedTail{Tail: tail})
	}
}
