package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Enough resets while a client writes, and how long they may take.
const (
	wantedResets  = 4
	resetPatience = 2 * time.Minute
)

// playNumbered lets a client number its messages while sessctl compacts the
// session again and again through the running gateway: resets get through, and
// every message is in the live log or in an archive. A message that the gateway
// refuses during a reset is sent again, as its error asks for; how many those
// are depends on how fast the machine is, and is only told.
func playNumbered(ctx context.Context, s *stage) {
	o := newOpenClaw(s)
	o.startGateway(ctx)
	c := &client{openClaw: o}
	c.must("a first turn", c.send(ctx))
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- c.talk(ctx, stop) }()
	resets := o.compactOften(ctx)
	close(stop)
	o.must("the client's last turn", <-done)
	same(s, fmt.Sprintf("%d resets get through while a client writes", wantedResets), resets >= wantedResets, true)
	log, err := os.ReadFile(filepath.Join(o.home, "gateway.log"))
	o.must("read the gateway's log", err)
	fmt.Printf("        %d messages; %d times the gateway refused one, %d turns among them, and it was sent again\n", c.sent(), c.refusals(), strings.Count(string(log), "chat completion failed: AbortError"))
	same(s, fmt.Sprintf("all %d messages are in the live log or in an archive", c.sent()), strings.Join(o.lost(c.numbers()), " "), "")
}

// compactOften compacts until enough sessions were started fresh.
func (o *openClaw) compactOften(ctx context.Context) (resets int) {
	for end := time.Now().Add(resetPatience); resets < wantedResets && time.Now().Before(end) && ctx.Err() == nil; {
		done := o.compact(ctx, "--agent", o.agent, "--quiet-period", "300ms")
		if len(done.Sessions) == 1 && done.Sessions[0].Outcome == "compacted" {
			resets++
		}
		time.Sleep(300 * time.Millisecond)
	}
	return resets
}

// lost lists the messages that are in neither the live log nor an archive.
func (o *openClaw) lost(messages []string) []string {
	live, err := os.ReadFile(o.log(o.entry().SessionID))
	o.must("read the live log", err)
	all := [][]byte{live}
	archives, err := filepath.Glob(filepath.Join(o.home, ".openclaw", "session_archive", o.agent, "*"))
	o.must("look for archives", err)
	for _, path := range archives {
		text, err := os.ReadFile(path)
		o.must("read an archive", err)
		all = append(all, text)
	}
	text := bytes.Join(all, []byte("\n"))
	var missing []string
	for _, m := range messages {
		if !bytes.Contains(text, []byte(m)) {
			missing = append(missing, m)
		}
	}
	return missing
}

// client writes numbered messages to the gateway's HTTP interface.
type client struct {
	*openClaw
	mutex   sync.Mutex
	said    []string
	refused int
}

func (c *client) numbers() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return append([]string(nil), c.said...)
}

func (c *client) sent() int { return len(c.numbers()) }

func (c *client) refusals() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.refused
}

// talk writes one message after the other, with pauses, until it is stopped.
func (c *client) talk(ctx context.Context, stop chan struct{}) error {
	for pause := 0; ; pause = (pause + 700) % 2500 {
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(pause) * time.Millisecond):
		}
		if err := c.send(ctx); err != nil {
			return err
		}
	}
}

// send writes the next message, again while the gateway refuses it.
func (c *client) send(ctx context.Context) error {
	const tries = 5
	c.mutex.Lock()
	number := fmt.Sprintf("NUMBER-%04d", len(c.said)+1)
	c.said = append(c.said, number)
	c.mutex.Unlock()
	var err error
	for range tries {
		if err = c.post(ctx, number+": and what is next?"); err == nil {
			return nil
		}
		c.mutex.Lock()
		c.refused++
		c.mutex.Unlock()
		time.Sleep(time.Second)
	}
	return fmt.Errorf("message %s: %w", number, err)
}

func (c *client) post(ctx context.Context, text string) error {
	body, err := json.Marshal(object{"model": "openclaw/" + c.agent, "messages": []object{{"role": "user", "content": text}}})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d/v1/chat/completions", c.port), bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{"content-type": "application/json", "authorization": "Bearer " + gatewayToken, "x-openclaw-session-key": c.key(), "x-openclaw-agent-id": c.agent} {
		r.Header.Set(name, value)
	}
	answered, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answered.Body.Close()
	if answered.StatusCode != http.StatusOK {
		return fmt.Errorf("the gateway refuses it: %s", answered.Status)
	}
	return nil
}
