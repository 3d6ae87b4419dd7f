package cmd

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

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/tailcache"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// exactCountBytes is the total size of all sessions up to which messages are
// counted exactly; above it the count of a large log is estimated from its
// end, so that sizes stays faster than reading the files.
const exactCountBytes = 32 << 20

type sizesOptions struct {
	Agent     string
	Threshold int64
	Over      bool
	Sort      string
	Exact     bool
	All       bool
	ByType    bool
	Orphans   bool
	NoCache   bool
	hostsOption

	thresholdAsked bool // as a flag: not as a default or by the configuration
}

func (o *sizesOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Agent, "agent", "", "only sessions of this `agent`")
	fs.Int64Var(&o.Threshold, "threshold", 0, "mark sessions of at least this many `tokens` (default 150000)")
	fs.BoolVar(&o.Over, "over", false, "only sessions at or over the threshold")
	fs.StringVar(&o.Sort, "sort", "tokens", "sort by `key`: tokens, bytes, age or agent")
	fs.BoolVar(&o.Exact, "exact", false, "count messages exactly, reading every log in full")
	fs.BoolVar(&o.All, "all", false, "also closed logs, backups and checkpoints that the runtime keeps")
	fs.BoolVar(&o.ByType, "by-type", false, "show what fills the logs: bytes by type of record, base64, repeated text")
	fs.BoolVar(&o.Orphans, "orphans", false, "only sessions that the runtime's index does not name")
	fs.BoolVar(&o.NoCache, "no-cache", false, "read every log, also those that have not changed since the last run")
	o.hostsOption.addFlags(fs)
	fromConfig(fs, "threshold", "compaction.threshold")
}

func (o *sizesOptions) validate() error {
	if !slices.Contains([]string{"tokens", "bytes", "age", "agent"}, o.Sort) {
		return usageError("--sort takes tokens, bytes, age or agent", "unknown sort key %q", o.Sort)
	}
	if o.ByType && o.asked() {
		return usageError("without --by-type the sessions of all hosts are listed", "--host does not go with --by-type")
	}
	if o.Threshold <= 0 {
		return usageError("", "--threshold must be positive, not %d", o.Threshold)
	}
	return nil
}

