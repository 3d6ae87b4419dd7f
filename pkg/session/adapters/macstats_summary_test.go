package adapters_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/session"
)

// record is what takes the place of a session that is in use.
func (s macstatsStore) record(t rapid.TB, path, summary string) string {
	t.Helper()
	plan, err := s.PlanRewrite(s.t.Context(), session.ShortenRequest{
		Ref: session.Ref{Path: path}, Snapshot: session.Snapshot{ModTime: time.Now()}, Now: time.Now(), Summary: session.Summed{Text: summary},
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan.Record
}

// Whatever a summary says, it is read again as one summary and nothing else.
func TestMacstatsSummaryStaysOneBlock(t *testing.T) {
	s := newMacstatsStore(t)
	path := s.write("session/"+name, macstatsTalk, 0)
	line := rapid.SampledFrom([]string{"## User", "  ## Assistant \t", "## Users", "a", "é", "", "- b", "\\## User", "Summary of the conversation so far:"})
	rapid.Check(t, func(t *rapid.T) {
		summary := strings.Join(rapid.SliceOfN(line, 1, 9).Draw(t, "lines"), "\n")
		if strings.TrimSpace(summary) == "" {
			t.Skip("no summary")
		}
		var roles []session.Role
		var text string
		_, err := s.Scan(s.t.Context(), strings.NewReader(s.record(t, path, summary)), session.ScanOptions{}, func(m *session.Message) error {
			roles, text = append(roles, m.Role), string(m.Parts[0].Text)
			return nil
		})
		if err != nil || len(roles) != 1 || roles[0] != session.RoleSummary {
			t.Fatalf("%q is read as %v, %v", summary, roles, err)
		}
		bare := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "\\", "")), " ") }
		if bare(text) != bare(summary) {
			t.Fatalf("%q became %q", summary, text)
		}
	})
}

// A summary is bounded to 12,000 bytes, and ends behind a line or a sentence if
// there is one.
func TestMacstatsLongSummary(t *testing.T) {
	s := newMacstatsStore(t)
	path := s.write("session/"+name, macstatsTalk, 0)
	const frame = len("## Assistant\n\n\n\n")
	for what, c := range map[string]struct{ summary, end string }{
		"sentences":      {strings.Repeat("Twelve bytes. ", 2000), "bytes.\n[summary truncated]\n\n"},
		"lines":          {strings.Repeat("twelve bytes\n", 2000), "twelve bytes\n[summary truncated]\n\n"},
		"one word":       {strings.Repeat("x", 30_000), "xxx\n[summary truncated]\n\n"},
		"runes":          {strings.Repeat("日本", 10_000), "\n[summary truncated]\n\n"},
		"runes, shifted": {"x" + strings.Repeat("日本", 10_000), "\n[summary truncated]\n\n"},
		"shifted again":  {"xx" + strings.Repeat("日本", 10_000), "\n[summary truncated]\n\n"},
		"other stops":    {strings.Repeat("日本です。", 3000), "。\n[summary truncated]\n\n"},
		"what just fits": {strings.Repeat("x", 12_000-len("Summary of the conversation so far:\n\n")), "xxx\n\n"},
	} {
		got := s.record(t, path, c.summary)
		if len(got) > 12_000+frame || len(got) < 11_000 || !utf8.ValidString(got) || !strings.HasSuffix(got, c.end) {
			t.Errorf("%s: %d bytes, ends in %q", what, len(got), got[max(0, len(got)-60):])
		}
	}
}
