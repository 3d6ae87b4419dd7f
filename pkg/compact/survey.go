package compact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// Survey is what reading a whole log once has shown.
type Survey struct {
	Scan   session.Scan
	Chunks int
	Runes  int64 // code points of all message texts, as they go to memory
	// Covered counts the bytes of the log that some chunk was made from.
	Covered    int64
	coveredEnd int64
	// LeftOut counts the bytes of base64, control characters, memories that were
	// recalled and summaries of ours, which memory does not get (or, the last,
	// has as summaries). The archive has them.
	LeftOut int64
	// Cut counts the bytes of tools' output beyond the limit of one (see
	// Policy.OutputLimit). The archive has them.
	Cut      int64
	Redacted int // values that looked like secrets: in the archive only
	secrets  *secrets.Session
	bypassed []int64  // where the records of our summaries are that the session does not go by
	outline  *outline // only if it was asked for
}

// surveyOptions say what a survey counts and looks for.
type surveyOptions struct {
	chunk chunk.Options
	limit int64         // bytes that memory takes of one output of a tool
	keep  *session.Keep // to outline the context; nil for not
	rough bool          // see reader.rough
}

// skipped returns the number of lines that could not be read.
func (s Survey) skipped() int { return s.Scan.Counts.Bad }

// reader hands a log's messages to the chunker as pieces.
type reader struct {
	store   session.Store
	options chunk.Options
	limit   int64 // bytes that memory takes of one output of a tool
	rough   bool  // nothing is kept of what is read: secrets are only looked for
	secrets *secrets.Session
	text    []byte
	survey  Survey
}

// read scans the log, twice if it has forks: the first pass finds out which
// entries are active. observe sees every message, with the details of tools'
// results, and may be nil.
func (r *reader) read(ctx context.Context, open func() (io.ReadCloser, error), tree *session.Tree, observe func(*session.Message) error, emit func(*chunk.Chunk) error) error {
	src, err := open()
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer src.Close()
	r.survey = Survey{}
	cut := chunk.New(r.options, func(c *chunk.Chunk) error {
		r.survey.Chunks++
		r.survey.cover(c)
		return emit(c)
	})
	scan, err := r.store.Scan(ctx, src, session.ScanOptions{Tree: tree, Thinking: true, Details: observe != nil}, func(m *session.Message) error {
		if observe != nil {
			if err := observe(m); err != nil {
				return err
			}
		}
		return r.add(cut, m)
	})
	if err != nil {
		return err
	}
	r.survey.Scan = scan
	return cut.Flush()
}

// cover counts the bytes that a chunk is the first to be made from. Chunks come
// in the order of the log, and overlap.
func (s *Survey) cover(c *chunk.Chunk) {
	s.Covered += max(0, c.EndByte-max(c.FirstByte, s.coveredEnd))
	s.coveredEnd = max(s.coveredEnd, c.EndByte)
}

func (r *reader) add(cut *chunk.Chunker, m *session.Message) error {
	r.survey.LeftOut += m.CutStored()
	if !m.Embeddable() {
		return nil
	}
	r.text = m.AppendText(r.text[:0])
	if m.Own {
		r.survey.LeftOut += int64(len(r.text))
		if m.Compaction && m.Branch == session.Abandoned {
			r.survey.bypassed = append(r.survey.bypassed, m.Offset)
		}
		return nil
	}
	said, recalled := session.CutRecalled(r.text)
	clean, leftOut := session.Clean(said)
	r.survey.LeftOut += recalled + leftOut
	if r.rough {
		r.secrets.Learn(clean)
	} else {
		clean, _ = r.secrets.RedactBytes(clean)
	}
	r.survey.Redacted = r.secrets.Values()
	clean = session.QuoteLabels(clean)
	if m.Role == session.RoleToolResult || m.Role == session.RoleShell {
		var cut int64
		clean, cut = cutOutput(clean, r.limit)
		r.survey.Cut += cut
	}
	r.survey.Runes += chunk.CountRunes(clean)
	return cut.Add(chunk.Piece{
		Label: m.Label(), Text: clean, Message: m.Ordinal, Line: m.Line, LastLine: m.LastLine,
		Offset: m.Offset, End: m.Offset + m.Length, Time: m.Time, Abandoned: m.Branch == session.Abandoned, Carried: m.Carried,
	})
}

