package openclaw

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// asker asks a gateway. An error wraps [*session.GatewayError]: the gateway
// refused, or nothing usable came back and it may have done what it was asked.
type asker interface {
	ask(ctx context.Context, method string, parameters, reply any) error
	// quiet returns errTurn if the gateway is at work for any session: for a
	// second or so a message is nothing but that.
	quiet(ctx context.Context) error
	// current returns the id of the session that the gateway goes on with in the
	// place of a rotation's, "" if it is not asked.
	current(ctx context.Context, r session.Rotation) (string, error)
	close()
}

// asker returns the way to a gateway: its WebSocket, or, where that cannot be
// opened, the runtime's program, which takes seconds for each call.
func (gs *gateways) asker(ctx context.Context, g *gateway) (asker, error) {
	limited, cancel := context.WithTimeout(ctx, dialDeadline)
	defer cancel()
	socket, err := gs.openSocket(limited, g)
	if err == nil {
		return socket, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return &programAsker{gs, g}, nil
}

// programAsker asks by the runtime's program, "openclaw gateway call".
type programAsker struct {
	store   *gateways
	gateway *gateway
}

func (p *programAsker) ask(ctx context.Context, method string, parameters, reply any) error {
	return p.store.ask(ctx, p.gateway, method, parameters, reply)
}

// quiet is not asked by the program: the seconds that it takes to start would
// leave more time for a message to come in than the answer saves.
func (p *programAsker) quiet(context.Context) error { return nil }

// current is not asked by the program either: the files have told already.
func (p *programAsker) current(context.Context, session.Rotation) (string, error) { return "", nil }

func (p *programAsker) close() {}

// dialDeadline is how long opening a socket may take: it is on this machine.
const dialDeadline = 5 * time.Second

// maxConfig is the size in bytes above which a configuration is not read.
const maxConfig = 4 << 20

// gatewayAccess is what the configuration of a gateway says of how it is
// reached.
type gatewayAccess struct {
	port            int
	token, password string
}

// errNoSocket says that a gateway's socket cannot be used: the program can.
var errNoSocket = errors.New("the configuration does not say how the gateway's socket is reached")

// access reads how a gateway is reached, from its configuration and from the
// variables that the runtime's own program goes by. A configuration that is not
// plain JSON, a secret that is kept elsewhere and a socket with TLS are left to
// that program.
func (gs *gateways) access(g *gateway) (gatewayAccess, error) {
	path := g.config
	if path == "" {
		path = filepath.Join(gs.state.root, "openclaw.json")
	}
	f, err := durable.OpenRegular(path)
	if err != nil {
		return gatewayAccess{}, errNoSocket
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig))
	if err != nil {
		return gatewayAccess{}, errNoSocket
	}
	var config struct {
		Gateway struct {
			Port int `json:"port"`
			TLS  struct {
				Enabled bool `json:"enabled"`
			} `json:"tls"`
			Auth struct {
				Mode     string          `json:"mode"`
				Token    json.RawMessage `json:"token"`
				Password json.RawMessage `json:"password"`
			} `json:"auth"`
		} `json:"gateway"`
	}
	if json.Unmarshal(text, &config) != nil || config.Gateway.TLS.Enabled {
		return gatewayAccess{}, errNoSocket
	}
	auth := config.Gateway.Auth
	a := gatewayAccess{port: g.port, token: gs.secret(auth.Token, "OPENCLAW_GATEWAY_TOKEN"), password: gs.secret(auth.Password, "OPENCLAW_GATEWAY_PASSWORD")}
	if a.port == 0 {
		a.port = config.Gateway.Port
	}
	if a.port == 0 || a.token == "" && a.password == "" && auth.Mode != "none" {
		return gatewayAccess{}, errNoSocket
	}
	return a, nil
}

// secret is a secret of a configuration, as it is written there or as a
// variable has it; "" if it is kept elsewhere.
func (gs *gateways) secret(raw json.RawMessage, variable string) string {
	if plain := text(raw); plain != "" && !strings.Contains(plain, "${") {
		return plain
	}
	from := gs.options.Environment
	if from == nil {
		from = os.Environ()
	}
	for _, v := range from {
		if name, value, _ := strings.Cut(v, "="); name == variable {
			return value
		}
	}
	return ""
}

// socket is an open connection to a gateway (docs/dev/formats.md, "openclaw"). It
// is used by one goroutine.
type socket struct {
	store *gateways
	conn  *websocket.Conn
	calls int
}

