package fakegateway

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// list is sessions.list with a search for one key.
func (g *Gateway) list(key string) Answer {
	index, path, err := g.index(agentOf(key))
	if err != nil {
		return refusal(err.Error())
	}
	rows := []map[string]any{}
	for name, entry := range index {
		if strings.Contains(name, key) {
			rows = append(rows, map[string]any{"key": name, "sessionId": entry["sessionId"], "hasActiveRun": g.behaviour == Active})
		}
	}
	switch g.behaviour {
	case Elsewhere:
		path = os.DevNull
	case Stale:
		for _, row := range rows {
			if g.before != "" {
				row["sessionId"] = g.before
			}
		}
	case MovedOn:
		for _, row := range rows {
			row["sessionId"] = newID()
		}
	}
	return Answer{Output: encode(map[string]any{"path": path, "count": len(rows), "sessions": rows})}
}

// preflight says what is in the way of a restart.
func (g *Gateway) preflight() Answer {
	queued := 0
	if g.behaviour == Queued {
		queued = 2
	}
	return Answer{Output: encode(map[string]any{"ok": true, "safe": queued == 0, "counts": map[string]any{
		"queueSize": queued, "pendingReplies": 0, "embeddedRuns": 0, "cronRuns": 0, "activeTasks": 0, "totalActive": queued,
	}})}
}

// Reset resets a session as if a client had asked for it.
func (g *Gateway) Reset(key string) error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	_, err := g.change(key)
	return err
}

// index reads the index of an agent.
func (g *Gateway) index(agent string) (map[string]map[string]any, string, error) {
	path := filepath.Join(g.Root, "agents", agent, "sessions", "sessions.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, path, err
	}
	index := map[string]map[string]any{}
	return index, path, json.Unmarshal(text, &index)
}

// reset is sessions.reset.
func (g *Gateway) reset(key string) (Answer, bool) {
	switch g.behaviour {
	case Refuses:
		return refusal("the gateway is busy with something else"), true
	case Junk:
		return Answer{Output: "Update available! Run openclaw update.\n"}, true
	case Hangs:
		return Answer{hang: true}, false
	case OtherKey:
		key = "agent:" + agentOf(key) + ":other"
	}
	entry, err := g.change(key)
	switch {
	case err != nil:
		return refusal(err.Error()), true
	case g.behaviour == Dies:
		return Answer{}, false
	case g.behaviour == JunkDone:
		return Answer{Output: "Update available! Run openclaw update.\n"}, true
	}
	return Answer{Output: encode(map[string]any{"ok": true, "key": key, "entry": entry})}, true
}

// change points an entry at a new session, closes the old log and makes the
// new one, in the order of the real gateway.
func (g *Gateway) change(key string) (entry map[string]any, err error) {
	index, path, err := g.index(agentOf(key))
	if err != nil || g.behaviour == Lies {
		return nil, err
	}
	old, _ := index[key]["sessionId"].(string)
	entry = index[key]
	if entry == nil {
		entry = map[string]any{}
		index[key] = entry
	}
	g.before = old
	id, at := newID(), time.Now().UTC()
	entry["sessionId"], entry["updatedAt"] = id, at.UnixMilli()
	entry["inputTokens"], entry["outputTokens"], entry["totalTokens"], entry["totalTokensFresh"] = 0, 0, 0, true
	dir := filepath.Dir(path)
	entry["sessionFile"] = filepath.Join(dir, id+".jsonl")
	log := filepath.Join(dir, old+".jsonl")
	if g.behaviour == Appends {
		err = appendLine(log, LateLine)
	}
	return entry, errors.Join(err, writeIndex(path, index), g.close(log, at), writeHeader(dir, id, at))
}

// close renames the log of the old session, if there is one.
func (g *Gateway) close(log string, at time.Time) error {
	if _, err := os.Stat(log); err != nil || g.behaviour == NoRename {
		return nil
	}
	return os.Rename(log, log+".reset."+at.Format("2006-01-02T15-04-05.000Z"))
}

func writeIndex(path string, index map[string]map[string]any) error {
	temporary := fmt.Sprintf("%s.%d.%s.tmp", path, os.Getpid(), newID())
	if err := os.WriteFile(temporary, []byte(encode(index)), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

func writeHeader(dir, id string, at time.Time) error {
	header := fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":%q,"cwd":"/work"}`+"\n", id, at.Format(time.RFC3339Nano))
	return os.WriteFile(filepath.Join(dir, id+".jsonl"), []byte(header), 0o600)
}

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
