package compact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// Plan says what would be done with one session. It is data and keeps nothing
// open; making one changes nothing.
type Plan struct {
	Ref         session.Ref
	Outcome     Outcome // Planned, or why nothing will be done
	Reason      string
	Strategy    session.Strategy
	Tokens      int64
	TokenSource string
	Cut         session.Cut // what is summed up and what stays, with overlay and rewrite
	BytesAfter  int64       // of the log, with trim
	Cleared     bool        // by rewrite: the session goes, and no summary takes its place
	Via         string      // session.ViaGateway or ViaFiles where a gateway may run, else ""
	Advice      string      // with none: the runtime's own command
	NextStart   string      // what the runtime's next start does, where it finds no session any more; else ""
	Survey      Survey      // only of planned sessions; unless they are only shown, without Redacted, and with texts and chunks as long as before redaction
	Remembered  *Receipt    // of an earlier run, if the session has not changed since
	Irreducible bool        // nothing can be cut away: all of its context is to be kept
	// BrokenOff is when the last turn was broken off, zero if it was finished: a turn
	// is going on no longer, and the log shows no end of it.
	BrokenOff time.Time
	DueBy     DueBy            // what made it large enough; "" if nothing did, or nothing was asked
	DueAt     int64            // tokens from which it is by that, 0 where its runtime decides
	prompt    int64            // tokens that stay beside the messages, with overlay
	openCall  bool             // a call of a tool has no result, and will get none
	seen      session.Snapshot // without a hash: which bytes the survey read
	print     fingerprint      // of those bytes
	followed  bool             // it is a plan for a log that grew meanwhile
	rewriting error            // why it stopped at a log that is shorter than it was
}

// Result is what became of one session in this run. [Receipt] keeps its Compaction;
// what a command prints of it is a document of its own.
type Result struct {
	Compaction
	DueBy       DueBy         // of a plan: what made the session large enough
	DueAt       int64         // tokens from which it is by that, 0 where its runtime decides
	NextStart   string        // what the runtime's next start does, where the change leaves it no session; else ""
	Unchanged   bool          // since an earlier run archived and remembered it
	Irreducible bool          // nothing can be cut away: all of its context is to be kept
	Missing     []session.Ref // files that the records name and that are gone: this run did not archive their bytes
}

// NewResult starts a result with what the reference alone tells.
func NewResult(ref session.Ref, outcome Outcome, reason string) Result {
	return Result{Compaction: Compaction{
		Runtime: ref.Runtime, Agent: ref.Agent, Session: ref.ID, Key: ref.Key, Path: ref.Path,
		Outcome: outcome, Reason: reason, Bytes: ref.Bytes,
	}}
}

// Result is what the plan says of the session.
func (p *Plan) Result() Result {
	r := NewResult(p.Ref, p.Outcome, p.Reason)
	r.Via, r.DueBy, r.DueAt, r.NextStart = p.Via, p.DueBy, p.DueAt, p.NextStart
	r.Strategy, r.TokensBefore, r.TokenSource = p.Strategy, p.Tokens, p.TokenSource
	r.Messages, r.LinesSkipped, r.Chunks = p.Survey.Scan.Records, p.Survey.skipped(), p.Survey.Chunks
	r.TokensAfter, r.Unknown, r.Irreducible = p.Tokens, p.Survey.Scan.Unknown, p.Irreducible
	if p.seen.Size > 0 { // rows of a database are as long as their log, which is what is archived
		r.Bytes = p.seen.Size
	}
	if p.Remembered != nil {
		r.Unchanged, r.Archive, r.Chunks, r.Messages = true, p.Remembered.Archive, p.Remembered.Chunks, p.Remembered.Messages
	}
	switch {
	case p.Outcome != Planned:
	case p.Strategy == session.StrategyNone:
		r.Reason = p.left()
	case p.Strategy.Shortens():
		r.TokensAfter, r.Cut, r.Cleared = p.Cut.KeptTokens+p.prompt, &p.Cut, p.Cleared
	case p.Strategy == session.StrategyTrim:
		r.BytesAfter = p.BytesAfter
	default:
		r.TokensAfter = 0
	}
	return r
}

