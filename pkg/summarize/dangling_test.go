package summarize_test

import (
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// TestNoHeadingWithoutText: of an earlier summary that does not fit, no heading
// is left at the end with nothing below it.
func TestNoHeadingWithoutText(t *testing.T) {
	earlier := &session.Message{Role: session.RoleSummary, Compaction: true, Parts: text("## Goal\n- Open the library in spring.\n## Progress\n### Done\n- " + strings.Repeat("long ", 200))}
	for _, checkpoint := range []bool{false, true} {
		got := sum(t, summarize.Options{MaxRunes: 700, Checkpoint: checkpoint}, earlier, user("Please go on with the library."))
		if !strings.Contains(got.Text, "> - Open the library in spring.") || strings.Contains(got.Text, "**Done**") || strings.Contains(got.Text, "**Progress**") {
			t.Errorf("checkpoint %v:\n%s", checkpoint, got.Text)
		}
	}
}
