package operate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
)

// receiver is a Sender that takes what take says, and remembers the ids.
type receiver struct {
	mu   sync.Mutex
	got  []string
	take func(e outbox.Event) error
}

func (r *receiver) Send(_ context.Context, e outbox.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, e.ID)
	if r.take == nil {
		return nil
	}
	return r.take(e)
}

// clock is a time that a test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// What docs/events.md promises, and what of a complaint a failure tells, in bytes.
const (
	longestPause   = 2 * time.Hour
	tryFor         = 24 * time.Hour
	keepAtMost     = 1000
	keepDone       = 7 * 24 * time.Hour
	shownComplaint = 200
)

func box(t *testing.T, c *clock, targets ...outbox.Target) *outbox.Outbox {
	t.Helper()
	return boxAt(t, filepath.Join(t.TempDir(), "outbox"), c, targets...)
}

func boxAt(t *testing.T, dir string, c *clock, targets ...outbox.Target) *outbox.Outbox {
	t.Helper()
	o, err := outbox.Open(dir, targets...)
	if err != nil {
		t.Fatal(err)
	}
	o.Now, o.Jitter = c.Now, func() float64 { return 0.5 }
	return o
}

// put keeps events of these subjects, a millisecond apart, and returns their ids.
func put(t *testing.T, o *outbox.Outbox, at time.Time, eventType string, subjects ...string) (ids []string) {
	t.Helper()
	for i, subject := range subjects {
		at := at.Add(time.Duration(i) * time.Millisecond)
		id := outbox.DeriveID(at, eventType+subject)
		if err := o.Put(t.Context(), outbox.Event{ID: id, Type: eventType, Time: at, Subject: subject, Data: json.RawMessage(`{}`)}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func deliver(t *testing.T, o *outbox.Outbox) outbox.Report {
	t.Helper()
	report, err := o.Deliver(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// states returns the state of every event, oldest first.
func states(t *testing.T, o *outbox.Outbox) (all []outbox.State) {
	t.Helper()
	c, err := o.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range slices.Backward(c.Events) {
		all = append(all, e.State)
	}
	return all
}

// TestOutboxDeliver: each target gets what it asks for, once.
func TestOutboxDeliver(t *testing.T) {
	all, damaged := &receiver{}, &receiver{}
	o := box(t, &clock{outboxNoon}, outbox.Target{Name: "all", Types: outbox.Types(), Sender: all}, outbox.Target{Name: "damaged", Types: []string{outbox.ArchiveDamaged}, Sender: damaged})
	ids := append(put(t, o, outboxNoon, outbox.Compacted, "a", "b"), put(t, o, outboxNoon.Add(time.Second), outbox.ArchiveDamaged, "c")...)
	for range 2 {
		deliver(t, o)
	}
	if !slices.Equal(all.got, ids) || !slices.Equal(damaged.got, ids[2:]) {
		t.Errorf("%v and %v, want %v", all.got, damaged.got, ids)
	}
	if got := states(t, o); !slices.Equal(got, []outbox.State{outbox.Sent, outbox.Sent, outbox.Sent}) {
		t.Errorf("states %v", got)
	}
	put(t, o, outboxNoon, outbox.Compacted, "a") // the same id once more
	if report := deliver(t, o); len(report.Attempts) != 0 {
		t.Errorf("told again: %v", report)
	}
}

// TestOutboxUnaddressed: what nobody asks for is kept to be listed; that a run has
// started is not.
func TestOutboxUnaddressed(t *testing.T) {
	o := box(t, &clock{outboxNoon})
	put(t, o, outboxNoon, outbox.Compacted, "a")
	put(t, o, outboxNoon, outbox.RunStarted, "nightly")
	if got := states(t, o); !slices.Equal(got, []outbox.State{outbox.Unaddressed}) {
		t.Errorf("states %v", got)
	}
}

// TestOutboxRefusal: an event that a receiver refuses is tried again after growing
// pauses for a day and becomes a dead letter; others are sent meanwhile.
func TestOutboxRefusal(t *testing.T) {
	c := &clock{outboxNoon}
	r := &receiver{take: func(e outbox.Event) error {
		if e.Subject == "poison" {
			return &outbox.Failure{Reason: "the server answers 400"}
		}
		return nil
	}}
	o := box(t, c, outbox.Target{Name: "hook", Types: outbox.Types(), Sender: r})
	put(t, o, outboxNoon, outbox.Compacted, "poison", "fine")
	var pauses []time.Duration
	for {
		report := deliver(t, o)
		if report.Waiting == 0 {
			break
		}
		next := report.Attempts[0].Next
		pauses = append(pauses, next.Sub(c.now))
		c.now = next.Add(-time.Second)
		if early := deliver(t, o); len(early.Attempts) != 0 {
			t.Fatalf("tried before its time: %+v", early)
		}
		c.now = next
	}
	if want := []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute}; !slices.Equal(pauses[:3], want) || slices.Max(pauses) != longestPause {
		t.Errorf("pauses %v", pauses)
	}
	if got := states(t, o); !slices.Equal(got, []outbox.State{outbox.Dead, outbox.Sent}) || c.now.Sub(outboxNoon) < tryFor || c.now.Sub(outboxNoon) > tryFor+longestPause {
		t.Errorf("states %v after %s", got, c.now.Sub(outboxNoon))
	}
	r.take = nil
	if n, err := o.Retry(t.Context()); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	deliver(t, o)
	if got := states(t, o); !slices.Equal(got, []outbox.State{outbox.Sent, outbox.Sent}) {
		t.Errorf("states %v after the retry", got)
	}
}

// TestOutboxUnreachable: a target that does not answer is asked with one event at a
// time, is no reason not to tell another, and gets everything when it answers.
func TestOutboxUnreachable(t *testing.T) {
	c := &clock{outboxNoon}
	down := true
	away := &receiver{take: func(outbox.Event) error {
		if down {
			return &outbox.Failure{Reason: "connection refused", Unreachable: true}
		}
		return nil
	}}
	other := &receiver{}
	o := box(t, c, outbox.Target{Name: "away", Types: outbox.Types(), Sender: away}, outbox.Target{Name: "other", Types: outbox.Types(), Sender: other})
	ids := put(t, o, outboxNoon, outbox.Compacted, "a", "b", "c")
	deliver(t, o)
	deliver(t, o)
	if len(away.got) != 1 || !slices.Equal(other.got, ids) {
		t.Errorf("%v and %v", away.got, other.got)
	}
	content, err := o.List(t.Context())
	if err != nil || len(content.Silent) != 1 || content.Silent[0].Target != "away" {
		t.Errorf("silent %v, %v", content.Silent, err)
	}
	c.now, down = c.now.Add(time.Minute), false
	away.got = nil
	deliver(t, o)
	if !slices.Equal(away.got, ids) || !slices.Equal(states(t, o), []outbox.State{outbox.Sent, outbox.Sent, outbox.Sent}) {
		t.Errorf("%v, %v", away.got, states(t, o))
	}
}

// TestOutboxGiveUpSilent: all that has waited for a day for a target that did not
// answer all the while becomes dead letters, without a try each.
func TestOutboxGiveUpSilent(t *testing.T) {
	c := &clock{outboxNoon}
	r := &receiver{take: func(outbox.Event) error { return &outbox.Failure{Reason: "no answer within 10s", Unreachable: true} }}
	o := box(t, c, outbox.Target{Name: "away", Types: outbox.Types(), Sender: r})
	put(t, o, outboxNoon, outbox.Compacted, "a", "b", "c")
	for range 40 {
		c.now = c.now.Add(time.Hour)
		deliver(t, o)
	}
	put(t, o, c.now, outbox.Compacted, "young")
	deliver(t, o)
	if got := states(t, o); !slices.Equal(got, []outbox.State{outbox.Dead, outbox.Dead, outbox.Dead, outbox.Waiting}) || len(r.got) > 40 {
		t.Errorf("states %v after %d tries", got, len(r.got))
	}
}

// TestOutboxDeadForOneTarget: an event that one target has never taken is dead, also
// while it still waits for another.
func TestOutboxDeadForOneTarget(t *testing.T) {
	c := &clock{outboxNoon}
	refuses := &receiver{take: func(outbox.Event) error { return &outbox.Failure{Reason: "it answers 400"} }}
	recovers := &receiver{take: func(outbox.Event) error { // it answers for a while, and is down again
		hours := c.now.Sub(outboxNoon) / time.Hour
		return &outbox.Failure{Reason: "down", Unreachable: hours < 10 || hours > 12}
	}}
	o := box(t, c, outbox.Target{Name: "refuses", Types: outbox.Types(), Sender: refuses}, outbox.Target{Name: "recovers", Types: outbox.Types(), Sender: recovers})
	put(t, o, outboxNoon, outbox.Compacted, "a")
	for range 30 {
		deliver(t, o)
		c.now = c.now.Add(time.Hour)
	}
	content, err := o.List(t.Context())
	if err != nil || len(content.Events) != 1 || content.Events[0].State != outbox.Waiting || !content.Events[0].Dead {
		t.Errorf("%+v, %v", content.Events, err)
	}
	if waiting, dead, err := o.Count(); waiting != 1 || dead != 1 || err != nil {
		t.Errorf("%d wait, %d are dead, %v", waiting, dead, err)
	}
}

// TestOutboxClockSetBack: neither a clock that is set back an hour nor one that was a
// year ahead puts a try off.
func TestOutboxClockSetBack(t *testing.T) {
	for name, move := range map[string]time.Duration{"an hour": -time.Hour, "a year": -365 * 24 * time.Hour} {
		for _, unreachable := range []bool{true, false} {
			c := &clock{outboxNoon}
			r := &receiver{take: func(outbox.Event) error { return &outbox.Failure{Reason: "no", Unreachable: unreachable} }}
			o := box(t, c, outbox.Target{Name: "hook", Types: outbox.Types(), Sender: r})
			put(t, o, outboxNoon, outbox.Compacted, "a")
			deliver(t, o)
			c.now = c.now.Add(move)
			deliver(t, o)
			if len(r.got) != 2 {
				t.Errorf("set back by %s (unreachable: %v): %d tries", name, unreachable, len(r.got))
			}
			deliver(t, o)
			if len(r.got) != 2 {
				t.Errorf("set back by %s (unreachable: %v): tried without a pause", name, unreachable)
			}
		}
	}
}

// TestOutboxRetryAfter is honoured, up to the longest pause.
func TestOutboxRetryAfter(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{0: 30 * time.Second, time.Minute: time.Minute, 100 * time.Hour: longestPause} {
		refuse := &receiver{take: func(outbox.Event) error { return &outbox.Failure{Reason: "later", After: asked} }}
		o := box(t, &clock{outboxNoon}, outbox.Target{Name: "hook", Types: outbox.Types(), Sender: refuse})
		put(t, o, outboxNoon, outbox.Compacted, "a")
		if got := deliver(t, o).Attempts[0].Next.Sub(outboxNoon); got != want {
			t.Errorf("asked for %s: %s, want %s", asked, got, want)
		}
	}
}

// TestOutboxLatest: a check hears how a run ended, and not late that it had started.
func TestOutboxLatest(t *testing.T) {
	c := &clock{outboxNoon}
	down := true
	r := &receiver{take: func(outbox.Event) error {
		if down {
			return &outbox.Failure{Reason: "no", Unreachable: true}
		}
		return nil
	}}
	o := box(t, c, outbox.Target{Name: "check", Types: outbox.HealthchecksTypes(), Latest: true, Sender: r})
	put(t, o, outboxNoon, outbox.RunStarted, "nightly")
	put(t, o, outboxNoon.Add(time.Millisecond), outbox.RunFinished, "weekly")
	deliver(t, o)
	ended := put(t, o, outboxNoon.Add(time.Second), outbox.RunFailed, "nightly")
	c.now, down, r.got = c.now.Add(time.Hour), false, nil
	deliver(t, o)
	if got := states(t, o); !slices.Equal(got, []outbox.State{outbox.Superseded, outbox.Sent, outbox.Sent}) || !slices.Contains(r.got, ended[0]) || len(r.got) != 2 {
		t.Errorf("states %v, told %v", got, r.got)
	}
}

// TestOutboxOrder: events are told in the order of their times. The id of how a run
// ended may be the lower one, since both are derived from when it began.
func TestOutboxOrder(t *testing.T) {
	c, r := &clock{outboxNoon}, &receiver{}
	o := box(t, c, outbox.Target{Name: "check", Types: outbox.HealthchecksTypes(), Latest: true, Sender: r})
	start, end := outbox.DeriveID(outboxNoon, "b"), outbox.DeriveID(outboxNoon, "a")
	if start < end {
		start, end = end, start
	}
	for _, e := range []outbox.Event{
		{ID: start, Type: outbox.RunStarted, Time: outboxNoon, Subject: "nightly", Data: json.RawMessage(`{}`)},
		{ID: end, Type: outbox.RunFinished, Time: outboxNoon.Add(time.Minute), Subject: "nightly", Data: json.RawMessage(`{}`)},
	} {
		if err := o.Put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	deliver(t, o)
	if !slices.Equal(r.got, []string{end}) {
		t.Errorf("told %v, want the end %s alone", r.got, end)
	}
}

// TestOutboxSetAside: a file that is torn, foreign or of another event is told, moved
// out of the way and stops nothing; one of a later version is left alone.
func TestOutboxSetAside(t *testing.T) {
	r := &receiver{}
	dir := filepath.Join(t.TempDir(), "outbox")
	o := boxAt(t, dir, &clock{outboxNoon}, outbox.Target{Name: "hook", Types: outbox.Types(), Sender: r})
	ids := put(t, o, outboxNoon, outbox.Compacted, "a", "b", "c")
	whole, err := os.ReadFile(filepath.Join(dir, ids[0]+".json"))
	if err != nil {
		t.Fatal(err)
	}
	later := outbox.DeriveID(outboxNoon, "later")
	for name, text := range map[string]string{
		ids[0] + ".json": string(whole[:len(whole)/2]), "notes.txt": "mine", outbox.DeriveID(outboxNoon, "x") + ".json": string(whole),
		later + ".json": strings.Replace(strings.Replace(string(whole), ids[0], later, 1), `"schema": 1`, `"schema": 2`, 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	report := deliver(t, o)
	if len(report.SetAside) != 4 || !slices.Equal(r.got, ids[1:]) || report.Waiting != 1 {
		t.Errorf("set aside %v, told %v, waiting %d", report.SetAside, r.got, report.Waiting)
	}
	if kept, err := os.ReadFile(filepath.Join(dir, "set-aside", ids[0]+".json")); err != nil || string(kept) != string(whole[:len(whole)/2]) {
		t.Errorf("the torn file: %q, %v", kept, err)
	}
}

// TestOutboxTwoDeliverers: a second process waits for the first, and sends nothing
// twice; one that may not wait says so.
func TestOutboxTwoDeliverers(t *testing.T) {
	r := &receiver{}
	dir := filepath.Join(t.TempDir(), "outbox")
	target := outbox.Target{Name: "hook", Types: outbox.Types(), Sender: r}
	one := boxAt(t, dir, &clock{outboxNoon}, target)
	put(t, one, outboxNoon, outbox.Compacted, "a", "b", "c", "d", "e")
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { _, _ = boxAt(t, dir, &clock{outboxNoon}, target).Deliver(t.Context()) })
	}
	both.Wait()
	if len(r.got) != 5 {
		t.Errorf("%d sent, want 5", len(r.got))
	}
	put(t, one, outboxNoon, outbox.Compacted, "f")
	lock, err := durable.Lock(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if report, err := one.Deliver(over); err != nil || !report.Busy || report.Waiting != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestOutboxPutMeanwhile: what is put while another process delivers is told by it.
func TestOutboxPutMeanwhile(t *testing.T) {
	r := &receiver{}
	o := box(t, &clock{outboxNoon}, outbox.Target{Name: "hook", Types: outbox.Types(), Sender: r})
	r.take = func(e outbox.Event) error {
		if e.Subject == "a" {
			put(t, o, outboxNoon.Add(time.Second), outbox.Compacted, "meanwhile")
		}
		return nil
	}
	put(t, o, outboxNoon, outbox.Compacted, "a")
	deliver(t, o)
	if len(r.got) != 2 {
		t.Errorf("told %v", r.got)
	}
}

// TestOutboxBounded: what is over is kept for a week, and the newest thousand.
func TestOutboxBounded(t *testing.T) {
	c := &clock{outboxNoon}
	dir := filepath.Join(t.TempDir(), "outbox")
	o, done := boxAt(t, dir, c), filepath.Join(dir, "done")
	if err := os.MkdirAll(done, 0o700); err != nil {
		t.Fatal(err)
	}
	for n := range keepAtMost + 30 { // written without a sync, which the test does not need
		id := outbox.DeriveID(outboxNoon.Add(time.Duration(n)*time.Second), "x")
		text := fmt.Sprintf(`{"schema":1,"id":%q,"type":"run.finished","time":"2026-05-01T12:00:00Z","data":{}}`, id)
		if err := os.WriteFile(filepath.Join(done, id+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	deliver(t, o)
	if n := len(states(t, o)); n != keepAtMost {
		t.Errorf("%d are kept", n)
	}
	c.now = outboxNoon.Add(keepDone + (keepAtMost+30)*time.Second/2)
	deliver(t, o)
	if gone := keepAtMost - len(states(t, o)); gone < keepAtMost/3 || gone > keepAtMost*2/3 {
		t.Errorf("%d go after a week", gone)
	}
}

// TestOutboxReceipts: receipts of before the first event have none; later ones have
// theirs once, in whatever order their ids come.
func TestOutboxReceipts(t *testing.T) {
	o := box(t, &clock{outboxNoon})
	if fresh, err := o.NewReceipts([]string{"A"}); err != nil || fresh != nil {
		t.Errorf("before the beginning: %v, %v", fresh, err)
	}
	for range 2 {
		if err := o.BeginReceipts(func() ([]string, error) { return []string{"B", "D"}, nil }); err != nil {
			t.Fatal(err)
		}
	}
	all := []string{"A", "B", "C", "D", "E"}
	fresh, err := o.NewReceipts(all)
	if err != nil || !slices.Equal(fresh, []string{"A", "C", "E"}) {
		t.Errorf("%v, %v", fresh, err)
	}
	if err := o.NoteReceipts(fresh); err != nil {
		t.Fatal(err)
	}
	if fresh, err := o.NewReceipts(append(all, "AA")); err != nil || !slices.Equal(fresh, []string{"AA"}) {
		t.Errorf("%v, %v", fresh, err)
	}
}

// hook serves one answer and returns a webhook to it.
func hook(t *testing.T, answer http.HandlerFunc) outbox.Webhook {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body) // else the server does not see that the client has gone
		r.Body = io.NopCloser(strings.NewReader(string(text)))
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	to, err := outbox.ParseURL(server.URL + "/hooks/the-token-of-the-test?key=another-token")
	if err != nil {
		t.Fatal(err)
	}
	return outbox.Webhook{URL: to, Source: "//host/sessctl", Now: (&clock{outboxNoon}).Now, Secret: func() (string, error) { return "the secret", nil }}
}

func example() outbox.Event {
	return outbox.Event{ID: outbox.DeriveID(outboxNoon, "x"), Type: outbox.RunFailed, Time: outboxNoon, Subject: "nightly", Data: json.RawMessage(`{"n":1}`)}
}

// TestOutboxWebhook: what arrives, byte for byte.
func TestOutboxWebhook(t *testing.T) {
	var header http.Header
	var body string
	w := hook(t, func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		header, body = r.Header, string(text)
	})
	if err := w.Send(t.Context(), example()); err != nil {
		t.Fatal(err)
	}
	want := `{"specversion":"1.0","id":"` + example().ID + `","source":"//host/sessctl","type":"run.failed","subject":"nightly","time":"2026-05-01T12:00:00Z","datacontenttype":"application/json","data":{"n":1}}`
	if body != want || header.Get("Content-Type") != "application/cloudevents+json" {
		t.Errorf("%s: %s", header.Get("Content-Type"), body)
	}
	// printf '1777636800.%s' "$want" | openssl dgst -sha256 -hmac 'the secret'
	if got := header.Get(outbox.SignatureHeader); got != outbox.Sign("the secret", outboxNoon, []byte(want)) || !strings.HasPrefix(got, "t=1777636800,v1=") {
		t.Errorf("signature %s", got)
	}
	w.Plain = true
	if err := w.Send(t.Context(), example()); err != nil || body != `{"event":"run.failed","n":1}` {
		t.Errorf("%s, %v", body, err)
	}
}

// TestOutboxSign is a value that openssl has computed:
// printf '1700000000.{}' | openssl dgst -sha256 -hmac key
func TestOutboxSign(t *testing.T) {
	const want = "t=1700000000,v1=9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae"
	if got := outbox.Sign("key", time.Unix(1700000000, 0), []byte("{}")); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestOutboxAnswers: what is made of each answer, that only 2xx is a yes, and that no
// failure shows a token.
func TestOutboxAnswers(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for name, c := range map[string]struct {
		answer      http.HandlerFunc
		says        string // "" for a yes
		unreachable bool
	}{
		"204":   {answer: status(204)},
		"10 MB": {answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 10<<20)) }},
		"10 MB, no": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			_, _ = io.WriteString(w, strings.Repeat("x", 10<<20))
		}, "answers 500 Internal Server Error: " + strings.Repeat("x", shownComplaint) + "…", false},
		"400": {func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no\x1b[31m\n"+r.URL.String(), 400) }, "answers 400 Bad Request: no\x1b[31m /hooks/***?key=***", false},
		"429": {status(429), "429 Too Many Requests", true},
		"301 elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/the-token-of-the-test", http.StatusMovedPermanently)
		}, "301 Moved Permanently (the host " + strings.TrimPrefix(elsewhere.URL, "http://") + "); redirects are not followed", true},
		"308 here": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusPermanentRedirect)
		}, "(another path of the same host); redirects are not followed", true},
		"301 nowhere": {status(301), "301 Moved Permanently; redirects are not followed", true},
		"broken":      {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF", true},
	} {
		w := hook(t, c.answer)
		err := w.Send(t.Context(), example())
		var f *outbox.Failure
		switch errors.As(err, &f); {
		case c.says == "" && err != nil, c.says != "" && (f == nil || !strings.Contains(f.Reason, c.says) || f.Unreachable != c.unreachable):
			t.Errorf("%s: %v, %+v", name, err, f)
		case err != nil && (strings.Contains(err.Error(), "token") || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s shows a secret: %v", name, err)
		}
	}
}

// TestOutboxSlow: a receiver that does not answer, or sends a byte now and then, holds
// nothing up beyond the deadline; one that has said yes is not waited for.
func TestOutboxSlow(t *testing.T) {
	drip := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(code)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, "x")
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
	hangs := hook(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var f *outbox.Failure
	if err := hangs.Send(short, example()); !errors.As(err, &f) || !f.Unreachable || !strings.Contains(f.Reason, "no answer within") {
		t.Errorf("hangs: %v", err)
	}
	if err := hook(t, drip(200)).Send(t.Context(), example()); err != nil {
		t.Errorf("says yes slowly: %v", err)
	}
	if err := hook(t, drip(500)).Send(t.Context(), example()); !errors.As(err, &f) || f.Unreachable {
		t.Errorf("says no slowly: %v", err)
	}
}

// TestOutboxNoServer, and a secret that cannot be read.
func TestOutboxNoServer(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	to, err := outbox.ParseURL(closed.URL + "/a-token")
	if err != nil {
		t.Fatal(err)
	}
	var f *outbox.Failure
	if err := (outbox.Webhook{URL: to, Now: time.Now}).Send(t.Context(), example()); !errors.As(err, &f) || !f.Unreachable || strings.Contains(f.Reason, "a-token") {
		t.Errorf("%v", err)
	}
	w := outbox.Webhook{URL: to, Now: time.Now, Secret: func() (string, error) { return "", errors.New("the variable X is empty") }}
	if err := w.Send(t.Context(), example()); !errors.As(err, &f) || !f.Unreachable || !strings.Contains(f.Reason, "X is empty") {
		t.Errorf("%v", err)
	}
}

// TestOutboxHealthchecks: which address is pinged.
func TestOutboxHealthchecks(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.URL.String()+" "+string(body))
	}))
	defer server.Close()
	to, err := outbox.ParseURL(server.URL + "/uuid")
	if err != nil {
		t.Fatal(err)
	}
	h := outbox.Healthchecks{URL: to, Now: time.Now}
	run := outbox.DeriveID(outboxNoon, "run")
	for eventType, data := range map[string]string{
		outbox.RunStarted: `{"id":"` + run + `"}`, outbox.RunFinished: `{"id":"` + run + `","outcome":"ok","seconds":12.4}`, outbox.RunFailed: `{"outcome":"damaged","exit_code":4}`, outbox.Test: `{}`,
	} {
		if err := h.Send(t.Context(), outbox.Event{Type: eventType, Subject: "nightly", Time: outboxNoon, Data: json.RawMessage(data)}); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(asked)
	const rid = "?rid=019de368-f600-acba-2551-2100f80b56fc "
	want := []string{
		"/uuid/4 sessctl run nightly: damaged, exit code 4, 0 s, ended at 2026-05-01T12:00:00Z\n",
		"/uuid/log sessctl events test\n",
		"/uuid/start" + rid + "sessctl run nightly: started at 2026-05-01T12:00:00Z\n",
		"/uuid" + rid + "sessctl run nightly: ok, exit code 0, 12 s, ended at 2026-05-01T12:00:00Z\n",
	}
	if !slices.Equal(asked, want) {
		t.Errorf("%q", asked)
	}
}

// TestOutboxLockWait: another process that delivers is waited for as long as is said,
// here far less than the 10 seconds that are the default.
func TestOutboxLockWait(t *testing.T) {
	dir := t.TempDir()
	box := boxAt(t, dir, &clock{outboxNoon}, outbox.Target{Name: "hook", Types: outbox.Types(), Sender: &receiver{}})
	put(t, box, outboxNoon, outbox.Compacted, "a")
	lock, err := durable.Lock(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	box.LockWait = time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := box.Retry(ctx); !errors.Is(err, durable.ErrLocked) || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}
	if report, err := box.Deliver(ctx); err != nil || !report.Busy || ctx.Err() != nil {
		t.Errorf("%+v, %v, %v", report, err, ctx.Err())
	}
}
