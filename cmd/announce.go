package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// eventTimeout is how long an event may take (docs/decisions.md D21).
const eventTimeout = 5 * time.Second

// compactedEvent is what events.url is told of a compacted session. Its names
// are in docs/decisions.md D21.
type compactedEvent struct {
	Event     string `json:"event"` // "session.compacted"
	Runtime   string `json:"runtime"`
	Agent     string `json:"agent"`
	Session   string `json:"session_id"`
	Tokens    int64  `json:"original_tokens"`
	Chunks    int    `json:"chunks_stored"`
	Archive   string `json:"archive_path"`
	Summary   string `json:"summary_kind"`
	Degraded  bool   `json:"summary_degraded"`
	ReceiptAt string `json:"receipt"`
}

// reorientation is what an agent is told after its session started fresh
// (docs/decisions.md D21).
const reorientation = `Your main session was put away because it had become long: its log is archived and all of it can be searched. Before you go on: recall your memories of the category session_summary, then what you talked about last, then look at your list of tasks. Go on with what is open. Do not announce this to anybody; say in one sentence what you are working on.`

// announce sends events about sessions that were compacted. By then everything
// is done: an event that cannot be sent is a note and changes nothing.
func (a *app) announce(ctx context.Context, o compactOptions, results []compact.Result) {
	for _, r := range results {
		if r.Outcome != compact.Compacted || ctx.Err() != nil {
			continue
		}
		if err := a.sendEvent(ctx, r); err != nil {
			a.notice(note{Message: fmt.Sprintf("events.url was not told that %s was compacted: %v", r.Agent, err)})
		}
		if o.SkipSummary || r.Strategy != session.StrategyRotate {
			continue
		}
		if err := a.reorient(ctx, r.Agent); err != nil {
			a.notice(note{Message: fmt.Sprintf("%s was not told that its session started fresh: %v", r.Agent, err)})
		}
	}
}

// reorient tells an agent behind Hermes that its session is a fresh one.
func (a *app) reorient(ctx context.Context, agent string) error {
	if a.config.Summarize.Provider != summarize.ProviderHermes {
		return nil
	}
	endpoint, err := a.endpoint("summarize", a.config.Summarize)
	if err != nil {
		return err
	}
	endpoint.Agent = agent
	client, err := summarize.NewClient(endpoint)
	if err != nil {
		return err
	}
	_, err = client.Complete(ctx, summarize.Request{User: reorientation, Purpose: summarize.PurposeReacquaint})
	return err
}

// sendEvent posts the event to events.url, if there is one.
func (a *app) sendEvent(ctx context.Context, r compact.Result) error {
	if a.config.Events.URL == "" {
		return nil
	}
	event := compactedEvent{
		Event: "session.compacted", Runtime: r.Runtime, Agent: r.Agent, Session: r.Session,
		Tokens: r.TokensBefore, Chunks: r.Chunks, ReceiptAt: r.Receipt,
	}
	if r.Archive != nil {
		event.Archive = r.Archive.Path
	}
	if r.Summary != nil {
		event.Summary, event.Degraded = r.Summary.Kind, r.Summary.Degraded
	}
	body, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("write the event: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.config.Events.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the URL cannot be used") // err repeats it, with what may be a token
	}
	request.Header.Set("Content-Type", "application/json")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the server answers %s", response.Status)
	}
	return nil
}

// checkEvents refuses an events.url that cannot be one.
func (a *app) checkEvents() error {
	raw := a.config.Events.URL
	u, err := url.Parse(raw)
	if raw != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return usageError("http://host/path, or https", "events.url is no URL that events can be sent to")
	}
	return nil
}
