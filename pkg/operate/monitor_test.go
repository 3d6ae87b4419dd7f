package operate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/operate/monitor"
)

var monitorNoon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// watcher plays looks, and forgets the events that were put.
type watcher struct {
	t     *testing.T
	state *monitor.State
	o     monitor.Options
	told  []string // types and subjects, in order
}

func newWatcher(t *testing.T) *watcher {
	t.Helper()
	n := 0
	state, err := monitor.Load(nil, filepath.Join(t.TempDir(), "monitor.json"))
	if err != nil {
		t.Fatal(err)
	}
	return &watcher{t: t, state: state, o: monitor.Options{CoolDown: time.Hour, NewID: func() string { n++; return fmt.Sprint("id-", n) }}}
}

// look returns how many events the look has made ready, and what is wrong.
func (w *watcher) look(look monitor.Look) (events int, alerts []monitor.Alert) {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "monitor.json")
	alerts = w.state.Step(look, w.o)
	events = len(w.state.Ready)
	for _, e := range w.state.Ready {
		w.told = append(w.told, e.Type+" "+e.Subject)
	}
	w.state.Ready = nil
	if err := w.state.Save(nil, path); err != nil { // kept across restarts
		w.t.Fatal(err)
	}
	var err error
	if w.state, err = monitor.Load(nil, path); err != nil {
		w.t.Fatal(err)
	}
	return events, alerts
}

func sized(at time.Time, tokens int64) monitor.Look {
	return monitor.Look{Time: at, Sessions: []monitor.Session{{
		Runtime: "openclaw", Agent: "coordinator", Session: "s1", Tokens: tokens, Threshold: 100, Over: tokens >= 100, Near: tokens >= 90, Strategy: "rotate",
	}}}
}

// TestMonitorCrossing: one event a crossing, with hysteresis and a cool-down, also when
// the clock is set back.
func TestMonitorCrossing(t *testing.T) {
	w := newWatcher(t)
	for i, step := range []struct {
		at     time.Duration
		tokens int64
		events int
		wrong  int
	}{
		{0, 50, 0, 0},
		{5 * time.Minute, 120, 1, 1},
		{10 * time.Minute, 130, 0, 1}, // still over
		{15 * time.Minute, 95, 0, 1},  // not under the mark at which it is armed again
		{2 * time.Hour, 130, 0, 1},
		{3 * time.Hour, 10, 0, 0},
		{4 * time.Hour, 120, 1, 1}, // another crossing
		{4*time.Hour + 5*time.Minute, 10, 0, 0},
		{4*time.Hour + 10*time.Minute, 120, 0, 1}, // within the cool-down
		{4*time.Hour + 30*time.Minute, 120, 0, 1},
		{5 * time.Hour, 120, 1, 1}, // the cool-down is over, and it still is over
		{4 * time.Hour, 120, 0, 1}, // the clock is set back: no flood
		{4*time.Hour + 5*time.Minute, 10, 0, 0},
		{5*time.Hour + 10*time.Minute, 120, 1, 1}, // and no silence
		{-1000 * time.Hour, 120, 0, 1},
		{-998 * time.Hour, 10, 0, 0},
		{-997 * time.Hour, 120, 1, 1},
	} {
		events, alerts := w.look(sized(monitorNoon.Add(step.at), step.tokens))
		if events != step.events || len(alerts) != step.wrong {
			t.Errorf("step %d: %d events, %v", i, events, alerts)
		}
	}
}

