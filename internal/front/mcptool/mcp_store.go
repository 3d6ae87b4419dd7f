package mcptool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// Told is what a server has returned of memory and archives, the last of it. A
// tool's long output may be in an archive and not in memory.
type Told struct {
	mu      sync.Mutex
	answers []string
}

// mostTold is how many answers are kept: of 16 KiB at most.
const mostTold = 64

// Keep keeps an answer, and returns it.
func (t *Told) Keep(answer string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers = append(t.answers, answer)
	t.answers = slices.Clone(t.answers[max(0, len(t.answers)-mostTold):])
	return answer
}

// All are all that were told.
func (t *Told) All() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.answers)
}

// StoreInput is what memory_store is asked.
type StoreInput struct {
	Text       string  `json:"text" jsonschema:"what to keep, in your own words, so that it is understood without this session"`
	Category   string  `json:"category" jsonschema:"session_summary (what you are working on, what is open), lesson (what to do otherwise next time) or fact"`
	Importance float64 `json:"importance,omitempty" jsonschema:"0.7 or more, up to 1 (default 0.7): what is more important comes first"`
	Agent      string  `json:"agent,omitempty" jsonschema:"whose memory it is (default: the agent of the one session that is waiting for this answer)"`
}

// storeCategories are those that an agent may store.
func storeCategories() []string {
	return []string{compact.CategorySummary, compact.CategoryLesson, memory.CategoryFact}
}

// embedPatience is how long memory_store waits for a vector: without one the
// words find the record.
const embedPatience = 10 * time.Second

// Words are what is to be stored: readable, and without secrets.
func (in StoreInput) Words() (w memory.OwnWords, redacted int, err error) {
	importance := cmp.Or(in.Importance, memory.OwnImportance)
	text, redacted := secrets.Redact(strings.TrimSpace(steps.PlainText(in.Text)))
	switch {
	case !slices.Contains(storeCategories(), in.Category):
		return w, 0, failure.Usage("categories: "+strings.Join(storeCategories(), ", "), "unknown category %q", in.Category)
	case importance < 0 || importance > memory.MaxOwnImportance:
		return w, 0, failure.Usage("", "importance must be between 0 and %v, not %v", memory.MaxOwnImportance, importance)
	case len(session.WithoutRecalled([]byte(in.Text))) < len(in.Text):
		return w, 0, ExplainStore(&memory.RepeatError{Share: 1, Run: len(strings.Fields(in.Text))})
	case len(recall.TermsOf(text)) == 0:
		return w, 0, failure.Usage("say what is to be kept, in a sentence or more", "the text says nothing")
	}
	return memory.OwnWords{Category: in.Category, Importance: importance, Text: text}, redacted, nil
}

// AskingSession is the one session in a scope that changed within the last ten
// minutes and waits for an answer; nil if there is none, or several.
func AskingSession(ctx context.Context, a *workspace.Run, of selection.Scope) *workspace.Found {
	var one *workspace.Found
	for _, s := range recall.RunningSessions(ctx, a).Refs {
		if !of.Holds(s.Runtime, s.Agent) {
			continue
		}
		if tail, err := s.Adapter.Tail(ctx, s.Ref); err != nil || tail.Answered {
			continue
		}
		if one != nil {
			return nil
		}
		one = &s
	}
	return one
}

// RedactKnown takes out of words what a session of theirs tells to be a secret, and
// returns in how many places. A log that cannot be read tells nothing, which is noticed.
func RedactKnown(ctx context.Context, a *workspace.Run, of workspace.Found, words *memory.OwnWords) (places int) {
	known := secrets.NewSession()
	_, err := steps.ScanReadable(ctx, steps.LiveLog(a, of), session.ScanOptions{}, func(m *session.Message) error {
		steps.LearnSecrets(known, m)
		return nil
	})
	if err != nil {
		a.Notice(workspace.Note{Path: of.Path, Message: "not looked into for secrets: " + err.Error()})
	}
	clean, places := known.RedactKnown([]byte(words.Text))
	words.Text = string(clean)
	return places
}

// StoreOwnWords stores words under the lock, after what earlier runs left
// unfinished, and gives them a vector if the embedder answers soon.
func StoreOwnWords(ctx context.Context, a *workspace.Run, words memory.OwnWords) (memory.Record, bool, error) {
	w, err := recall.OpenRecovered(ctx, a, false)
	if err != nil {
		return memory.Record{}, false, err
	}
	defer w.Close()
	r, existing, err := w.Memory.StoreOwnWords(ctx, words)
	if err != nil {
		return r, existing, err
	}
	ctx, cancel := context.WithTimeout(ctx, embedPatience)
	defer cancel()
	if _, err := w.Compactor.Embedder.EmbedPending(ctx, session.Ref{Runtime: r.Runtime, Agent: r.Agent}, func(int64, int64) {}); err != nil {
		a.Notice(workspace.Note{Message: "it has no vector yet: " + err.Error(), Hint: "words find it until the next run makes one"})
	}
	return r, existing, nil
}

// ExplainStore says what an agent can do about words that are not stored.
func ExplainStore(err error) error {
	repeat := (*memory.RepeatError)(nil)
	switch {
	case errors.As(err, &repeat):
		return &failure.Error{Code: "repeats", Exit: failure.ExitFailed, Hint: "nothing is lost: memory_recall finds it where it was said. Store what you conclude from it, in your own words", Err: fmt.Errorf("not stored: %w", err)}
	case errors.Is(err, memory.ErrForgotten):
		return &failure.Error{Code: "forgotten", Exit: failure.ExitFailed, Hint: "it was forgotten on purpose", Err: fmt.Errorf("not stored: %w", err)}
	case errors.Is(err, memory.ErrTooMany):
		return &failure.Error{Code: "too_many", Exit: failure.ExitFailed, Hint: "store three to five in a session; put what belongs together into one text tomorrow", Err: fmt.Errorf("not stored: %w", err)}
	}
	return err
}

// StoredText is what memory_store returns: the id, and what was stored. The text
// stands between the marks, so that a later run does not remember it twice.
func StoredText(r memory.Record, existing bool, redacted int) string {
	own := audit.NewStoredBy(r)
	head := fmt.Sprintf("stored as %s: %s, importance %.2f, agent %s, session %s", r.ID, r.Category, r.Importance, wording.Visible(r.Agent), wording.Visible(cmp.Or(r.Session, "not known")))
	if existing {
		head = fmt.Sprintf("already stored as %s at %s: %s, importance %.2f, agent %s; nothing was changed", r.ID, own.At, r.Category, r.Importance, wording.Visible(r.Agent))
	}
	if redacted > 0 {
		head += fmt.Sprintf("\n%s redacted", wording.Plural(redacted, "secret"))
	}
	return head + "\n" + steps.Quoted("   "+recall.Line(own)+"\n"+recall.Indent(steps.PlainText(r.Text))+"\n\n") + "\n"
}
