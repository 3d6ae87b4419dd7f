package operate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/operate/schedule"
)

// packagedHead stands in the units of the packages where those that schedule
// installs say who made them: only theirs are replaced and removed.
const packagedHead = `# From the package of sessctl, for every user; off until a user switches it on.
# sessctl schedule install writes one for your stores, which is used instead.
`

// packagedJobs are the jobs of the packages. They know no configuration, so they
// leave open what any may need.
func packagedJobs() []schedule.Job {
	needs := schedule.Needs{Network: schedule.Internet, Programs: true}
	return []schedule.Job{
		{
			Profile: "nightly", Program: "/usr/bin/sessctl", When: schedule.When{Calendar: "*-*-* 03:00"}, Needs: needs,
			Arguments: []string{"run", "nightly", "--lock-wait", "10m", "--quiet"}, Failed: []string{"schedule", "failed", "nightly"},
		},
		{
			Profile: schedule.Monitor, Program: "/usr/bin/sessctl", When: schedule.When{Every: 5 * time.Minute}, Deadline: 10 * time.Minute, Needs: needs,
			Arguments: []string{"monitor", "--quiet"}, Failed: []string{"schedule", "failed", "monitor"},
		},
	}
}

// The units of the packages are those that schedule makes.
func TestSchedulePackagedUnits(t *testing.T) {
	dir := filepath.Join("..", "..", "contrib", "systemd", "user")
	want := map[string]string{}
	for _, job := range packagedJobs() {
		for _, f := range job.Units("") {
			lines := strings.SplitAfterN(f.Text, "\n", 3)
			want[f.Path] = packagedHead + lines[2]
		}
	}
	for name, text := range want {
		path := filepath.Join(dir, name)
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, string(got)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	there, err := os.ReadDir(dir)
	if err != nil || len(there) != len(want) {
		t.Errorf("%s has %d files, want %d (%v)", dir, len(there), len(want), err)
	}
}