// TestMonitorEvent: the data of an event is what the session is, and what to do.
func TestMonitorEvent(t *testing.T) {
	w := newWatcher(t)
	w.state.Step(sized(monitorNoon, 120), w.o)
	e := w.state.Ready[0]
	var data struct {
		Agent   string `json:"agent"`
		Tokens  int64  `json:"tokens"`
		Message string `json:"message"`
		Advice  string `json:"advice"`
		Over    bool   `json:"over"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		t.Fatal(err)
	}
	if e.Type != "session.needs_compaction" || e.Subject != "openclaw/coordinator/s1" || data.Agent != "coordinator" || data.Tokens != 120 || data.Message == "" || data.Advice == "" || data.Over {
		t.Errorf("%+v, %s", e, e.Data)
	}
}

// TestMonitorDamagedState: a state that cannot be read is begun anew. What is wrong may
// have been told: it is told when a cool-down is over, not at once and not never.
func TestMonitorDamagedState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "monitor.json")
	for _, text := range []string{"", "{", `{"schema":2}`, `{"schema":1,"conditions":{"x":7}}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		state, err := monitor.Load(nil, path)
		if err == nil || !state.Anew {
			t.Fatalf("%q: %v", text, err)
		}
		w := newWatcher(t)
		w.state = state
		if events, alerts := w.look(sized(monitorNoon, 120)); events != 0 || len(alerts) != 1 {
			t.Errorf("at once: %d events, %v", events, alerts)
		}
		if events, _ := w.look(sized(monitorNoon.Add(59*time.Minute), 120)); events != 0 {
			t.Error("told within the cool-down")
		}
		if events, _ := w.look(sized(monitorNoon.Add(time.Hour), 120)); events != 1 {
			t.Error("never told")
		}
	}
	if err := os.WriteFile(path, []byte(`{"schema":1,"conditions":{"a":null},"agents":{"b":null}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if state, err := monitor.Load(nil, path); err != nil || len(state.Conditions) != 0 || len(state.Agents) != 0 {
		t.Errorf("null is kept: %+v, %v", state, err)
	}
}

// TestMonitorGathered: a thousand damaged archives are one event, and a repaired one
// ends.
func TestMonitorGathered(t *testing.T) {
	w := newWatcher(t)
	look := monitor.Look{Time: monitorNoon, ArchivesSeen: true}
	for i := range 1000 {
		look.Archives = append(look.Archives, monitor.DamagedArchive{ID: fmt.Sprint(i), Message: "gone"})
	}
	w.state.Step(look, w.o)
	if n := len(w.state.Ready); n != 1 {
		t.Fatalf("%d events", n)
	}
	var data struct {
		Count int                      `json:"count"`
		Items []monitor.DamagedArchive `json:"items"`
	}
	if err := json.Unmarshal(w.state.Ready[0].Data, &data); err != nil || data.Count != 1000 || len(data.Items) != 20 {
		t.Errorf("%v, %d, %d", err, data.Count, len(data.Items))
	}
	w.state.Ready = nil
	look.Time, look.Archives = monitorNoon.Add(2*time.Hour), append(look.Archives[1:], monitor.DamagedArchive{ID: "new"})
	if events, alerts := w.look(look); events != 1 || len(alerts) != 1000 {
		t.Errorf("a new one: %d events, %d alerts", events, len(alerts))
	}
	look.Time, look.Archives = monitorNoon.Add(4*time.Hour), nil
	if events, alerts := w.look(look); events != 0 || len(alerts) != 0 {
		t.Errorf("repaired: %d events, %v", events, alerts)
	}
}

// TestMonitorQuietHours: alerts wait, a session that is due does not.
func TestMonitorQuietHours(t *testing.T) {
	w := newWatcher(t)
	var err error
	if w.o.Quiet, err = monitor.ParseQuietHours("22:00-07:00 UTC"); err != nil {
		t.Fatal(err)
	}
	low := func(at time.Time, free int64) monitor.Look {
		look := sized(at, 120)
		look.Disks = []monitor.Disk{{Path: "/data", Free: free, Limit: 100}}
		return look
	}
	night := monitorNoon.Add(11 * time.Hour)
	events, alerts := w.look(low(night, 10))
	if events != 1 || w.told[0] != "session.needs_compaction openclaw/coordinator/s1" || !alerts[0].Held || alerts[0].Kind != monitor.DiskLow {
		t.Fatalf("%v, %+v", w.told, alerts)
	}
	for i := range 6 { // flapping all night
		free := int64(10)
		if i%2 == 0 {
			free = 1000
		}
		if events, _ := w.look(low(night.Add(time.Duration(i+1)*time.Hour), free)); events != 0 {
			t.Error("told at night")
		}
	}
	w.look(low(night.Add(7*time.Hour), 1000))
	w.state.Step(low(night.Add(8*time.Hour), 1000), w.o)
	if len(w.state.Ready) != 1 || len(w.state.Held) != 0 {
		t.Fatalf("in the morning: %v, %v", w.state.Ready, w.state.Held)
	}
	var data struct {
		Over bool `json:"over"`
	}
	if err := json.Unmarshal(w.state.Ready[0].Data, &data); err != nil || !data.Over {
		t.Errorf("it does not say that it is over: %s", w.state.Ready[0].Data)
	}
}

// TestMonitorQuietHoursByTheWall holds the hours of zones and of the nights in which
// clocks change.
func TestMonitorQuietHoursByTheWall(t *testing.T) {
	for _, c := range []struct {
		hours, at string
		hold      bool
	}{
		{"22:00-07:00 UTC", "2026-03-02T21:59:59Z", false},
		{"22:00-07:00 UTC", "2026-03-02T22:00:00Z", true},
		{"22:00-07:00 UTC", "2026-03-03T06:59:59Z", true},
		{"22:00-07:00 UTC", "2026-03-03T07:00:00Z", false},
		{"12:00-14:30 Asia/Kathmandu", "2026-03-03T08:44:00Z", true},
		{"12:00-14:30 Asia/Kathmandu", "2026-03-03T08:45:00Z", false},
		{"22:00-07:00 Europe/Berlin", "2026-03-28T21:30:00Z", true},  // winter
		{"22:00-07:00 Europe/Berlin", "2026-03-29T05:30:00Z", false}, // summer since two hours
		{"22:00-07:00 Europe/Berlin", "2026-03-29T04:59:00Z", true},
		{"02:30-03:30 Europe/Berlin", "2026-03-29T01:15:00Z", true},  // 02:30 is left out: 03:15
		{"22:00-02:30 Europe/Berlin", "2026-10-25T00:29:00Z", true},  // 02:29, the first time
		{"22:00-02:30 Europe/Berlin", "2026-10-25T00:31:00Z", false}, // 02:31
		{"22:00-02:30 Europe/Berlin", "2026-10-25T01:29:00Z", true},  // 02:29, the second time
		{"22:00-02:30 Europe/Berlin", "2026-10-25T01:31:00Z", false},
	} {
		q, err := monitor.ParseQuietHours(c.hours)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if q.Hold(at) != c.hold {
			t.Errorf("%s at %s: %v", c.hours, c.at, !c.hold)
		}
	}
	for _, bad := range []string{"", "22:00-07:00", "22:00 UTC", "22:00-7 UTC", "25:00-07:00 UTC", "22:00-22:00 UTC", "22:00-07:00 Mars/Olympus"} {
		if _, err := monitor.ParseQuietHours(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestMonitorGrowth: what is usual is learned, and one outlier does not change it.
func TestMonitorGrowth(t *testing.T) {
	w := newWatcher(t)
	w.o.Growth = monitor.Growth{Factor: 4, Floor: 1 << 20}
	bytes, at := int64(1000<<20), monitorNoon
	grow := func(by int64, after time.Duration) (int, []monitor.Alert) {
		bytes, at = bytes+by, at.Add(after)
		return w.look(monitor.Look{Time: at, Agents: []monitor.AgentSize{{Runtime: "pi", Agent: "work", Bytes: bytes}}})
	}
	for i := range 20 {
		by := int64(1+i%3) << 20
		if i == 7 {
			by = 500 << 20 // nothing to compare with yet
		}
		if events, _ := grow(by, time.Hour); events != 0 {
			t.Fatalf("unusual after %d hours", i)
		}
	}
	if events, alerts := grow(11<<20, 5*time.Minute); events != 0 || len(alerts) != 0 {
		t.Fatalf("usual: %v", alerts)
	}
	if events, alerts := grow(100<<20, 5*time.Minute); events != 1 || len(alerts) != 1 {
		t.Fatalf("unusual: %v", alerts)
	}
	if events, _ := grow(100<<20, 5*time.Minute); events != 0 {
		t.Error("told twice")
	}
	grow(0, time.Hour)
	if _, alerts := grow(0, time.Hour); len(alerts) != 0 {
		t.Errorf("it does not end: %v", alerts)
	}
	if _, alerts := grow(-900<<20, time.Hour); len(alerts) != 0 { // a compaction
		t.Errorf("a smaller log: %v", alerts)
	}
	if _, alerts := grow(60<<20, 24*time.Hour); len(alerts) != 0 { // nobody looked for a day
		t.Errorf("a day in one look: %v", alerts)
	}
	if _, alerts := grow(1<<20, -time.Hour); len(alerts) != 0 {
		t.Errorf("the clock is set back: %v", alerts)
	}
	if n := len(w.state.Agents["pi/work"].Rates); n > 168 || n < 12 { // a week of active hours; as many must be there
		t.Errorf("%d hours are remembered", n)
	}
}

// TestMonitorPurge: each day that something more is about to go is told once.
func TestMonitorPurge(t *testing.T) {
	w := newWatcher(t)
	at := func(day, last int) monitor.Look {
		now := monitorNoon.AddDate(0, 0, day)
		return monitor.Look{Time: now, Purges: []monitor.Purge{{Runtime: "claude", Agent: "work", Sessions: 2, Deadline: now, Last: monitorNoon.AddDate(0, 0, last)}}}
	}
	var told []int
	for i, look := range []monitor.Look{at(0, 3), at(1, 3), at(2, 4), at(2, 4), {Time: monitorNoon.AddDate(0, 0, 3), Purges: []monitor.Purge{{Runtime: "claude", Agent: "work"}}}, at(4, 4)} {
		events, _ := w.look(look)
		told = append(told, events)
		if i == 4 && len(w.state.Conditions) != 1 {
			t.Error(w.state.Conditions)
		}
	}
	if !slices.Equal(told, []int{1, 0, 1, 0, 0, 1}) {
		t.Error(told)
	}
	for days, want := range map[int]string{-30: " at its next start", 0: " at its next start", 2: " from 2026-03-04 on"} {
		look := at(5, 6)
		look.Purges[0].Deadline = look.Time.AddDate(0, 0, days)
		want = strings.ReplaceAll(want, "2026-03-04", look.Purges[0].Deadline.UTC().Format(time.DateOnly))
		if _, alerts := newWatcher(t).look(look); len(alerts) != 1 || !strings.HasSuffix(alerts[0].Message, want) {
			t.Errorf("due in %d days: %v, want an end of %q", days, alerts, want)
		}
	}
}

// TestMonitorOthers: stores, memory and profiles.
func TestMonitorOthers(t *testing.T) {
	w := newWatcher(t)
	here, gone := monitor.Look{Time: monitorNoon, Stores: []monitor.Store{{Runtime: "pi", Root: "/p"}}}, monitor.Look{Time: monitorNoon.Add(time.Hour), Stores: []monitor.Store{{Runtime: "pi", Root: "/p", Missing: true}}}
	w.look(here)
	if events, _ := w.look(gone); events != 1 {
		t.Error("a store that is gone is not told")
	}
	gone.Time = monitorNoon.Add(-time.Hour) // the clock is set back
	if events, alerts := w.look(gone); events != 0 || len(alerts) != 1 {
		t.Errorf("%d events, %v", events, alerts)
	}
	gone.Time = monitorNoon.AddDate(0, 0, 8)
	if w.look(gone); len(w.state.Stores) != 0 {
		t.Error("it is never forgotten")
	}
	for _, step := range []struct{ hour, pending, events int }{{0, 5, 0}, {23, 9, 0}, {24, 9, 1}, {25, 9, 0}, {26, 0, 0}, {27, 1, 0}, {50, 1, 0}, {51, 1, 1}} {
		if events, _ := w.look(monitor.Look{Time: monitorNoon.Add(time.Duration(step.hour) * time.Hour), Memory: &monitor.Memory{Pending: step.pending}}); events != step.events {
			t.Errorf("hour %d: %d events", step.hour, events)
		}
	}
	run := func(hour int, p monitor.Profile, limit time.Duration) int {
		w.o.Overdue = limit
		events, _ := w.look(monitor.Look{Time: monitorNoon.Add(time.Duration(hour) * time.Hour), Profiles: []monitor.Profile{p}})
		return events
	}
	for i, c := range []struct {
		hour  int
		p     monitor.Profile
		limit time.Duration
		want  int
	}{
		{25, monitor.Profile{Profile: "a", Success: monitorNoon}, 0, 0},
		{27, monitor.Profile{Profile: "a", Success: monitorNoon}, 0, 1},
		{27, monitor.Profile{Profile: "b", Success: monitorNoon, Pause: 24 * time.Hour}, 0, 0},
		{27, monitor.Profile{Profile: "c", Success: monitorNoon}, -1, 0},
		{2, monitor.Profile{Profile: "d", Success: monitorNoon}, time.Hour, 1},
		{2, monitor.Profile{Profile: "e", Success: monitorNoon.AddDate(1, 0, 0)}, time.Hour, 0}, // recorded while the clock was ahead
		{4, monitor.Profile{Profile: "e", Success: monitorNoon.AddDate(1, 0, 0)}, time.Hour, 1},
	} {
		if got := run(c.hour, c.p, c.limit); got != c.want {
			t.Errorf("%d: %d events", i, got)
		}
	}
}

// TestMonitorForgotten: what was not looked at keeps its state for a week.
func TestMonitorForgotten(t *testing.T) {
	w := newWatcher(t)
	w.look(sized(monitorNoon, 120))
	w.look(monitor.Look{Time: monitorNoon.AddDate(0, 0, 3)})
	if events, alerts := w.look(sized(monitorNoon.AddDate(0, 0, 4), 120)); events != 0 || len(alerts) != 1 {
		t.Errorf("%d events, %v", events, alerts)
	}
	if w.look(monitor.Look{Time: monitorNoon.AddDate(0, 0, 12)}); len(w.state.Conditions) != 0 {
		t.Error(w.state.Conditions)
	}
}

// TestMonitorTokensAreGrouped: numbers of tokens are written as everywhere else.
func TestMonitorTokensAreGrouped(t *testing.T) {
	for tokens, want := range map[int64]string{168_044: "168,044 tokens, the threshold is 150,000", 120_500: "due by the rule of its runtime, with 120,500 tokens"} {
		look := monitor.Look{Time: monitorNoon, Sessions: []monitor.Session{{Runtime: "pi", Agent: "work", Session: "s1", Tokens: tokens, Threshold: 150_000, Over: true}}}
		if _, alerts := newWatcher(t).look(look); len(alerts) != 1 || alerts[0].Message != want {
			t.Errorf("%+v, want %q", alerts, want)
		}
	}
}
