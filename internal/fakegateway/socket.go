package fakegateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/coder/websocket"
)

// Token is what a gateway of [Gateway.Configure] asks for.
const Token = "fake-token"

// Configure writes the configuration of the gateway: whoever reads it can use
// the socket.
func (g *Gateway) Configure() error {
	text := `{"gateway": {"mode": "local", "auth": {"mode": "token", "token": "` + Token + `"}}}`
	return os.WriteFile(filepath.Join(g.Root, "openclaw.json"), []byte(text), 0o600)
}

// begunConn is a connection of which the first byte was read.
type begunConn struct {
	net.Conn
	whole io.Reader
}

// Read implements net.Conn.
func (c *begunConn) Read(p []byte) (int, error) { return c.whole.Read(p) }

// oneConn is a listener with one connection. It ends with it.
type oneConn struct {
	conn chan net.Conn
	addr net.Addr
	done chan struct{}
}

// Accept implements net.Listener.
func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *oneConn) Close() error { return nil }

// Addr implements net.Listener.
func (l *oneConn) Addr() net.Addr { return l.addr }

// serveSocket answers on a WebSocket until it is closed.
func (g *Gateway) serveSocket(c net.Conn) {
	l := &oneConn{conn: make(chan net.Conn, 1), addr: c.LocalAddr(), done: make(chan struct{})}
	l.conn <- c
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(l.done)
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		_ = g.talk(r.Context(), conn) // whoever asked is gone
	})}
	_ = server.Serve(l)
}

// message is a frame of the real gateway.
type message struct {
	Type    string          `json:"type"`
	ID      string          `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	OK      bool            `json:"ok"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Event   string          `json:"event,omitempty"`
	Error   any             `json:"error,omitempty"`
}

func send(ctx context.Context, c *websocket.Conn, m message) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return c.Write(ctx, websocket.MessageText, text)
}

// talk greets whoever has connected and answers his requests. Before each answer
// comes an event, as from a gateway that has much to tell.
func (g *Gateway) talk(ctx context.Context, c *websocket.Conn) error {
	if err := send(ctx, c, message{Type: "event", Event: "connect.challenge", Payload: json.RawMessage(`{"nonce":"n","ts":1}`)}); err != nil {
		return err
	}
	greeted := false
	for {
		_, text, err := c.Read(ctx)
		if err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(text, &m); err != nil {
			return err
		}
		reply := message{Type: "res", ID: m.ID}
		switch {
		case m.Method == "connect":
			greeted = strings.Contains(string(m.Params), `"token":"`+Token+`"`)
			if reply.OK, reply.Payload = greeted, json.RawMessage(`{"type":"hello-ok"}`); !greeted {
				reply.Error = map[string]string{"code": "INVALID_REQUEST", "message": "unauthorized: gateway token mismatch"}
			}
		case !greeted:
			return errors.New("the first request must be connect")
		default:
			answer, ok := g.answer(request{Method: m.Method, Parameters: m.Params, State: g.Root})
			if answer.hang {
				<-ctx.Done()
			}
			if !ok {
				return nil // it dies
			}
			reply = answer.frame(m.ID)
		}
		if err := send(ctx, c, message{Type: "event", Event: "tick", Payload: json.RawMessage(`{}`)}); err != nil {
			return err
		}
		if err := send(ctx, c, reply); err != nil {
			return err
		}
	}
}

// frame is an answer as it goes over the socket. What is no JSON goes as text.
func (a Answer) frame(id string) message {
	m := message{Type: "res", ID: id, OK: a.Exit == 0, Payload: json.RawMessage(a.Output)}
	var refused struct{ Error any }
	if !json.Valid(m.Payload) {
		m.Payload, _ = json.Marshal(a.Output) // a string can be encoded
	} else if json.Unmarshal(m.Payload, &refused) == nil && a.Exit != 0 {
		m.Error, m.Payload = refused.Error, nil
	}
	return m
}