// survey is a survey of what memory would hold under this policy.
func (p Policy) survey() surveyOptions {
	return surveyOptions{chunk: p.Chunk, limit: p.outputLimit()}
}

// takeSurvey reads a log and counts what a compaction would store. A log with forks is
// read twice, and one with a secret too: that may stand before the place that tells it.
func takeSurvey(ctx context.Context, store session.Store, o surveyOptions, open func() (io.ReadCloser, error)) (Survey, error) {
	r := &reader{store: store, options: o.chunk, limit: o.limit, rough: o.rough, secrets: secrets.NewSession()}
	if err := r.pass(ctx, o, nil, open); err != nil {
		return Survey{}, err
	}
	tree := r.survey.Scan.Tree
	if forked(tree) != nil || r.secrets.Recurring() > 0 && !o.rough {
		if err := r.pass(ctx, o, forked(tree), open); err != nil {
			return Survey{}, err
		}
		r.survey.Scan.Tree = tree
	}
	r.survey.secrets = r.secrets
	return r.survey, nil
}

// forked returns the tree if the log has forks, else nil: a log without forks
// is read in one pass.
func forked(t *session.Tree) *session.Tree {
	if t != nil && t.Forked() {
		return t
	}
	return nil
}

// pass is one pass of a survey.
func (r *reader) pass(ctx context.Context, o surveyOptions, tree *session.Tree, open func() (io.ReadCloser, error)) error {
	var out *outline
	var observe func(*session.Message) error
	if o.keep != nil {
		out = newOutline(*o.keep)
		observe = out.add
	}
	if err := r.read(ctx, open, tree, observe, func(*chunk.Chunk) error { return nil }); err != nil {
		return err
	}
	r.survey.outline = out
	return nil
}

// Survey reads an archived log and counts what a compaction under this policy
// would store of it.
func (c *Compactor) Survey(ctx context.Context, store session.Store, a Archived, policy Policy) (Survey, error) {
	return takeSurvey(ctx, store, policy.survey(), func() (io.ReadCloser, error) { return c.Archiver.Open(ctx, a) })
}

// outline is what the cut of a session is decided on: one small entry for each
// message of its context. It is built while the log is read.
type outline struct {
	keep    session.Keep
	context session.Context[outlined]
	opened  map[string]int // ordinals of the messages whose calls are not answered yet, by call id

	from        int   // ordinal of the first message of the context
	count       int   // of its messages, forgotten ones included
	tokens      int64 // of its messages, forgotten ones included
	previous    bool  // a compaction's summary stands before them
	previousAt  int   // its ordinal
	previousTok int64
	prompt      session.Prompt
	next        int // one more than the ordinal of the last message
	limit       int // messages from which on those that will be cut away are forgotten
}

// outlined is what the cut needs to know of one message.
type outlined struct {
	ordinal, line int
	offset        int64
	id            string
	role          session.Role
	tokens        int64
	opener        int // of a tool result: ordinal of the message with its call, else maxOpener
}

const (
	maxOpener = math.MaxInt
	// outlineLimit bounds the memory of an outline: a session of a million
	// messages is outlined in about a megabyte.
	outlineLimit = 8192
)

func newOutline(keep session.Keep) *outline {
	return &outline{keep: keep, opened: map[string]int{}, from: -1, limit: outlineLimit}
}

// add takes in the next message of the log.
func (o *outline) add(m *session.Message) error {
	o.next = m.Ordinal + 1
	o.prompt.Add(m)
	if m.Branch != session.Active {
		return nil
	}
	if m.OutOfContext {
		o.context.Pass(m)
		return nil
	}
	if m.Compaction {
		o.compacted(m)
		return nil
	}
	if o.from < 0 {
		o.from = m.Ordinal
	}
	x := outlined{
		ordinal: m.Ordinal, line: m.Line, offset: m.Offset, id: string(m.ID), role: m.Role,
		tokens: m.EstimateTokens(), opener: o.openerOf(m),
	}
	o.context.Add(m, x)
	o.count++
	o.tokens += x.tokens
	o.open(m)
	if len(o.context.Entries) >= 2*o.limit {
		o.forget()
	}
	return nil
}

// openerOf finds the message whose call a tool result answers. An id that was
// used twice means its last use.
func (o *outline) openerOf(m *session.Message) int {
	if m.Role != session.RoleToolResult {
		return maxOpener
	}
	if opener, ok := o.opened[string(m.CallID)]; ok {
		delete(o.opened, string(m.CallID)) // only what is never answered takes up memory
		return opener
	}
	return maxOpener
}

