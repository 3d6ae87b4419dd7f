package summarize_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/summarize"
)

// TestRealOllama asks a real server (OLLAMA_TEST_URL) with the model that
// OLLAMA_TEST_CHAT_MODEL names, however good it is: either its summary holds, or
// the extractive one stands in and says why. One of random weights is refused.
func TestRealOllama(t *testing.T) {
	base, model := os.Getenv("OLLAMA_TEST_URL"), os.Getenv("OLLAMA_TEST_CHAT_MODEL")
	if base == "" || model == "" {
		t.Skip("skipped: OLLAMA_TEST_URL and OLLAMA_TEST_CHAT_MODEL name no server and model")
	}
	e := summarize.Endpoint{Provider: summarize.ProviderOllama, Model: model, BaseURL: base, Window: summarize.MinWindow, Timeout: 2 * time.Minute}
	s := sumUp(t, summarize.WrittenOptions{}, e, conversation())
	t.Logf("%d calls, %d tokens, degraded %v: %s\n%s", s.Calls, s.Tokens, s.Degraded, s.Reason, s.Text)
	if s.Calls < 1 || s.Tokens < 1 {
		t.Errorf("%d calls, %d tokens", s.Calls, s.Tokens)
	}
	extractive := s.Kind == summarize.KindExtractive && s.Model == "" && strings.HasPrefix(s.Text, "# Session summary (extractive)")
	if s.Degraded != extractive || s.Degraded != (s.Reason != "") || s.Text == "" {
		t.Errorf("degraded %v, kind %s, model %q, reason %q", s.Degraded, s.Kind, s.Model, s.Reason)
	}
	if strings.Contains(model, "random") && !s.Degraded {
		t.Error("what a model of random weights says was taken for a summary")
	}
}
