package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The model says the same whole and streamed, and counts user messages.
func TestModel(t *testing.T) {
	m, err := startModel(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.stop()
	const messages = `"messages":[{"role":"system","content":"s"},{"role":"user","content":"one"},{"role":"assistant","content":"a"},{"role":"user","content":[{"type":"text","text":"two"}]}]`
	whole := ask(t, m, `{`+messages+`}`)
	var reply struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.NewDecoder(whole).Decode(&reply); err != nil || len(reply.Choices) != 1 {
		t.Fatalf("%+v, %v", reply, err)
	}
	streamed := ""
	lines := bufio.NewScanner(ask(t, m, `{"stream":true,`+messages+`}`))
	last := ""
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var event struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		_ = json.Unmarshal([]byte(data), &event) // the last is no JSON
		for _, c := range event.Choices {
			streamed += c.Delta.Content
		}
		last = data
	}
	if want := strings.Join(answer, ""); streamed != want || reply.Choices[0].Message.Content != want || last != "[DONE]" {
		t.Errorf("streamed %q, whole %q, last %q", streamed, reply.Choices[0].Message.Content, last)
	}
	if n, seen := m.requests(); n != 2 || seen.Users != 2 || seen.Last != "two" {
		t.Errorf("%d requests, the last %+v", n, seen)
	}
}

func ask(t *testing.T, m *model, body string) io.Reader {
	t.Helper()
	r, err := http.Post(m.url()+"/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Body.Close() })
	return r.Body
}

func TestDelay(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"plan": 0, "slow": 6 * time.Second, "[Sat] slow20 who": 20 * time.Second, "slowly": 6 * time.Second,
	} {
		if got := delayOf(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestHurry(t *testing.T) {
	m, err := startModel(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.stop()
	answered := make(chan error, 1)
	go func() {
		r, err := http.Post(m.url()+"/chat/completions", "application/json", strings.NewReader(`{"messages":[{"role":"user","content":"slow3600"}]}`))
		if err == nil {
			err = r.Body.Close()
		}
		answered <- err
	}()
	for n := 0; n == 0; n, _ = m.requests() {
		time.Sleep(time.Millisecond)
	}
	m.hurry()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}