// stop ends a plan without an error: there is a reason to do nothing.
func (p *Plan) stop(outcome Outcome, reason string) error {
	p.Outcome, p.Reason = outcome, reason
	return nil
}

// stopBusy ends a plan because somebody may be writing the session.
func (p *Plan) stopBusy(err error) error {
	if shorter(err) {
		p.rewriting = err
	}
	return p.stop(Busy, busyReason(err))
}

// whole looks for a log that is shorter than it was when it was listed.
func (p *Plan) whole(store session.Store) error {
	if !p.Ref.Kind.InFile() || p.Ref.Bytes == 0 {
		return nil
	}
	info, err := os.Lstat(p.Ref.Path)
	if err != nil || !info.Mode().IsRegular() {
		return nil // what reads it says so
	}
	return session.CheckWhole(p.Ref, info)
}

// NewPlan decides what to do with a session: it reads the log's end for its
// size, asks the store whether somebody is writing, and only then reads the
// log once. An error means that the log could not be read.
//
// A log that became shorter is being rewritten in place. It is looked at again
// after a second, and then it is busy.
func NewPlan(ctx context.Context, store session.Store, ref session.Ref, policy Policy, now time.Time) (*Plan, error) {
	var p *Plan
	err := WaitOut(ctx, policy, func() error {
		p = &Plan{Ref: ref}
		if err := p.make(ctx, store, policy, now); err != nil {
			return err
		}
		return p.rewriting
	})
	if err != nil && !errors.Is(err, session.ErrBusy) {
		return nil, err
	}
	return p, nil
}

// foreseen is the size, in bytes, up to which Foresee reads a log to see whether
// there is something to cut away. What a larger one holds is hardly ever all to
// be kept.
const foreseen = 512 << 10

// Foresee says what NewPlan would come to, and reads as little as it can: the end
// of the log, and the whole of a small one that would be shortened. The plan has
// no survey of the others and cannot be executed.
func Foresee(ctx context.Context, store session.Store, ref session.Ref, policy Policy, now time.Time) (*Plan, error) {
	policy.DryRun = true
	p := &Plan{Ref: ref}
	if err := p.begin(ctx, store, policy, now); err != nil || p.Outcome != "" {
		return p, err
	}
	p.Outcome = Planned
	var err error
	switch {
	case (p.Strategy.Shortens() || p.Strategy == session.StrategyTrim) && ref.Bytes > foreseen:
		return p, nil
	case p.Strategy.Shortens():
		err = p.survey(ctx, store, policy)
	default:
		p.seen, _, err = look(ctx, policy.Pins, store, ref)
	}
	if err != nil || p.Outcome != Planned {
		return p, err
	}
	return p, p.tryChange(ctx, store, policy, now)
}

// make takes the steps of a plan until one of them finds a reason to stop.
func (p *Plan) make(ctx context.Context, store session.Store, policy Policy, now time.Time) error {
	if err := p.begin(ctx, store, policy, now); err != nil || p.Outcome != "" {
		return err
	}
	if p.Strategy == session.StrategyNone {
		if done, err := p.unchanged(ctx, store, policy); err != nil || done {
			return err
		}
	}
	if err := p.survey(ctx, store, policy); errors.Is(err, fs.ErrNotExist) {
		return p.stop(Busy, session.ReasonMovedRead.Text())
	} else if errors.Is(err, durable.ErrHeld) {
		return p.stop(Busy, session.ReasonOpenElsewhere.Text())
	} else if err != nil || p.Outcome != Planned {
		return err
	}
	return p.tryChange(ctx, store, policy, now)
}