// frame is what goes over the socket: a request, its response, or an event.
type frame struct {
	Type    string          `json:"type"`
	ID      string          `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	OK      bool            `json:"ok,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Event   string          `json:"event,omitempty"`
	Error   struct {
		Message string `json:"message,omitempty"`
	} `json:"error,omitzero"`
}

// gatewayRefusal is the answer of a gateway that does not do what it is asked.
type gatewayRefusal struct{ message string }

// Error implements error.
func (r *gatewayRefusal) Error() string { return r.message }

// openSocket connects to a gateway of this machine. Its secret goes nowhere but
// to the port of a lock that this user, or root, has written.
func (gs *gateways) openSocket(ctx context.Context, g *gateway) (*socket, error) {
	if g.foreign {
		return nil, errNoSocket
	}
	access, err := gs.access(g)
	if err != nil {
		return nil, err
	}
	conn, _, err := websocket.Dial(ctx, "ws://"+net.JoinHostPort("127.0.0.1", strconv.Itoa(access.port)), nil)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	conn.SetReadLimit(maxReply)
	k := &socket{store: gs, conn: conn}
	if err := k.greet(ctx, access); err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

// greet waits for the gateway's challenge and says who asks.
func (k *socket) greet(ctx context.Context, a gatewayAccess) error {
	for {
		f, err := k.read(ctx)
		if err != nil {
			return err
		}
		if f.Type == "event" && f.Event == "connect.challenge" {
			break
		}
	}
	auth := map[string]string{}
	if a.token != "" {
		auth["token"] = a.token
	}
	if a.password != "" {
		auth["password"] = a.password
	}
	return k.call(ctx, "connect", map[string]any{
		"minProtocol": 1, "maxProtocol": 99,
		"client": map[string]string{"id": "gateway-client", "version": "1", "platform": runtime.GOOS, "mode": "backend"},
		"role":   "operator", "scopes": []string{"operator.admin", "operator.read", "operator.write"}, "auth": auth,
	}, &struct{}{})
}

// call sends a request and reads its response. Events come in between.
func (k *socket) call(ctx context.Context, method string, parameters, reply any) error {
	k.calls++
	id := strconv.Itoa(k.calls)
	request, err := json.Marshal(frame{Type: "req", ID: id, Method: method, Params: parameters})
	if err != nil {
		return fmt.Errorf("encode the parameters of %s: %w", method, err)
	}
	if err := k.conn.Write(ctx, websocket.MessageText, request); err != nil {
		return fmt.Errorf("send %s: %w", method, err)
	}
	for {
		f, err := k.read(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("wait for the answer to %s: %w", method, err)
		case f.Type != "res" || f.ID != id:
			continue
		case !f.OK && f.Error.Message != "":
			return &gatewayRefusal{f.Error.Message}
		case !f.OK:
			return &gatewayRefusal{"it refused and did not say why"}
		}
		if err := json.Unmarshal(f.Payload, reply); err != nil {
			return fmt.Errorf("its answer to %s is not what it should be: %w", method, err)
		}
		return nil
	}
}

func (k *socket) read(ctx context.Context) (frame, error) {
	_, text, err := k.conn.Read(ctx)
	if err != nil {
		return frame{}, err
	}
	var f frame
	if err := json.Unmarshal(text, &f); err != nil {
		return frame{}, fmt.Errorf("its answer is not JSON: %w", err)
	}
	return f, nil
}

func (k *socket) ask(ctx context.Context, method string, parameters, reply any) error {
	deadline := k.store.options.deadline()
	limited, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	err := k.call(limited, method, parameters, reply)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return k.store.noAnswer(method, deadline)
	}
	return k.store.unasked(fmt.Errorf("%s: %w", method, err), "")
}

// quiet asks what would be in the way of a restart. Versions that do not know
// this question are not asked more.
func (k *socket) quiet(ctx context.Context) error {
	var work struct {
		Counts struct {
			Queue   int `json:"queueSize"`
			Replies int `json:"pendingReplies"`
			Runs    int `json:"embeddedRuns"`
		} `json:"counts"`
	}
	if err := k.ask(ctx, "gateway.restart.preflight", map[string]any{}, &work); err != nil {
		var refused *gatewayRefusal
		if errors.As(err, &refused) {
			return nil
		}
		return err
	}
	if work.Counts.Queue+work.Counts.Replies+work.Counts.Runs > 0 {
		return errTurn
	}
	return nil
}

func (k *socket) current(ctx context.Context, r session.Rotation) (string, error) {
	row, err := k.store.askRow(ctx, k, r)
	return row.SessionID, err
}

func (k *socket) close() { _ = k.conn.CloseNow() } // nothing is on its way