func newSizesCommand(a *app) *cobra.Command {
	var o sizesOptions
	c := &cobra.Command{
		Use:   "sizes",
		Short: "Show how full every session's context is",
		Long: `Show, for every session, how many tokens its context holds, where that figure
comes from, and whether it is large enough for compact --all: at or over the
threshold, or, where none is given, by the runtime's own rule if it has one.

The figure is the last model call's own count plus an estimate of what was added
since ("usage"), or an estimate of everything ("estimate"). Only the end of each
log is read.
` + exitHelp,
		Example: `  sessctl sizes
  sessctl sizes --over
  sessctl sizes --by-type --all
  sessctl sizes --agent coordinator --json
  sessctl sizes --over --host alpha,beta`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			o.thresholdAsked = c.Flags().Changed("threshold")
			if err := cmp.Or(o.validate(), o.read(c)); err != nil {
				return err
			}
			if o.asked() {
				return runSizesOfHosts(c.Context(), a, o)
			}
			return runSizes(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	return c
}

// sizesDocument is `sizes --json` (docs/json.md).
type sizesDocument struct {
	Schema    int           `json:"schema"`
	Threshold int64         `json:"threshold"` // 0 with --host if the hosts have different ones
	Sessions  []*sessionRow `json:"sessions"`
	Notes     []note        `json:"notes"`
	Hosts     []hostAnswer  `json:"hosts,omitempty"` // of --host

	measured int // sessions, also those that --over leaves out
}

// sessionRow is one session of `sizes`.
type sessionRow struct {
	Host           string   `json:"host,omitempty"` // with --host
	Runtime        string   `json:"runtime"`
	Agent          string   `json:"agent"`
	Session        string   `json:"session"`
	Key            string   `json:"key"`
	Kind           string   `json:"kind"`
	Path           string   `json:"path"`
	Bytes          int64    `json:"bytes"`
	Messages       int      `json:"messages"`
	MessagesSource string   `json:"messages_source"` // count or estimate
	Tokens         int64    `json:"tokens"`
	TokenSource    string   `json:"token_source"`
	IndexTokens    *int64   `json:"index_tokens"` // the runtime's own counter, null if it has none
	ContextWindow  int      `json:"context_window"`
	Percent        *float64 `json:"percent"` // of the context window, null if that is unknown
	Over           bool     `json:"over"`
	Compact        string   `json:"compact"`       // what compact --all does with a session that is over, see prospect
	LastActivity   string   `json:"last_activity"` // RFC 3339, UTC
	Expires        *string  `json:"expires"`       // when the runtime deletes the log by itself, null for never
	State          string   `json:"state"`
	Reason         string   `json:"reason"`
	Unreadable     bool     `json:"unreadable"` // the log could not be read, see reason: tokens and messages are not known

	last   time.Time
	alike  bool  // another session of the agent has the same key
	unread error // why it could not be read
}

func runSizes(ctx context.Context, a *app, o sizesOptions) error {
	if o.ByType {
		all, err := a.sessionsFor(ctx, o)
		if err != nil {
			return err
		}
		return runTypes(ctx, a, all.sessions)
	}
	doc, err := a.sizes(ctx, o)
	if err != nil {
		return err
	}
	return renderSizes(a, doc)
}

// runSizesOfHosts shows the sessions of several hosts in one list.
func runSizesOfHosts(ctx context.Context, a *app, o sizesOptions) error {
	doc := sizesDocument{Schema: 1, Sessions: []*sessionRow{}}
	answered := 0
	var outcome error
	doc.Hosts, outcome = askHosts(ctx, a, &o.hostsOption, func(host string, there sizesDocument) {
		for _, row := range there.Sessions {
			row.Host = host
			row.last, _ = time.Parse(time.RFC3339, row.LastActivity) // without one the row says that it is idle for long
		}
		if answered++; answered == 1 {
			doc.Threshold = there.Threshold
		} else if doc.Threshold != there.Threshold {
			doc.Threshold = 0
		}
		doc.Sessions, doc.measured = append(doc.Sessions, there.Sessions...), doc.measured+len(there.Sessions)
		a.noticeOf(host, there.Notes)
	})
	if doc.Hosts == nil {
		return outcome
	}
	sortRows(doc.Sessions, o.Sort)
	doc.Notes = a.notes
	return cmp.Or(renderSizes(a, doc), outcome)
}

// sizes measures the sessions that the options mean.
func (a *invocation) sizes(ctx context.Context, o sizesOptions) (sizesDocument, error) {
	a.openTailCache(!o.NoCache)
	all, err := a.sessionsFor(ctx, o)
	if err != nil {
		return sizesDocument{}, err
	}
	sessions := all.sessions
	doc := sizesDocument{Schema: 1, Threshold: o.Threshold, Sessions: make([]*sessionRow, 0, len(sessions)), measured: len(sessions)}
	rows, err := a.measureAll(ctx, sessions, all.inDatabase(), o)
	if err != nil {
		return doc, err
	}
	for _, row := range rows {
		if row.Over || !o.Over {
			doc.Sessions = append(doc.Sessions, row)
		}
	}
	a.saveTailCache()
	sortRows(doc.Sessions, o.Sort)
	doc.Notes = a.notes
	return doc, nil
}

// sessionsFor lists the sessions that the options mean.
func (a *invocation) sessionsFor(ctx context.Context, o sizesOptions) (inventory, error) {
	all, err := a.findSessions(ctx)
	if err != nil {
		return all, err
	}
	if all, err = all.of(o.Agent); err != nil {
		return all, err
	}
	a.warnOfPurge(ctx, all.sessions)
	if !o.All {
		all.sessions = slices.DeleteFunc(all.sessions, func(s found) bool { return !shown(s.Kind) })
	}
	if all.sessions, err = a.withoutArchivedPrompts(ctx, all.sessions); err != nil {
		return all, err
	}
	if o.Orphans {
		all.sessions = slices.DeleteFunc(all.sessions, func(s found) bool { return s.Kind != session.KindOrphan })
	}
	return all, nil
}

// shown says whether a log is one that an agent may still be using.
func shown(k session.Kind) bool {
	switch k {
	case session.KindLive, session.KindTopic, session.KindOrphan, session.KindArchived, session.KindDatabase, session.KindStored:
		return true
	}
	return false
}

func totalBytes(sessions []found) (total int64) {
	for _, s := range sessions {
		total += s.Bytes
	}
	return total
}

func sortRows(rows []*sessionRow, key string) {
	slices.SortFunc(rows, func(x, y *sessionRow) int {
		first := 0
		switch key {
		case "tokens":
			first = cmp.Compare(y.Tokens, x.Tokens)
		case "bytes":
			first = cmp.Compare(y.Bytes, x.Bytes)
		case "age":
			first = x.last.Compare(y.last)
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

func byName(x, y *sessionRow) int {
	return cmp.Or(strings.Compare(x.Agent, y.Agent), strings.Compare(x.Runtime, y.Runtime), strings.Compare(x.Session, y.Session))
}

// thresholdState is the word of the table.
func (r *sessionRow) thresholdState() string {
	switch {
	case r.Unreadable:
		return "unreadable"
	case r.Compact == prospectIrreducible:
		return prospectIrreducible
	case r.Over:
		return "over"
	}
	return "ok"
}

// name is what the session is called in a table: its key, but for one that does
// not tell it from others.
func (r *sessionRow) name() string {
	if r.Key != "" && r.Key != r.Agent && !r.alike && r.Reason != session.ReasonEarlier {
		return r.Key
	}
	return r.Session
}

func (r *sessionRow) messageCount() string {
	if r.MessagesSource == "estimate" {
		return "~" + formatCount(int64(r.Messages))
	}
	return fmt.Sprint(formatCount(int64(r.Messages)))
}

// measureAll makes the row of every session, and tells of logs that cannot be
// read.
func (a *invocation) measureAll(ctx context.Context, sessions []found, inDatabase map[owner]bool, o sizesOptions) ([]*sessionRow, error) {
	all := compactOptions{
		All: true, Threshold: o.Threshold, thresholdAsked: o.thresholdAsked, Strategy: a.config.Compaction.Strategy,
		Quiet: a.config.Compaction.Quiet, Gateway: a.config.Compaction.Gateway, KeepRecentTokens: a.config.Compaction.Keep,
	}
	m := measurer{invocation: a, policy: all.policy(a), inDatabase: inDatabase, exact: o.Exact || totalBytes(sessions) <= exactCountBytes}
	rows, err := m.rows(ctx, sessions)
	for _, row := range rows {
		a.tellUnread(row.Path, row.unread)
	}
	markAlike(rows)
	return rows, err
}

// markAlike marks the sessions of an agent that have the same key. An earlier
// session of a key is not one of them: the key means the one that came after.
func markAlike(rows []*sessionRow) {
	type place struct{ runtime, agent, key string }
	first := map[place]*sessionRow{}
	for _, r := range rows {
		if r.Reason == session.ReasonEarlier {
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

// rows makes the row of every session. Logs that are not known from an earlier
// run are read, as many at a time as there are workers.
func (m *measurer) rows(ctx context.Context, sessions []found) ([]*sessionRow, error) {
	rows := make([]*sessionRow, len(sessions))
	var unknown []int
	for i := range sessions {
		if m.known(&sessions[i]) {
			rows[i] = m.measure(ctx, &sessions[i])
		} else {
			unknown = append(unknown, i)
		}
	}
	err := session.Spread(ctx, m.workers(), len(unknown), func(_, i int) {
		rows[unknown[i]] = m.measure(ctx, &sessions[unknown[i]])
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// tellUnread says why a log could not be read. One of another format was read,
// and one that is gone since it was listed is not missing.
func (a *invocation) tellUnread(path string, err error) {
	switch {
	case err == nil || errors.Is(err, session.ErrUnknownFormat):
	case errors.Is(err, fs.ErrNotExist):
		a.notice(note{Path: path, Message: err.Error()})
	default:
		a.passOver(note{Path: path, Message: err.Error()})
	}
}

// measurer makes rows of `sizes`.
type measurer struct {
	*invocation
	policy     compact.Policy // that of compact --all
	inDatabase map[owner]bool // agents whose sessions are in a database
	exact      bool           // messages are to be counted, not estimated
}

// known says whether a row can be made without reading.
func (m *measurer) known(s *found) bool {
	if s.Kind == session.KindDatabase {
		return true
	}
	seen, ok := m.tailCache.Seen(s.Path)
	return ok && (seen.Tail.MessagesExact || !m.exact)
}

// measure reads the end of one log. A log that cannot be read is a row that
// says so, not the end of the run.
func (m *measurer) measure(ctx context.Context, s *found) *sessionRow {
	row := &sessionRow{
		Runtime: s.Runtime, Agent: s.Agent, Session: s.ID, Key: s.Key, Kind: string(s.Kind), Path: s.Path,
		Bytes: s.Bytes, ContextWindow: s.ContextWindow, State: string(s.State), Reason: s.Reason, last: s.ModTime,
	}
	if s.Counter.Tokens > 0 {
		row.IndexTokens = &s.Counter.Tokens
	}
	if !s.Expires.IsZero() {
		expires := s.Expires.UTC().Format(time.RFC3339)
		row.Expires = &expires
	}
	if s.Kind == session.KindDatabase {
		row.Tokens, row.TokenSource = s.Counter.Tokens, session.TokensFromIndex
		if row.Over = row.Tokens >= m.policy.Threshold; row.Over {
			row.Compact = prospectUnsupported
		}
	} else if err := m.readLog(ctx, row, s); err != nil {
		row.State, row.Reason, row.TokenSource = string(session.StateUnsupported), err.Error(), session.TokensFromEstimate
		row.unread, row.Unreadable = err, true
		row.Over, row.Compact = false, ""
	}
	row.LastActivity = row.last.UTC().Format(time.RFC3339)
	if row.ContextWindow > 0 && !row.Unreadable {
		percent := math.Round(1000*float64(row.Tokens)/float64(row.ContextWindow)) / 10
		row.Percent = &percent
	}
	return row
}

func (m *measurer) readLog(ctx context.Context, r *sessionRow, s *found) error {
	tail, err := m.tail(ctx, s)
	if err != nil {
		return err
	}
	if err := m.judge(ctx, r, s, tail); err != nil {
		return err
	}
	r.Tokens, r.TokenSource = tail.Tokens, tail.TokenSource
	r.Messages, r.MessagesSource = tail.Messages, "count"
	r.ContextWindow = cmp.Or(r.ContextWindow, tail.ContextWindow)
	if !tail.LastActivity.IsZero() {
		r.last = tail.LastActivity
	}
	if tail.MessagesExact {
		return nil
	}
	r.MessagesSource = "estimate"
	if !m.exact {
		return nil
	}
	if counter := s.store.Capabilities().Counter; counter != nil {
		r.MessagesSource = "count"
		if r.Messages, err = counter.CountMessages(ctx, s.Ref); err == nil {
			m.tailCache.Counted(s.Path, r.Messages)
		}
	}
	return err
}

// barCells is the width of the bar that shows how full a context is.
const barCells = 10

// renderSizes prints the table on a terminal, else tab-separated rows.
func renderSizes(a *app, doc sizesDocument) error {
	switch {
	case a.JSON:
		return a.printJSON(doc)
	case !a.OutTTY:
		return a.printEach(sizesRows(doc))
	case doc.Hosts != nil:
		hosts := make([]string, len(doc.Sessions))
		for i, s := range doc.Sessions {
			hosts[i] = s.Host
		}
		return a.printTable(a.sizesTable(doc).hostColumn(hosts))
	}
	return a.printTable(a.sizesTable(doc))
}

// sizesRows makes the rows for programs, each valid until the next.
func sizesRows(doc sizesDocument) iter.Seq[[]string] {
	row := make([]string, 0, 11)
	return func(yield func([]string) bool) {
		for _, s := range doc.Sessions {
			tokens, messages := strconv.FormatInt(s.Tokens, 10), strconv.Itoa(s.Messages)
			if s.Unreadable {
				tokens, messages = unknownFigure, unknownFigure
			}
			if row = row[:0]; doc.Hosts != nil {
				row = append(row, visible(s.Host))
			}
			row = append(row,
				visible(s.Runtime), visible(s.Agent), visible(s.name()), tokens, visible(s.TokenSource),
				s.thresholdState(), strconv.FormatInt(s.Bytes, 10), messages, visible(s.LastActivity), visible(s.State),
			)
			if !yield(row) {
				return
			}
		}
	}
}

// sizesTable is the page for people.
func (a *settings) sizesTable(doc sizesDocument) table {
	t := table{
		empty: "no sessions",
		columns: []column{
			{name: "AGENT", least: 10}, {name: "SESSION", least: 12}, {name: "RUNTIME", drop: 3}, {name: "TOKENS", right: true}, {name: "CONTEXT", drop: 1},
			{name: "SOURCE", drop: 6}, {name: "SIZE", right: true, drop: 4}, {name: "MESSAGES", right: true, drop: 5}, {name: "IDLE", right: true, drop: 2}, {name: "STATE", least: 10},
		},
	}
	over, ruled, irreducible := 0, 0, 0
	for _, s := range doc.Sessions {
		t.rows = append(t.rows, a.sizesCells(s))
		if s.Compact == prospectIrreducible {
			irreducible++
		}
		switch {
		case s.Over && s.Tokens >= doc.Threshold && doc.Threshold > 0:
			over++
		case s.Over:
			ruled++
		}
	}
	const tokens, context, state = 3, 4, 9
	t.warn = func(row, column int) bool {
		s := doc.Sessions[row]
		return s.Over && (column == tokens || column == context) || s.Unreadable && column == state
	}
	t.footer = fmt.Sprintf("%d of %d sessions at or over %s tokens", over, doc.measured, formatCount(doc.Threshold))
	if doc.Threshold == 0 {
		t.footer = fmt.Sprintf("%d of %d sessions at or over the threshold of their host", over+ruled, doc.measured)
		ruled = 0
	}
	if irreducible > 0 {
		t.footer += fmt.Sprintf(", %s of them irreducible (compact finds nothing to cut away)", formatCount(int64(irreducible)))
	}
	if ruled > 0 {
		t.footer += fmt.Sprintf(", %s more over by the runtime's own rule", formatCount(int64(ruled)))
	}
	return t
}

func (a *settings) sizesCells(s *sessionRow) []string {
	state := s.State
	switch {
	case s.Unreadable:
		state = "unreadable: " + s.Reason
	case s.Compact == prospectIrreducible:
		state = "over, irreducible"
	case s.Over:
		state = "over, " + state
	}
	if s.Kind != "live" && s.Kind != "database" {
		state += " (" + s.Kind + ")"
	}
	tokens, messages, source := formatCount(s.Tokens), s.messageCount(), s.TokenSource
	if s.Unreadable {
		tokens, messages, source = unknownFigure, unknownFigure, ""
	}
	return []string{
		s.Agent, s.name(), s.Runtime, tokens, s.context(), source,
		formatBytes(s.Bytes), messages, formatAge(a.now().Sub(s.last)), state,
	}
}

// unknownFigure stands where there is no figure.
const unknownFigure = "-"

// context shows how full the model's context window is, where it is known.
func (r *sessionRow) context() string {
	if r.Percent == nil {
		return unknownFigure
	}
	return bar(r.Tokens, int64(r.ContextWindow))
}

// bar draws tokens of whole as filled cells and a percentage.
func bar(tokens, whole int64) string {
	percent := int(100 * tokens / max(whole, 1))
	filled := min(barCells, (percent*barCells+50)/100)
	return strings.Repeat("█", filled) + strings.Repeat("░", barCells-filled) + fmt.Sprintf(" %3d%%", percent)
}

// openTailCache opens what `sizes` remembers of logs. Without a cache, or a home
// directory for it, it is remembered for this run only.
func (a *invocation) openTailCache(cached bool) {
	o := tailcache.Options{Now: a.now}
	if path := a.cacheFile(); cached && path != "" && a.ours(path) {
		o.File, o.Stamp = path, programStamp(a.version)
	}
	a.tailCache = tailcache.Open(o)
}

// saveTailCache keeps what was seen for the next run. A cache that cannot be
// written costs that run time and nothing else.
func (a *invocation) saveTailCache() { _ = a.tailCache.Save() }

// cacheFile is where that is kept, or "" without a home directory.
func (a *settings) cacheFile() string {
	if dir := a.xdg("XDG_CACHE_HOME", ".cache"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sessctl", "sizes")
	}
	return ""
}

// ours reports whether a file may be made at path: root leaves none in another
// user's directory.
func (a *settings) ours(path string) bool {
	_, info, err := nearest(filepath.Dir(path))
	if err != nil {
		return false
	}
	uid, known := durable.Owner(info)
	return !known || uid == os.Geteuid()
}

// programStamp tells builds of the program apart: another one may read a log
// in another way.
func programStamp(version string) string {
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

// withTailCache is a store that remembers what it sees, where it can. Where nothing
// is known yet it lists with several workers; to look again at logs that are
// known is so little work that to share it would cost more.
func (a *invocation) withTailCache(s session.Store) session.Store {
	if a.tailCache == nil {
		return s
	}
	if with := s.Capabilities().WithWorkers; with != nil && a.tailCache.Empty() {
		s = with(a.workers())
	}
	if with := s.Capabilities().WithTailCache; with != nil && !a.endsLater {
		s = with(a.tailCache)
	}
	return s
}

// readEnds lists the stores again whose listing reads the ends of logs too, and
// leaves these in the tail cache. What cannot be listed now is read log by log.
func (a *invocation) readEnds(ctx context.Context) {
	for _, s := range a.opened {
		if with := s.Capabilities().WithTailCache; with != nil {
			_, _ = with(a.tailCache).List(ctx)
		}
	}
}

// tail is what the end of a log says, from memory if nothing has changed.
func (a *invocation) tail(ctx context.Context, s *found) (session.Tail, error) {
	if !s.Kind.InFile() {
		return s.store.Tail(ctx, s.Ref)
	}
	if known, ok := a.tailCache.Seen(s.Path); ok {
		return known.Tail, nil
	}
	before, err := os.Lstat(s.Path)
	if err != nil || !before.Mode().IsRegular() {
		return s.store.Tail(ctx, s.Ref)
	}
	if known, ok := a.tailCache.Find(s.Path, before); ok {
		return known.Tail, nil
	}
	tail, err := s.store.Tail(ctx, s.Ref)
	if err == nil && s.store.Capabilities().WithTailCache == nil { // such a store keeps the beginning too
		a.keep(s.Path, before, tail)
	}
	return tail, err
}

// keep remembers what was read of a log that was before what info says, if it
// still is that.
func (a *invocation) keep(path string, info os.FileInfo, tail session.Tail) {
	log, err := durable.OpenRegular(path)
	if err != nil {
		return
	}
	defer log.Close()
	after, err := log.Stat()
	if err == nil && durable.Identify(after) == durable.Identify(info) && after.Size() == info.Size() && after.ModTime().Equal(info.ModTime()) {
		a.tailCache.Keep(path, after, log, session.CachedTail{Tail: tail})
	}
}
