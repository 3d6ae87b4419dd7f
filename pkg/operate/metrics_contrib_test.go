package operate_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/sessctl/sessctl/pkg/operate/metrics"
)

const contrib = "../../contrib"

// TestMetricsContribNamesWhatThereIs: the alert rules and the dashboard ask for metrics
// that are exposed, and the page lists each.
func TestMetricsContribNamesWhatThereIs(t *testing.T) {
	name := regexp.MustCompile(`\bsessctl_[a-z_]+`)
	for _, path := range []string{contrib + "/prometheus/alerts.yml", contrib + "/prometheus/alerts_test.yml", contrib + "/grafana/sessctl.json", "../../docs/monitor.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		named := name.FindAllString(string(text), -1)
		if len(named) < 10 {
			t.Errorf("%s names %d metrics", path, len(named))
		}
		for _, n := range named {
			if !slices.Contains(metrics.Names(), n) {
				t.Errorf("%s names %s, which is not exposed", path, n)
			}
		}
		for _, n := range metrics.Names() {
			if filepath.Ext(path) == ".md" && !slices.Contains(named, n) {
				t.Errorf("%s does not list %s", path, n)
			}
		}
	}
}

// TestMetricsDashboard: it is JSON that Grafana imports: every panel has a place of its
// own and asks the data source that the dashboard's variable names.
func TestMetricsDashboard(t *testing.T) {
	text, err := os.ReadFile(contrib + "/grafana/sessctl.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		UID, Title string
		Panels     []struct {
			ID         int
			Title      string
			Datasource struct{ UID string }
			GridPos    struct{ X, Y, W, H int }
			Targets    []struct{ Expr, RefID string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	if board.UID == "" || board.Title == "" || len(board.Panels) < 10 {
		t.Errorf("%+v", board)
	}
	taken := map[[2]int]string{}
	for _, p := range board.Panels {
		if p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("panel %q: %+v", p.Title, p)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panels %q and %q lie over each other", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

// promtool is Prometheus' own checker; the tests that need it are skipped where
// it is not installed.
func promtool(t *testing.T, in []byte, args ...string) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (it is part of Debian's prometheus); PATH is where it is looked for")
	}
	c := exec.Command(program, args...)
	c.Stdin = bytes.NewReader(in)
	if out, err := c.CombinedOutput(); err != nil || bytes.Contains(out, []byte("error")) {
		t.Errorf("promtool %v: %v\n%s", args, err, out)
	}
}

func TestPromtoolMetrics(t *testing.T) { promtool(t, []byte(text(t, full())), "check", "metrics") }

func TestMetricsPromtoolRules(t *testing.T) {
	promtool(t, nil, "check", "rules", contrib+"/prometheus/alerts.yml")
	promtool(t, nil, "test", "rules", contrib+"/prometheus/alerts_test.yml")
}
