package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"
)

// Healthchecks pings a check of healthchecks.io, or of a server that speaks the
// same: when a run begins, and how it ends.
type Healthchecks struct {
	URL *url.URL // of the check: https://hc-ping.com/<uuid>
	Now func() time.Time
}

// HealthchecksTypes are the types that a check is pinged for.
func HealthchecksTypes() []string { return []string{RunStarted, RunFinished, RunFailed} }

// ran is what a ping needs of the data of a run.
type ran struct {
	ID       string  `json:"id"`
	Outcome  string  `json:"outcome"`
	ExitCode int     `json:"exit_code"`
	Seconds  float64 `json:"seconds"`
}

// Send implements [Sender].
func (h Healthchecks) Send(ctx context.Context, e Event) error {
	var run ran
	_ = json.Unmarshal(e.Data, &run) // what is missing is left out
	to := h.URL
	if signal := signalOf(e, run); signal != "" {
		to = to.JoinPath(signal)
	}
	if id, err := ulid.ParseStrict(run.ID); err == nil { // lets the check measure how long it took
		query := to.Query()
		query.Set("rid", fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]))
		copied := *to
		to = &copied
		to.RawQuery = query.Encode()
	}
	return post(ctx, to, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, []byte(describeRun(e, run)), h.Now)
}

// signalOf is what stands behind the address of the check: nothing for success.
func signalOf(e Event, run ran) string {
	switch {
	case e.Type == RunStarted:
		return "start"
	case e.Type == RunFinished:
		return ""
	case e.Type == Test:
		return "log" // leaves the check as it is
	case run.ExitCode > 0 && run.ExitCode <= 255:
		return strconv.Itoa(run.ExitCode)
	}
	return "fail"
}

func describeRun(e Event, run ran) string {
	switch e.Type {
	case RunStarted:
		return fmt.Sprintf("sessctl run %s: started at %s\n", e.Subject, e.Time.UTC().Format(time.RFC3339))
	case Test:
		return "sessctl events test\n"
	}
	return fmt.Sprintf("sessctl run %s: %s, exit code %d, %.0f s, ended at %s\n", e.Subject, run.Outcome, run.ExitCode, run.Seconds, e.Time.UTC().Format(time.RFC3339))
}
