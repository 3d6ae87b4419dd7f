package cmd

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Nothing that came from a session can act on the terminal.
func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                 "plain",
		"naïve 配送 👩‍🚀":          "naïve 配送 👩‍🚀",
		"\x1b[31mred\x1b[0m":    `\x1b[31mred\x1b[0m`,
		"a\rb\bc\ad":            `a\rb\x08c\x07d`,
		"nul\x00":               `nul\x00`,
		"c1\u009b31m":           `c1\u009b31m`,
		"bidi\u202eevil":        `bidi\u202eevil`,
		"zero\u200bwidth\ufeff": `zero\u200bwidth\ufeff`,
		"line\nfeed\ttab":       `line\nfeed\ttab`,
		"para\u2028sep":         `para\u2028sep`,
		"bad\xff\xfeutf8":       `bad\xff\xfeutf8`,
		"no\u00a0break\u3000ok": "no\u00a0break\u3000ok",
	} {
		if got := wording.Visible(in); got != want {
			t.Errorf("visible(%q) = %q, want %q", in, got, want)
		}
	}
	if got := wording.VisibleText("two\nlines\tand\x1b"); got != "two\nlines\tand\\x1b" {
		t.Errorf("visibleText keeps lines: %q", got)
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("\x1b]0;title\x07")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range wording.Visible(s) {
			if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("%q leaves %U", s, r)
			}
		}
	})
}

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{failure.Usage("", "x"), 2},
		{fmt.Errorf("wrapped: %w", failure.Usage("", "x")), 2},
		{&failure.Outcome{Exit: failure.ExitPartly}, 3},
		{fmt.Errorf("x: %w", archive.ErrCorrupt), 4},
		{fmt.Errorf("x: %w", durable.ErrLocked), 75},
		{&session.BusyError{}, 75},
		{context.Canceled, 130},
		{failure.ErrTerminated, 143},
	} {
		if got := failure.ExitCode(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

func TestOutcomeOfARun(t *testing.T) {
	for outcomes, want := range map[string]int{
		"compacted":               0,
		"planned below-threshold": 0,
		"nothing-to-do partial":   0,
		"failed":                  1,
		"failed failed":           1,
		"compacted failed":        3,
		"busy failed":             3,
		"busy":                    75,
		"compacted busy":          75,
		"unsupported":             1,
		"unsupported compacted":   0,
		"unsupported busy":        75,
		"":                        0,
	} {
		var given []compact.Outcome
		for _, o := range strings.Fields(outcomes) {
			given = append(given, compact.Outcome(o))
		}
		if got := failure.ExitCode(steps.OutcomeOf(given)); got != want {
			t.Errorf("%q: %d, want %d", outcomes, got, want)
		}
	}
}

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 6, 10, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]time.Time{
		"30d": now.AddDate(0, 0, -30), "2w": now.AddDate(0, 0, -14), "12h": now.Add(-12 * time.Hour), "1.5d": now.Add(-36 * time.Hour),
		"2026-03-01T12:00:00Z": time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), "2026-03-01": time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local),
	} {
		if got, err := audit.ParseTime(in, now); err != nil || got != want.UnixMilli() {
			t.Errorf("%s: %d, %v, want %d", in, got, err, want.UnixMilli())
		}
	}
	for _, bad := range []string{"d", "tomorrow", "30", "xd", "2026-13-01"} {
		if _, err := audit.ParseTime(bad, now); err == nil {
			t.Errorf("%q is taken for a time", bad)
		}
	}
}

func TestParseLines(t *testing.T) {
	for in, want := range map[string][2]int{"": {1, 0}, "7": {7, 7}, "120-140": {120, 140}} {
		if first, last, err := steps.ParseLines(in); err != nil || first != want[0] || last != want[1] {
			t.Errorf("%q: %d-%d, %v", in, first, last, err)
		}
	}
	for _, bad := range []string{"0", "9-3", "a-b", "-5", "5-"} {
		if _, _, err := steps.ParseLines(bad); err == nil {
			t.Errorf("%q is taken for lines", bad)
		}
	}
}

func TestResolveVersion(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}}}
	for _, c := range []struct {
		injected string
		info     *debug.BuildInfo
		want     string
	}{{"v9", info, "v9"}, {"", info, "v1.2.3"}, {"", nil, "dev"}, {"", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "dev"}} {
		if got := resolveVersion(c.injected, c.info).Version; got != c.want {
			t.Errorf("%q: %s, want %s", c.injected, got, c.want)
		}
	}
}