// begin takes the steps of a plan for which the end of the log is enough.
func (p *Plan) begin(ctx context.Context, store session.Store, policy Policy, now time.Time) error {
	p.Strategy = policy.Strategy
	if p.Ref.Fragment { // there is nothing to keep of it where it is
		p.Strategy = session.StrategyRotate
	}
	if p.Ref.State == session.StateUnsupported && !(policy.LeaveSessions && p.Ref.Kind != session.KindDatabase || p.Ref.Kind.Closed()) {
		return p.stop(Unsupported, p.Ref.Reason)
	}
	if reason := p.choose(store, policy); reason != "" {
		return p.stop(Unsupported, reason)
	}
	if policy.Requested && p.isForeign(store, policy) {
		return nil
	}
	if err := p.whole(store); err != nil {
		return p.stopBusy(err)
	}
	tail, err := store.Tail(ctx, p.Ref)
	if policy.LeaveSessions && errors.Is(err, session.ErrUnknownFormat) {
		err = nil // its size does not matter
	}
	if errors.Is(err, fs.ErrNotExist) {
		return p.stop(Busy, session.ReasonMovedSinceListed.Text())
	}
	if errors.Is(err, durable.ErrHeld) {
		return p.stop(Busy, session.ReasonOpenElsewhere.Text())
	}
	if err = cutShort(p.Ref, err); shorter(err) {
		return p.stopBusy(err)
	}
	if errors.Is(err, session.ErrUnknownFormat) {
		if reason := logfile.Whose(store, p.Ref); reason != "" {
			return p.stop(Unsupported, reason)
		}
	}
	if err != nil {
		return fmt.Errorf("count its tokens: %w", err)
	}
	p.Tokens, p.TokenSource = tail.Tokens, tail.TokenSource
	if due, err := p.due(ctx, store, tail, policy, now); err != nil || !due {
		return err
	}
	if p.Ref.Bytes == 0 {
		return p.stop(NothingToDo, session.ReasonNoBytes.Text())
	}
	if !policy.Requested && p.isForeign(store, policy) {
		return nil
	}
	idle, err := p.idle(ctx, store, policy, now)
	if err == nil && idle && !tail.Finished() && !p.followed && p.Strategy != session.StrategyNone {
		p.breakOff(tail)
	}
	return err
}

// isForeign ends a plan for a file that another program has written, or that would be
// changed and does not show that its runtime has.
func (p *Plan) isForeign(store session.Store, policy Policy) bool {
	var reason string
	if policy.LeaveSessions || p.Strategy == session.StrategyNone {
		reason = logfile.Claimed(store, p.Ref)
	} else {
		reason = logfile.NotOwn(store, p.Ref)
	}
	if reason != "" {
		_ = p.stop(Unsupported, reason)
	}
	return reason != ""
}

// breakOff notes that the last turn of an idle session has no end, and says so.
func (p *Plan) breakOff(tail session.Tail) {
	p.BrokenOff, p.openCall = tail.LastActivity, !tail.Answered
	p.Reason = p.brokenOff()
}

// brokenOff says when the last turn was broken off, "" if it was finished.
func (p *Plan) brokenOff() string {
	if p.BrokenOff.IsZero() {
		return ""
	}
	return session.ReasonBrokenOff.Text(p.BrokenOff.UTC().Format(time.DateOnly))
}

// both joins two things that are to be said, of which either may be "".
func both(one, other string) string {
	if one == "" || other == "" {
		return one + other
	}
	return one + "; " + other
}

