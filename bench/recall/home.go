package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// home is a user's home directory whose conversations were compacted.
type home struct {
	dir           string
	program       string
	server        server
	conversations []conversation
}

// server is an Ollama server that makes the vectors; without a URL the built-in
// embedder does.
type server struct{ url, model string }

func (s server) environment() []string {
	if s.url == "" {
		return nil
	}
	return []string{"SESSCTL_EMBED_PROVIDER=ollama", "SESSCTL_EMBED_BASE_URL=" + s.url, "SESSCTL_EMBED_MODEL=" + s.model}
}

// writeHomes writes each conversation into a home of its own, or all into one,
// and compacts them.
func writeHomes(ctx context.Context, o options, dir string, conversations []conversation) ([]home, error) {
	var homes []home
	if o.pooled {
		homes = []home{{conversations: conversations}}
	} else {
		for i := range conversations {
			homes = append(homes, home{conversations: conversations[i : i+1]})
		}
	}
	for i := range homes {
		h := &homes[i]
		h.dir, h.program, h.server = filepath.Join(dir, fmt.Sprint("home", i)), o.program, server{o.ollama, o.model}
		for n, c := range h.conversations {
			if err := h.write(n, c, o.join); err != nil {
				return nil, err
			}
		}
		if err := h.compact(ctx); err != nil {
			return nil, err
		}
	}
	return homes, nil
}

// compact compacts every session.
func (h *home) compact(ctx context.Context) error {
	for number, c := range h.conversations {
		fmt.Fprintf(os.Stderr, "compact %s\n", c.name)
		for n := range c.sessions {
			if _, err := h.run(ctx, "compact", "--session", sessionID(number, n), "--force", "--strategy", "rotate", "--json"); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes a conversation as sessions of pi, so many turns a message.
func (h *home) write(number int, c conversation, join int) error {
	dir := filepath.Join(h.dir, ".pi", "agent", "sessions", "--work-"+c.name+"--")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for n, turns := range c.sessions {
		id := sessionID(number, n)
		path := filepath.Join(dir, turns[0].time.UTC().Format("2006-01-02T15-04-05.000Z")[:19]+"-000Z_"+id+".jsonl")
		if err := os.WriteFile(path, sessionLog(id, c.name, joined(turns, join)), 0o600); err != nil {
			return err
		}
		old := time.Now().Add(-2 * time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			return err
		}
	}
	return nil
}

// joined puts n turns into each message.
func joined(turns []turn, n int) (messages []turn) {
	for group := range slices.Chunk(turns, max(n, 1)) {
		m := group[0]
		for _, t := range group[1:] {
			m.text += "\n\n" + t.text
		}
		m.user = group[len(group)-1].user
		messages = append(messages, m)
	}
	return messages
}

// sessionID is the id of the nth session of a conversation.
func sessionID(conversation, n int) string {
	return fmt.Sprintf("00000000-%04x-4000-8000-%012x", conversation, n)
}

// sessionLog is a session as pi writes it.
func sessionLog(id, name string, turns []turn) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	record := func(kind, id string, parent any, at time.Time, more map[string]any) {
		more["type"], more["id"], more["timestamp"] = kind, id, at.UTC().Format("2006-01-02T15:04:05.000Z")
		if kind != "session" {
			more["parentId"] = parent
		}
		_ = enc.Encode(more) // a buffer takes everything
	}
	record("session", id, nil, turns[0].time, map[string]any{"version": 3, "cwd": "/home/lea/" + name})
	var parent any
	for i, t := range turns {
		message := map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": t.text}}, "timestamp": t.time.UnixMilli()}
		if !t.user {
			message["role"], message["provider"], message["model"], message["stopReason"] = "assistant", "none", "none", "stop"
		}
		this := fmt.Sprintf("%08x", i+1)
		record("message", this, parent, t.time, map[string]any{"message": message})
		parent = this
	}
	return b.Bytes()
}

// run runs the program in this home.
func (h *home) run(ctx context.Context, arguments ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, h.program, arguments...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	c.Dir = h.dir
	c.Env = append([]string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}, h.server.environment()...)
	if err := c.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("sessctl %s: %w\n%s%s", arguments[0], err, errs.Bytes(), tail(out.Bytes()))
	}
	return out.Bytes(), nil
}

func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }
