package operate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/operate/metrics"
)

func full() metrics.Reading {
	at := time.Unix(1_772_000_000, 0)
	return metrics.Reading{
		Version: "1.2.3", Go: "go1.26", Time: at, Threshold: 150_000, Percent: 80, Due: metrics.Due{Tokens: 1, Share: 2},
		Agents: []metrics.Agent{
			{Runtime: "openclaw", Agent: "coordinator", Sessions: 1, Over: 1, Tokens: 160_000, Ratio: 0.8, LogBytes: 1 << 20, ArchiveBytes: 5 << 20, Pending: 3, Purge: at},
			{Runtime: "claude", Agent: "work", Sessions: 4, Tokens: 1000, LogBytes: 10},
		},
		Disks: []metrics.Disk{{Directory: "/data", Free: 7}, {Directory: "/data", Free: 7}}, Archives: &metrics.Archives{Count: 2, Damaged: 1}, Memory: &metrics.Memory{Bytes: 9, Records: 8},
		Runs:   &metrics.Runs{Total: map[string]int64{"ok": 4, "failed": 1}, Profiles: []metrics.Profile{{Profile: "nightly", Success: at, Duration: time.Minute}, {Profile: "new"}}},
		Events: &metrics.Events{Waiting: 1, Dead: 2}, Unreadable: 1,
	}
}

func text(t *testing.T, r metrics.Reading) string {
	t.Helper()
	var b strings.Builder
	if err := metrics.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMetricsWrite(t *testing.T) {
	got := text(t, full())
	for _, line := range []string{
		"# TYPE sessctl_runs_total counter\n",
		`sessctl_context_tokens{agent="coordinator",runtime="openclaw"} 160000` + "\n",
		`sessctl_context_ratio{agent="coordinator",runtime="openclaw"} 0.8` + "\n",
		`sessctl_purge_deadline_seconds{agent="coordinator"} 1.772e+09` + "\n",
		`sessctl_runs_total{outcome="ok"} 4` + "\n",
		`sessctl_run_duration_seconds{profile="nightly"} 60` + "\n",
		`sessctl_last_success_timestamp_seconds{profile="nightly"} 1.772e+09` + "\n",
		"sessctl_damaged_archives 1\n",
		"sessctl_context_threshold_ratio 0.8\n",
		`sessctl_sessions_due{by="share"} 2` + "\n", `sessctl_sessions_due{by="tokens"} 1` + "\n", `sessctl_sessions_due{by="runtime"} 0` + "\n",
		`sessctl_build_info{goversion="go1.26",version="1.2.3"} 1` + "\n",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("without %s", line)
		}
	}
	for _, none := range []string{`sessctl_context_ratio{agent="work"`, `last_success_timestamp_seconds{profile="new"`} {
		if strings.Contains(got, none) {
			t.Errorf("with %s", none)
		}
	}
	for _, name := range metrics.Names() {
		if !strings.Contains(got, "\n"+name) {
			t.Errorf("a full reading has no %s", name)
		}
	}
	if !strings.HasSuffix(got, "\n") || !utf8.ValidString(got) {
		t.Error("the last line does not end, or it is no UTF-8")
	}
	empty := text(t, metrics.Reading{})
	if strings.Contains(empty, "sessctl_damaged_archives") || !strings.Contains(empty, "sessctl_unreadable 0") {
		t.Errorf("of nothing:\n%s", empty)
	}
}

// TestMetricsLabels: whatever stands in names of agents, each series is there once and
// their number is bounded.
func TestMetricsLabels(t *testing.T) {
	var r metrics.Reading
	r.Memory = &metrics.Memory{}
	for i := range 3 * metrics.MaxAgents {
		r.Agents = append(r.Agents, metrics.Agent{Runtime: "claude", Agent: fmt.Sprint("a", i), Sessions: 1, Tokens: int64(i), LogBytes: 1, Pending: 1})
	}
	got := text(t, r)
	if n := strings.Count(got, "\nsessctl_log_bytes{"); n != metrics.MaxAgents {
		t.Errorf("%d series", n)
	}
	if !strings.Contains(got, fmt.Sprintf("sessctl_log_bytes{agent=\"other\",runtime=\"other\"} %d\n", 2*metrics.MaxAgents+1)) {
		t.Error("the others are not added up")
	}
	if !strings.Contains(got, fmt.Sprintf("agent=\"a%d\"", 3*metrics.MaxAgents-1)) {
		t.Error("the largest is not named")
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		name := make([]byte, random.IntN(300))
		for i := range name {
			name[i] = byte(random.IntN(256))
		}
		r := full()
		r.Agents = append(r.Agents, metrics.Agent{Runtime: "pi", Agent: string(name)}, metrics.Agent{Runtime: "pi", Agent: string(name) + "\xff"}, metrics.Agent{Runtime: "pi", Agent: string(name) + "\xfe"})
		r.Disks = append(r.Disks, metrics.Disk{Directory: "/" + string(name)})
		r.Runs.Profiles = append(r.Runs.Profiles, metrics.Profile{Profile: "\xff"}, metrics.Profile{Profile: "\xfe"})
		r.Version = string(name)
		if got := text(t, r); !utf8.ValidString(got) {
			t.Fatalf("%q is written as no UTF-8", name)
		}
	}
}
