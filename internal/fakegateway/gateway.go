package fakegateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Behaviour says what a gateway does when it is asked.
type Behaviour string

// The behaviours. The zero value answers and does as the real one.
const (
	Well      Behaviour = ""
	Active    Behaviour = "active"    // a turn is going on
	Queued    Behaviour = "queued"    // a message has come in, and is no turn yet
	Refuses   Behaviour = "refuses"   // answers with an error and does nothing
	Junk      Behaviour = "junk"      // prints something else and does nothing
	JunkDone  Behaviour = "junk-done" // resets, but prints something else
	Dies      Behaviour = "dies"      // resets, and dies before it answers
	Hangs     Behaviour = "hangs"     // never answers and does nothing
	OtherKey  Behaviour = "other-key" // resets another session
	Elsewhere Behaviour = "elsewhere" // serves another store
	MovedOn   Behaviour = "moved-on"  // knows the key with another session
	Appends   Behaviour = "appends"   // a message comes in just before the reset
	Lies      Behaviour = "lies"      // says that it reset, and did not
	NoRename  Behaviour = "no-rename" // resets, and leaves the old log where it is
	Stale     Behaviour = "stale"     // resets, and goes on with the session that it has closed
)

// LateLine is what [Appends] adds to the log.
const LateLine = `{"type":"message","id":"c0000000","parentId":null,"timestamp":"2026-03-01T12:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"and one more thing"}]}}`

// Gateway is a running gateway of one state directory.
type Gateway struct {
	Root string // the state directory
	Port int

	lock     string // path of its lock file
	listener net.Listener

	mutex     sync.Mutex
	behaviour Behaviour
	asked     []string
	before    string // the session that the last reset has closed
}

// Start starts a gateway. Its lock file goes below temporary, the temporary
// directory of whoever is to see it.
func Start(root, temporary string) (*Gateway, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &Gateway{Root: root, Port: listener.Addr().(*net.TCPAddr).Port, listener: listener}
	if err := g.writeLock(temporary); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	go g.serve()
	return g, nil
}

func (g *Gateway) writeLock(temporary string) error {
	dir := filepath.Join(temporary, "openclaw-1000")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{
		"pid": os.Getpid(), "createdAt": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		"configPath": filepath.Join(g.Root, "openclaw.json"), "port": g.Port,
	})
	if err != nil {
		return err
	}
	g.lock = filepath.Join(dir, fmt.Sprintf("gateway.%08x.lock", g.Port))
	return os.WriteFile(g.lock, text, 0o600)
}

// Stop ends the gateway and removes its lock.
func (g *Gateway) Stop() error {
	return errors.Join(g.listener.Close(), os.Remove(g.lock))
}

// Lock is the path of the gateway's lock file.
func (g *Gateway) Lock() string { return g.lock }

// Behave changes how the gateway behaves from now on.
func (g *Gateway) Behave(b Behaviour) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.behaviour = b
}

// Asked returns the methods that were called so far.
func (g *Gateway) Asked() []string {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return append([]string(nil), g.asked...)
}

// request is what the program sends, one JSON document.
type request struct {
	Method     string          `json:"method"`
	Parameters json.RawMessage `json:"parameters"`
	State      string          `json:"state"` // OPENCLAW_STATE_DIR of whoever asks
}

// Answer is what the program prints, and its exit code.
type Answer struct {
	Output string `json:"output"`
	Exit   int    `json:"exit"`
	hang   bool
}

func (g *Gateway) serve() {
	for {
		connection, err := g.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer connection.Close()
			first := make([]byte, 1)
			if _, err := io.ReadFull(connection, first); err != nil {
				return
			}
			whole := io.MultiReader(bytes.NewReader(first), connection)
			if first[0] == 'G' { // GET: a WebSocket; the program sends a JSON document
				g.serveSocket(&begunConn{connection, whole})
				return
			}
			var r request
			if json.NewDecoder(whole).Decode(&r) != nil {
				return
			}
			answer, ok := g.answer(r)
			if ok {
				_ = json.NewEncoder(connection).Encode(answer) // whoever asked may be gone
			} else if answer.hang {
				_, _ = connection.Read(make([]byte, 1)) // until whoever asked gives up
			}
		}()
	}
}

// answer does what was asked; it is false if there is no answer.
func (g *Gateway) answer(r request) (Answer, bool) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.asked = append(g.asked, r.Method)
	if filepath.Clean(r.State) != filepath.Clean(g.Root) {
		return refusal("asked for another state directory: " + r.State), true
	}
	var parameters struct{ Key, Search string }
	if err := json.Unmarshal(r.Parameters, &parameters); err != nil {
		return refusal(err.Error()), true
	}
	switch r.Method {
	case "sessions.list":
		return g.list(parameters.Search), true
	case "sessions.reset":
		return g.reset(parameters.Key)
	case "gateway.restart.preflight":
		return g.preflight(), true
	}
	return refusal("unknown method " + r.Method), true
}

func refusal(message string) Answer {
	return Answer{Exit: 1, Output: encode(map[string]any{"ok": false, "error": map[string]any{"code": "INVALID_REQUEST", "message": message}})}
}

func encode(value any) string {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(text) + "\n"
}

// agentOf is the agent of a key.
func agentOf(key string) string {
	parts := strings.Split(key, ":")
	if len(parts) < 3 {
		return ""
	}
	return parts[1]
}