func (o *outline) open(m *session.Message) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartToolCall && len(p.CallID) > 0 {
			o.opened[string(p.CallID)] = m.Ordinal
		}
	}
}

// compacted is an earlier compaction: of what came before only the tail that
// it kept is still in the context, and nothing if that is not there
// (docs/dev/decisions.md D17).
func (o *outline) compacted(m *session.Message) {
	o.previous, o.previousAt, o.previousTok = true, m.Ordinal, m.EstimateTokens()
	o.context.Pass(m)
	first, found := o.context.Kept(m)
	if !found && o.count > len(o.context.Entries) {
		return // among the forgotten: to sum up too much loses nothing
	}
	o.context.Drop(first)
	o.count, o.tokens, o.from = len(o.context.Entries), 0, -1
	for i := range o.context.Entries {
		o.tokens += o.context.Entries[i].tokens
	}
	if o.count > 0 {
		o.from = o.context.Entries[0].ordinal
	}
}

// forget drops messages that are certain to be cut away: the cut only ever
// moves on as messages are added.
func (o *outline) forget() {
	at, ok := o.find()
	if !ok {
		return
	}
	at = min(at, len(o.context.Entries)-o.limit) // a later result may push the cut back a little
	if at <= 0 {
		return
	}
	o.context.Drop(at)
}

// errNothingToCut says, with the reason, that a session would not get shorter.
var errNothingToCut = errors.New(session.ReasonNothingToCut.Text())

func nothingToCut(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errNothingToCut, fmt.Sprintf(format, args...))
}

// cut decides what is summed up and what stays (docs/dev/decisions.md D17):
//
//   - From the end backward, messages are kept until they hold what is to be
//     kept. The cut is the nearest valid one at or after that message; if
//     there is none, the nearest before it.
//   - A cut is valid before a message that is not a tool result, where no
//     tool call before it is answered after it, and where a record begins.
//   - With openCall the last turn was broken off in a call, which no runtime can
//     send without its result: if it stands in what would stay, nothing stays.
//
// errNothingToCut is returned when everything is to be kept, when there is no
// valid cut, and when there is nothing but the summary of an earlier
// compaction: that one is never summed up again.
func (o *outline) cut(openCall bool) (session.Cut, error) {
	switch {
	case o.count == 0 && o.previous:
		return session.Cut{}, nothingToCut("nothing was said since the last compaction")
	case o.count == 0:
		return session.Cut{}, nothingToCut("the context has no messages")
	case o.count == 1 && !o.previous:
		return session.Cut{}, nothingToCut("there is one message, which may be a summary already")
	}
	at, ok := o.find()
	if !ok {
		return session.Cut{}, nothingToCut("all of it is to be kept")
	}
	if openCall && o.opensAfter(at) {
		at = len(o.context.Entries)
	}
	return o.at(at), nil
}

// opensAfter reports whether a call without a result stands at or after message
// number at.
func (o *outline) opensAfter(at int) bool {
	for _, ordinal := range o.opened {
		if at < len(o.context.Entries) && ordinal >= o.context.Entries[at].ordinal {
			return true
		}
	}
	return false
}

// find returns the index of the first message that stays. It is false if
// nothing before it could be cut away.
func (o *outline) find() (int, bool) {
	target, ok := o.target()
	if !ok {
		return 0, false
	}
	valid := o.valid()
	for at := target; at < len(o.context.Entries); at++ {
		if valid[at] {
			return at, o.cutsAway(at) // going on would keep less than was asked for
		}
	}
	if target == len(o.context.Entries) {
		return target, true
	}
	for at := target - 1; at >= 0; at-- {
		if valid[at] && o.cutsAway(at) {
			return at, true
		}
	}
	return 0, false
}

// cutsAway reports whether there is a message before index at, a forgotten one
// included.
func (o *outline) cutsAway(at int) bool { return at > 0 || o.count > len(o.context.Entries) }