// survey reads the whole log and remembers which bytes it read.
func (p *Plan) survey(ctx context.Context, store session.Store, policy Policy) error {
	seen, open, err := look(ctx, policy.Pins, store, p.Ref)
	if err != nil {
		return err
	}
	p.seen, p.print = seen, fingerprint{bare: policy.DryRun}
	p.Survey, err = takeSurvey(ctx, store, p.surveyOptions(store, policy), func() (io.ReadCloser, error) {
		log, err := open()
		if err != nil {
			return nil, err
		}
		return p.print.watch(log), nil
	})
	if p.print.ended && p.print.size < seen.Size {
		return p.stopBusy(&session.BusyError{Reason: session.ReasonShorterRewriting.Text(), Change: session.ChangeShorter})
	}
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	p.Outcome = Planned
	if p.Survey.Scan.Messages == 0 {
		p.Outcome, p.Reason = NothingToDo, session.ReasonNoMessages.Text()
	}
	if reason := p.notItsRecords(store, policy); reason != "" {
		p.Outcome, p.Reason = Unsupported, reason
	}
	return nil
}

// notItsRecords says why a log that was read is not one of its runtime's, "" if it is:
// it would be changed and has mostly records of others, or was named and has nothing
// that the runtime has said.
func (p *Plan) notItsRecords(store session.Store, policy Policy) string {
	switch {
	case p.Outcome == NothingToDo && policy.Requested:
		return logfile.NotOwn(store, p.Ref)
	case p.Outcome == NothingToDo, policy.LeaveSessions, p.Strategy == session.StrategyNone, p.Ref.Kind == session.KindStored:
		return ""
	}
	reason := logfile.MostlyUnknown(p.Survey.Scan, p.Ref.Runtime)
	if reason == "" && p.Strategy != session.StrategyRotate {
		reason = p.Survey.Scan.Doubt.Reason(p.Ref.Path) // a summary would bring back what such a record takes out
	}
	return reason
}

// Unsurveyed reports whether the plan is one of [Foresee] that has not read the records
// of a log that it would change, and keep a part of: they may be against it.
func (p *Plan) Unsurveyed() bool {
	return p.Outcome == Planned && (p.Strategy.Shortens() || p.Strategy == session.StrategyTrim) && p.Survey.Scan.Records == 0
}

// Refuse reads all of the log, and returns why its records are against a plan that is
// Unsurveyed, "" if they are not.
func (p *Plan) Refuse(ctx context.Context, store session.Store, policy Policy) (reason string, err error) {
	_, open, err := look(ctx, policy.Pins, store, p.Ref)
	if err != nil {
		return "", err
	}
	none := func() func(*session.Message) error { return func(*session.Message) error { return nil } }
	if p.Survey.Scan, err = session.ScanActive(ctx, store, open, none); err != nil {
		return "", err
	}
	return p.notItsRecords(store, policy), nil
}

func busyReason(err error) string {
	var busy *session.BusyError
	if errors.As(err, &busy) {
		return busy.Reason
	}
	return err.Error()
}

// section reads exactly the first size bytes of a file and closes it.
func section(f *os.File, size int64) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(f, 0, size), f}
}

// choose settles the strategy. It returns why the one that was asked for
// cannot be had, or "".
func (p *Plan) choose(store session.Store, policy Policy) string {
	if policy.LeaveSessions {
		p.Strategy = session.StrategyNone
		return ""
	}
	can := store.Capabilities()
	able := can.StrategiesOf(p.Ref)
	if can.Adviser != nil && able[0] == session.StrategyNone {
		p.Advice = can.Adviser.OwnCommand(p.Ref)
	}
	if p.Strategy == "" {
		p.Strategy = able[0]
		if policy.SkipSummary && p.Strategy.Summarizes() && slices.Contains(able, session.StrategyRotate) {
			p.Strategy = session.StrategyRotate // the one that needs none
		}
	}
	switch {
	case slices.Contains(able, p.Strategy) && policy.SkipSummary && p.Strategy.Summarizes() && !policy.SkipArchive:
		return session.ReasonNoSummaryNoStrategy.Text(p.Strategy)
	case slices.Contains(able, p.Strategy):
		return ""
	}
	what := "sessions of " + p.Ref.Runtime
	if p.Ref.Kind == session.KindStored && able[0] == session.StrategyNone {
		what = "it is in a database and"
	}
	if able[0] == session.StrategyNone {
		return session.ReasonNoStrategy.Text(what, p.Strategy, p.left())
	}
	return session.ReasonOnlyStrategies.Text(what, p.Strategy, alternatives(able))
}