// Commit and date are told also by a program that was built without flags for the
// linker: in a clone, and from the module proxy.
func TestVersionFromTheBuild(t *testing.T) {
	clone := []debug.BuildSetting{{Key: "vcs.revision", Value: "4745d8b5b8ba8a34eff5bc185e3bf19544481a0d"}, {Key: "vcs.time", Value: "2026-11-22T21:26:58Z"}}
	for _, c := range []struct {
		version      string
		settings     []debug.BuildSetting
		commit, date string
	}{
		{"v1.2.3", clone, "4745d8b5b8ba8a34eff5bc185e3bf19544481a0d", "2026-11-22T21:26:58Z"},
		{"v0.0.0-20261122212658-4745d8b5b8ba+dirty", clone, "4745d8b5b8ba8a34eff5bc185e3bf19544481a0d", "2026-11-22T21:26:58Z"},
		{"v0.0.0-20261122212658-4745d8b5b8ba", nil, "4745d8b5b8ba", "2026-11-22T21:26:58Z"},
		{"v1.2.4-0.20261122212658-4745d8b5b8ba", nil, "4745d8b5b8ba", "2026-11-22T21:26:58Z"},
		{"v1.2.4-rc.1.0.20261122212658-4745d8b5b8ba+dirty", nil, "4745d8b5b8ba", "2026-11-22T21:26:58Z"},
		{"v1.2.3", nil, "", ""}, {"(devel)", nil, "", ""}, {"v1.0.0-20269922212658-4745d8b5b8ba", nil, "", ""},
	} {
		got := resolveVersion("", &debug.BuildInfo{Main: debug.Module{Version: c.version}, Settings: c.settings})
		if got.Commit != c.commit || got.Date != c.date {
			t.Errorf("%s: commit %q of %q, want %q of %q", c.version, got.Commit, got.Date, c.commit, c.date)
		}
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		tokens, whole int64
		want          string
	}{{0, 100, "░░░░░░░░░░   0%"}, {84, 100, "████████░░  84%"}, {100, 100, "██████████ 100%"}, {250, 100, "██████████ 250%"}, {5, 0, "██████████ 500%"}} {
		if got := selection.Bar(c.tokens, c.whole); got != c.want {
			t.Errorf("bar(%d, %d) = %q, want %q", c.tokens, c.whole, got, c.want)
		}
	}
}

// How long the rest takes is told once enough is known, from the time that the
// sessions before have taken.
func TestTimeLeft(t *testing.T) {
	for _, test := range []struct {
		elapsed   time.Duration
		done, all int
		want      string
	}{
		{time.Hour, 0, 400, ""},
		{2 * time.Second, 1, 400, ""},
		{4 * time.Second, 2, 400, "about 13m left"},
		{10 * time.Second, 100, 400, "about 30s left"},
		{10 * time.Second, 399, 400, "about 1s left"},
	} {
		if got := workspace.TimeLeft(test.elapsed, test.done, test.all); got != test.want {
			t.Errorf("%v for %d of %d: %q, want %q", test.elapsed, test.done, test.all, got, test.want)
		}
	}
	now := time.Unix(0, 0)
	p := &workspace.Progress{On: true, Now: func() time.Time { return now }}
	p.Of(1, 10)
	now = now.Add(5 * time.Second)
	if p.Of(6, 10); p.Count != "6 of 10, about 5s left, " {
		t.Errorf("the bar says %q", p.Count)
	}
}

// drawn is the last that a bar was told, and what was printed beside it.
type drawn struct {
	what        string
	done, total int64
	lines       []string
}

func (d *drawn) Draw(what string, done, total int64) { d.what, d.done, d.total = what, done, total }
func (d *drawn) Clear()                              {}

// The bar shows the share of all sessions, never falls, and says which step of a run it
// is; long work has a last line, and where nobody looks nothing is shown.
func TestProgressOfTheWhole(t *testing.T) {
	for _, looks := range []bool{true, false} {
		bar, now := &drawn{}, time.Unix(0, 0)
		run := testApp(&streams{}, workspace.Run{}).Run
		run.Now = func() time.Time { return now }
		run.Part = "step 2 of 6, "
		run.Shows = workspace.Shows{Terminal: looks, Bar: func() workspace.ProgressBar { return bar }, Line: func(text string) { bar.lines = append(bar.lines, text) }}
		p := workspace.NewProgress(run)
		before := int64(0)
		for i, size := range []int64{100, 800, 100} {
			p.OfBytes(i+1, 3, before, size, 1000)
			before += size
			last := int64(0)
			for _, stage := range []compact.Stage{"read", "remember"} {
				for part := range int64(5) {
					p.Show(session.Ref{Agent: "desk"}, stage, part, 4)
					if looks && (bar.total != 1000 || bar.done < last || bar.done > before) {
						t.Fatalf("%d of %d after %d: %s", bar.done, bar.total, last, bar.what)
					}
					last = bar.done
				}
			}
			if looks && bar.done != before {
				t.Errorf("%d, want %d", bar.done, before)
			}
		}
		if looks && bar.what != "step 2 of 6, 3 of 3, desk remember" {
			t.Errorf("it says %q", bar.what)
		}
		p.End("nothing yet")
		now = now.Add(192 * time.Second)
		p.End("3 sessions")
		want := "[step 2 of 6, done: 3 sessions in 3m12s]"
		if !looks {
			want = "[]"
		}
		if fmt.Sprint(bar.lines) != want || !looks && bar.what != "" {
			t.Errorf("lines %q, bar %q", bar.lines, bar.what)
		}
	}
}