// target returns the index from which on messages hold what is to be kept. It
// is false if all of them do not hold that much.
func (o *outline) target() (int, bool) {
	if o.keep == (session.Keep{}) {
		return len(o.context.Entries), true
	}
	var tokens int64
	turns, records := 0, 0
	for at, m := range slices.Backward(o.context.Entries) {
		tokens += m.tokens
		if m.role == session.RoleUser {
			turns++
		}
		if at == 0 || o.context.Entries[at-1].line != m.line {
			records++ // all of it
		}
		if o.keep.Tokens > 0 && tokens >= o.keep.Tokens || o.keep.Turns > 0 && turns >= o.keep.Turns || o.keep.Records > 0 && records >= o.keep.Records {
			return at, true
		}
	}
	return 0, false
}

// valid says of each message whether a cut may stand before it.
func (o *outline) valid() []bool {
	valid := make([]bool, len(o.context.Entries))
	opener := maxOpener // the oldest call that is answered at or after the message
	for i, m := range slices.Backward(o.context.Entries) {
		opener = min(opener, m.opener)
		begins := i == 0 || o.context.Entries[i-1].line != m.line
		valid[i] = begins && m.role != session.RoleToolResult && opener >= m.ordinal
	}
	return valid
}

// at describes the cut before message number at.
func (o *outline) at(at int) session.Cut {
	c := session.Cut{From: o.from, FirstKept: o.next, Previous: o.previous, PreviousOrdinal: o.previousAt, PreviousTokens: o.previousTok}
	for _, m := range o.context.Entries[at:] {
		c.Kept++
		c.KeptTokens += m.tokens
	}
	c.Summarized, c.SummarizedTokens = o.count-c.Kept, o.tokens-c.KeptTokens
	if at < len(o.context.Entries) {
		first := o.context.Entries[at]
		c.FirstKept, c.KeptID, c.KeptLine, c.KeptByte = first.ordinal, first.id, first.line, first.offset
		c.SplitTurn = first.role == session.RoleAssistant
	}
	if n := len(o.context.Entries); n > 0 {
		c.LastID = o.context.Entries[n-1].id
	}
	return c
}

// beginnings hashes what is read and notes the SHA-256 of its first bytes at
// each of some lengths: which other logs this one begins with.
type beginnings struct {
	lengths []int64 // sorted
	sums    map[int64]string
}

// watch returns a reader that notes the sums of what is read through it.
func (b *beginnings) watch(r io.ReadCloser) io.ReadCloser {
	b.sums = map[int64]string{}
	return &watched{ReadCloser: r, to: b, hash: sha256.New(), left: b.lengths}
}

type watched struct {
	io.ReadCloser
	to   *beginnings
	hash hash.Hash
	at   int64
	left []int64
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	for done := p[:n]; len(w.left) > 0 && len(done) > 0; {
		piece := done[:min(int64(len(done)), w.left[0]-w.at)]
		w.hash.Write(piece)
		w.at += int64(len(piece))
		done = done[len(piece):]
		for len(w.left) > 0 && w.left[0] == w.at {
			w.to.sums[w.at] = hex.EncodeToString(w.hash.Sum(nil))
			w.left = w.left[1:]
		}
	}
	return n, err
}

// fingerprint is the length and SHA-256 of what a survey has read. The archive of
// the log is compared with it, so that a run reads the log twice and not a third
// time for its hash.
type fingerprint struct {
	bare   bool   // without a hash
	sum    string // of the first pass, once it is closed; hex
	summed int64  // bytes of the first pass
	size   int64  // bytes of the last pass
	ended  bool   // in the last pass the log came to its end
}

// watch notes what is read, from the beginning, through the reader it returns.
// Of several passes the first is hashed: whether the log changed between them
// its times tell.
func (f *fingerprint) watch(r io.ReadCloser) io.ReadCloser {
	f.size, f.ended = 0, false
	w := &printed{ReadCloser: r, to: f}
	if !f.bare && f.sum == "" {
		w.hash = sha256.New()
	}
	return w
}

type printed struct {
	io.ReadCloser
	to   *fingerprint
	hash hash.Hash // nil for a pass that is not hashed
}

// Read implements io.Reader.
func (p *printed) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	p.to.size += int64(n)
	p.to.ended = errors.Is(err, io.EOF)
	if p.hash != nil {
		p.hash.Write(b[:n])
	}
	return n, err
}

// Close implements io.Closer.
func (p *printed) Close() error {
	if p.hash != nil {
		p.to.sum, p.to.summed = hex.EncodeToString(p.hash.Sum(nil)), p.to.size
	}
	return p.ReadCloser.Close()
}

// begins reports whether a log begins with the bytes that were hashed.
func (f *fingerprint) begins(ctx context.Context, log *os.File) (bool, error) {
	return session.Snapshot{Size: f.summed, SHA256: f.sum}.Begins(ctx, log)
}