func alternatives(of []session.Strategy) string {
	words := make([]string, len(of))
	for i, s := range of {
		words[i] = string(s)
	}
	return strings.Join(words, " or ")
}

// due decides whether the session is to be compacted now.
func (p *Plan) due(ctx context.Context, store session.Store, tail session.Tail, policy Policy, now time.Time) (bool, error) {
	if policy.Force || policy.LeaveSessions || p.Ref.Fragment || p.Ref.Kind.Closed() {
		return true, nil
	}
	v, err := policy.dueBy(ctx, store, p.Strategy, session.DueQuestion{Ref: p.Ref, Tail: tail, Now: now})
	if p.DueBy, p.DueAt = v.By, v.Limit; err == nil && !v.Due {
		p.Outcome, p.Reason = BelowThreshold, v.Reason
	}
	return v.Due, err
}

// Due says whether a session is large enough to be compacted: by the runtime's own
// trigger, unless a threshold was asked for. The question says which session; what
// was asked for is the policy's.
func (p Policy) Due(ctx context.Context, store session.Store, q session.DueQuestion) (Verdict, error) {
	if p.Off {
		return Verdict{Reason: session.ReasonTurnedOff.Text("the configuration of sessctl")}, nil
	}
	q.Requested, q.Asked = p.Requested, p.Asked
	if trigger := store.Capabilities().Trigger; trigger != nil {
		due, reason, err := trigger.Due(ctx, q)
		if err != nil || !due || !p.Asked {
			return byRuntime(due, reason), err
		}
	}
	return p.Limits.Judge(q.Ref, q.Tail), nil
}

func byRuntime(due bool, reason string) Verdict {
	if !due {
		return Verdict{Reason: reason}
	}
	return Verdict{Due: true, By: DueByRuntime}
}

// dueBy is Due for a session that is to be compacted by one of several strategies: a
// trim leaves its context as it is, so the size of its log decides.
func (p Policy) dueBy(ctx context.Context, store session.Store, by session.Strategy, q session.DueQuestion) (Verdict, error) {
	if by == session.StrategyTrim && !p.Off && store.Capabilities().Trigger == nil && !p.Asked {
		q.Requested = p.Requested
		return byRuntime(session.DueToTrim(q)), nil
	}
	return p.Due(ctx, store, q)
}

// idle asks whether somebody is writing the session. Reading is harmless, so a
// session that will not be changed is never in the way.
func (p *Plan) idle(ctx context.Context, store session.Store, policy Policy, now time.Time) (bool, error) {
	liveness := store.Capabilities().Liveness
	if liveness == nil || p.Strategy == session.StrategyNone {
		return true, nil
	}
	if p.followed {
		return true, nil // it has just been written, and is asked about again before it is changed
	}
	err := cutShort(p.Ref, liveness.Busy(ctx, policy.IsBusy(p.Ref, now)))
	if err != nil && !errors.Is(err, session.ErrBusy) {
		return false, fmt.Errorf("look for writers: %w", err)
	}
	return p.route(store, policy, err), nil
}

func (p *Plan) surveyOptions(store session.Store, policy Policy) surveyOptions {
	o := policy.survey()
	o.rough = !policy.DryRun // what is stored is counted when it is stored
	if !p.Strategy.Shortens() {
		return o
	}
	keep := policy.Keep
	if keep == (session.Keep{}) {
		keep = store.Capabilities().Keep
	}
	o.keep = &keep
	return o
}