// fileOperations collects which files the summed up part of a session read and
// changed. It is cumulative: what earlier compactions listed stays listed
// (docs/dev/decisions.md D17).
type fileOperations struct {
	read, modified map[string]bool
	calls          map[string]fileCall // by id, until they are answered
	cursor         jsonl.Cursor
}

// fileCall is a call of a file tool.
type fileCall struct {
	path string
	to   map[string]bool
	new  bool // the path was not listed before
}

func newFileOperations() *fileOperations {
	return &fileOperations{read: map[string]bool{}, modified: map[string]bool{}, calls: map[string]fileCall{}}
}

// add takes in a message: the calls of an agent, or the summary of an earlier
// compaction with its lists.
func (f *fileOperations) add(m *session.Message) {
	if m.Role == session.RoleToolResult {
		f.answered(m)
		return
	}
	f.list(f.read, m.ReadFiles)
	f.list(f.modified, m.ModifiedFiles)
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Kind == session.PartToolCall:
			f.call(p)
		case m.Compaction && p.Kind == session.PartText:
			f.merge(string(p.Text))
		}
	}
}

// call notes the file of one call, by the tools' names, their older names, and
// Claude Code's spelling of them (docs/dev/decisions.md D17).
func (f *fileOperations) call(p *session.Part) {
	c := fileCall{}
	switch strings.ToLower(string(p.Name)) {
	case "read", "read_file":
		c.to = f.read
	case "write", "write_file", "edit", "edit_file", "multiedit":
		c.to = f.modified
	default:
		return
	}
	if c.path = f.path(p.Text); c.path == "" {
		return
	}
	c.new = !c.to[c.path]
	c.to[c.path] = true
	f.calls[string(p.CallID)] = c
}

// answered takes a file off the lists again whose only call failed.
func (f *fileOperations) answered(m *session.Message) {
	if c, ok := f.calls[string(m.CallID)]; ok && m.IsError && c.new {
		delete(c.to, c.path)
	}
	delete(f.calls, string(m.CallID))
}

// path returns the argument "path" or "file_path" of a call, if it is a string
// that can stand on a line of its own.
func (f *fileOperations) path(arguments []byte) string {
	c := &f.cursor
	c.Reset(arguments)
	if !c.EnterObject() {
		return ""
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "path", "file_path":
			if b, ok := c.Bytes(); ok && len(b) > 0 && !strings.ContainsAny(string(b), "\n\r<>") {
				return string(b)
			}
		default:
			c.Skip()
		}
	}
	return ""
}

const (
	readTag     = "read-files"
	modifiedTag = "modified-files"
)

var fileTags = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)\n*<(read-files|modified-files)>(.*?)</(?:read-files|modified-files)>`)
})

func (f *fileOperations) merge(summary string) {
	for _, found := range fileTags().FindAllStringSubmatch(summary, -1) {
		to := f.read
		if found[1] == modifiedTag {
			to = f.modified
		}
		f.list(to, slices.Collect(strings.Lines(found[2])))
	}
}

// list takes in paths that an earlier compaction has listed.
func (f *fileOperations) list(to map[string]bool, paths []string) {
	for _, path := range paths {
		if path = strings.TrimSpace(path); path != "" && !strings.ContainsAny(path, "\n\r<>") {
			to[path] = true
		}
	}
}

// summed is a summary with the lists of files: once each, a file that was
// changed only as changed, at the end of the text as tags. Tags that the text
// already has, from a summary that was fed forward, are taken out first.
func (f *fileOperations) summed(s Summary) session.Summed {
	modified := slices.Sorted(maps.Keys(f.modified))
	var read []string
	for _, path := range slices.Sorted(maps.Keys(f.read)) {
		if !f.modified[path] {
			read = append(read, path)
		}
	}
	text := strings.TrimSpace(fileTags().ReplaceAllString(s.Text, ""))
	return session.Summed{
		Text: text + tagged(readTag, read) + tagged(modifiedTag, modified), Kind: s.Kind,
		ReadFiles: append([]string{}, read...), ModifiedFiles: append([]string{}, modified...), Lessons: s.Lessons,
	}
}

func tagged(tag string, paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return "\n\n<" + tag + ">\n" + strings.Join(paths, "\n") + "\n</" + tag + ">"
}