// tryChange asks whether the store would make the change, before anything is
// done for it.
func (p *Plan) tryChange(ctx context.Context, store session.Store, policy Policy, now time.Time) error {
	if policy.SkipArchive || p.Strategy == session.StrategyNone {
		return nil
	}
	err := cutShort(p.Ref, p.tryStrategy(ctx, store, now))
	switch {
	case errors.Is(err, session.ErrBusy):
		return p.stopBusy(err)
	case errors.Is(err, durable.ErrHeld):
		return p.stop(Busy, session.ReasonOpenElsewhere.Text())
	case errors.Is(err, session.ErrUnsupported) && p.fallsBack(store, policy):
		p.Reason = both(p.brokenOff(), fmt.Sprintf("starts fresh: %v", err))
		return p.tryChange(ctx, store, policy, now)
	case errors.Is(err, session.ErrUnsupported):
		return p.stop(Unsupported, err.Error())
	case errors.Is(err, errNothingToCut), errors.Is(err, session.ErrNothingToTrim):
		return p.irreducible(ctx, store, policy, err)
	case err != nil:
		return fmt.Errorf("plan the change: %w", err)
	}
	return nil
}

// tryStrategy asks the store for the change by the strategy of the plan.
func (p *Plan) tryStrategy(ctx context.Context, store session.Store, now time.Time) (err error) {
	can := store.Capabilities()
	switch {
	case p.Strategy.Shortens():
		err = p.tryShortening(ctx, store, now)
	case p.Strategy == session.StrategyTrim:
		var s session.Shortening
		s, err = planTrim(ctx, store, session.ShortenRequest{Ref: p.Ref, Snapshot: p.seen, Tokens: p.Tokens, Now: now})
		p.BytesAfter = s.After.Size
	case p.Strategy == session.StrategyAnnotate && can.Annotator == nil:
		err = cannot(store, p.Strategy)
	case p.Strategy == session.StrategyAnnotate: // what is written is made of the summary only
	case p.Via == session.ViaGateway && can.Resetter == nil, p.Via != session.ViaGateway && can.Rotator == nil:
		err = cannot(store, p.Strategy)
	case p.Via == session.ViaGateway:
		_, err = can.Resetter.PlanReset(ctx, p.Ref, p.seen, now)
	default:
		var r session.Rotation
		r, err = can.Rotator.PlanRotation(ctx, p.Ref, p.seen, now)
		p.NextStart = nextStart(store, p.Ref, r)
	}
	return err
}

// nextStart is what the runtime's next start does after a rotation that leaves it
// nothing to go on with, "" after any other.
func nextStart(store session.Store, ref session.Ref, r session.Rotation) string {
	says := store.Capabilities().NextStart
	if says == nil || r.Fresh != "" || r.NewSession != "" {
		return ""
	}
	return says(ref)
}

// cannot is the error of a strategy that a store names and has no means for. It
// wraps [session.ErrUnsupported].
func cannot(store session.Store, by session.Strategy) error {
	return fmt.Errorf("%w: by %s, in a store of %s", session.ErrUnsupported, by, store.Runtime())
}

// fallsBack switches to starting fresh if nobody asked for a strategy and this
// session cannot have its runtime's own: its log may be of a format that takes
// no summary from others.
func (p *Plan) fallsBack(store session.Store, policy Policy) bool {
	if policy.Strategy != "" || !p.Strategy.Shortens() || !slices.Contains(store.Capabilities().StrategiesOf(p.Ref), session.StrategyRotate) {
		return false
	}
	p.Strategy, p.Cut = session.StrategyRotate, session.Cut{}
	return true
}

// tryShortening finds the cut and asks the store for the change with a summary
// that is still to be written.
func (p *Plan) tryShortening(ctx context.Context, store session.Store, now time.Time) error {
	cut, err := p.Survey.outline.cut(p.openCall)
	if err != nil {
		return err
	}
	if p.Strategy == session.StrategyOverlay { // what runtimes send beside the messages stays
		p.prompt = p.Survey.outline.prompt.Tokens
	}
	p.Cut, p.Survey.outline = cut, nil
	s, err := planShortening(ctx, store, p.Strategy, session.ShortenRequest{
		Ref: p.Ref, Snapshot: p.seen, Cut: cut, Tokens: p.Tokens, Now: now,
	})
	if p.Cleared = s.Cleared; p.Cleared {
		p.NextStart = nextStart(store, p.Ref, s.Rotation)
	}
	return err
}

// planTrim asks the store what it would leave out.
func planTrim(ctx context.Context, store session.Store, request session.ShortenRequest) (session.Shortening, error) {
	can := store.Capabilities()
	if can.Trimmer == nil || can.Shortener == nil {
		return session.Shortening{}, cannot(store, session.StrategyTrim)
	}
	return can.Trimmer.PlanTrim(ctx, request)
}

func planShortening(ctx context.Context, store session.Store, by session.Strategy, request session.ShortenRequest) (session.Shortening, error) {
	can := store.Capabilities()
	switch {
	case can.Shortener != nil && can.Rewriter != nil && by == session.StrategyRewrite:
		return can.Rewriter.PlanRewrite(ctx, request)
	case can.Shortener != nil && can.Overlayer != nil && by == session.StrategyOverlay:
		return can.Overlayer.PlanOverlay(ctx, request)
	}
	return session.Shortening{}, cannot(store, by)
}

// quietOf is how long the session must have been untouched that follows one of an
// earlier run.
func (p Policy) quietOf(of session.Rotation) time.Duration {
	quiet := p.Quiet
	if p.QuietOf != nil {
		quiet = p.QuietOf(of)
	}
	return cmp.Or(quiet, DefaultQuiet)
}

// IsBusy is the question whether somebody is writing a session.
func (p Policy) IsBusy(ref session.Ref, now time.Time) session.BusyQuestion {
	return session.BusyQuestion{Ref: ref, Now: now, Quiet: p.Quiet, LongestTurn: p.LongestTurn}
}

// DefaultQuiet is how long a session must be untouched before it is changed.
const DefaultQuiet = time.Minute

// The importance and category of what a compaction stores in memory
// (docs/dev/decisions.md D11).
const (
	CategoryHistory   = "session_history"
	CategorySummary   = "session_summary"
	CategoryLesson    = "lesson"
	CategoryWork      = "work"
	historyImportance = 0.25
	summaryImportance = 0.70
	lessonImportance  = 0.70
)

// Policy is what a run was asked to do.
type Policy struct {
	Limits      Limits // a session at or above its threshold is compacted
	Asked       bool   // the threshold was asked for: it takes the place of a runtime's own trigger
	Requested   bool   // the session or its agent was named
	Off         bool   // no session is due
	Force       bool   // compact below the threshold too
	SkipArchive bool   // remember only: no archive, hence no change to the session
	// LeaveSessions archives and remembers sessions of any size and changes none.
	LeaveSessions bool
	Known         *Known           // what earlier runs have remembered; nil for nothing
	SkipSummary   bool             // store no summary
	DryRun        bool             // the plan is only shown: what it has read is not hashed
	Pins          *durable.Pins    // hold the directories of logs open during a run; nil for none
	Strategy      session.Strategy // "" = the runtime's default
	Keep          session.Keep     // what stays with overlay and rewrite; zero = the runtime's default
	Quiet         time.Duration    // how long a session must have been untouched
	LongestTurn   time.Duration    // after which a turn was broken off; 0 for the default of pkg/session
	// QuietOf is Quiet for a change that an earlier run began, where it is another
	// one for sessions that the command does not mean; nil for Quiet.
	QuietOf func(session.Rotation) time.Duration
	Gateway GatewayUse // whether a running runtime is asked
	Chunk   chunk.Options
	// OutputLimit is how many bytes memory takes of one output of a tool; what
	// is beyond is counted. 0 is DefaultOutputLimit, below 0 takes none.
	OutputLimit int64
	// Wait waits for a log that is being rewritten; nil waits for real. Tests
	// let the log change instead.
	Wait func(ctx context.Context, d time.Duration) error
}
