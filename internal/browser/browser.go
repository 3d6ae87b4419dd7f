package browser

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/coder/websocket"
)

// Find returns the path of a Chromium, or "" where there is none.
// SESSCTL_CHROMIUM names another one.
func Find() string {
	if path := os.Getenv("SESSCTL_CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Browser is a Chromium that runs, with one page.
type Browser struct {
	process *exec.Cmd
	home    string
	socket  *websocket.Conn
	session string // of the page

	mutex   sync.Mutex
	last    int                      // id of the last call
	waiting map[int]chan message     // calls without an answer
	events  map[string]chan struct{} // closed when the event comes
	seen    Seen
	done    chan struct{} // closed when the socket is
}

// Seen is what happened on the page since it was opened.
type Seen struct {
	Requests []string // addresses, that of the page itself included
	Console  []string // errors and warnings of the console, exceptions, breaches of the policy
}

// message is one of the protocol.
type message struct {
	ID      int             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Start starts a Chromium with a profile of its own that is thrown away.
func Start(ctx context.Context, program string) (*Browser, error) {
	home, err := os.MkdirTemp("", "sessctl-browser-")
	if err != nil {
		return nil, err
	}
	b := &Browser{home: home, waiting: map[int]chan message{}, events: map[string]chan struct{}{}, done: make(chan struct{})}
	b.process = exec.CommandContext(ctx, program, "--headless=new", "--remote-debugging-port=0", "--user-data-dir="+filepath.Join(home, "profile"),
		"--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-extensions", "--force-device-scale-factor=1", "about:blank")
	b.process.Env = append(os.Environ(), "HOME="+home)
	errOut, err := b.process.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := b.process.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	if err := b.connect(ctx, errOut); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// connect finds the socket in what the browser prints, and attaches to its page.
func (b *Browser) connect(ctx context.Context, errOut io.Reader) error {
	lines := bufio.NewScanner(errOut)
	for lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), "DevTools listening on "); ok {
			go func() { _, _ = io.Copy(io.Discard, errOut) }() // or it stops when the pipe is full
			return b.attach(ctx, strings.TrimSpace(address))
		}
	}
	return errors.Join(errors.New("the browser ended before it listened"), lines.Err())
}

func (b *Browser) attach(ctx context.Context, address string) error {
	socket, _, err := websocket.Dial(ctx, address, nil)
	if err != nil {
		return fmt.Errorf("connect to the browser: %w", err)
	}
	socket.SetReadLimit(-1)
	b.socket = socket
	go b.read(ctx)
	var targets struct {
		TargetInfos []struct{ TargetID, Type string }
	}
	if err := b.Call(ctx, "Target.getTargets", nil, &targets); err != nil {
		return err
	}
	for _, t := range targets.TargetInfos {
		if t.Type != "page" {
			continue
		}
		var attached struct{ SessionID string }
		if err := b.Call(ctx, "Target.attachToTarget", map[string]any{"targetId": t.TargetID, "flatten": true}, &attached); err != nil {
			return err
		}
		b.session = attached.SessionID
	}
	for _, domain := range []string{"Page", "Runtime", "Network", "Log", "Performance"} {
		if err := b.Call(ctx, domain+".enable", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the browser and removes its profile.
func (b *Browser) Close() error {
	if b.socket != nil {
		_ = b.socket.CloseNow() // the process is ended anyway
	}
	_ = b.process.Process.Kill()
	_ = b.process.Wait() // it was killed
	return os.RemoveAll(b.home)
}

// Call asks the browser for something.
func (b *Browser) Call(ctx context.Context, method string, params, result any) error {
	answer := make(chan message, 1)
	b.mutex.Lock()
	b.last++
	id := b.last
	b.waiting[id] = answer
	b.mutex.Unlock()
	text, err := json.Marshal(message{ID: id, Method: method, Params: params, Session: b.session})
	if err != nil {
		return err
	}
	if err := b.socket.Write(ctx, websocket.MessageText, text); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-b.done:
		return fmt.Errorf("%s: the browser is gone", method)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

// read takes in answers and events until the socket is closed.
func (b *Browser) read(ctx context.Context) {
	defer close(b.done)
	for {
		_, text, err := b.socket.Read(ctx)
		if err != nil {
			return
		}
		var m message
		var event struct{ Params json.RawMessage }
		if json.Unmarshal(text, &m) != nil || json.Unmarshal(text, &event) != nil {
			continue
		}
		b.mutex.Lock()
		if answer := b.waiting[m.ID]; answer != nil {
			delete(b.waiting, m.ID)
			answer <- m
		} else {
			b.event(m.Method, event.Params)
		}
		b.mutex.Unlock()
	}
}

// event notes what happened on the page. The mutex is held.
func (b *Browser) event(method string, params json.RawMessage) {
	if wait := b.events[method]; wait != nil {
		close(wait)
		delete(b.events, method)
	}
	var p struct {
		Request          struct{ URL string }
		Type             string
		Args             []struct{ Value any }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
		Entry struct{ Level, Text string }
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	switch {
	case method == "Network.requestWillBeSent":
		b.seen.Requests = append(b.seen.Requests, p.Request.URL)
	case method == "Runtime.consoleAPICalled" && (p.Type == "error" || p.Type == "warning" || p.Type == "assert"):
		b.seen.Console = append(b.seen.Console, fmt.Sprint(p.Type, ": ", p.Args))
	case method == "Runtime.exceptionThrown":
		b.seen.Console = append(b.seen.Console, p.ExceptionDetails.Text+" "+p.ExceptionDetails.Exception.Description)
	case method == "Log.entryAdded" && (p.Entry.Level == "error" || p.Entry.Level == "warning"):
		b.seen.Console = append(b.seen.Console, p.Entry.Text)
	}
}

// Open opens an address and waits until the page is loaded. What was seen before
// is forgotten. An empty page is opened before it: to go to another anchor of the
// same page would load nothing.
func (b *Browser) Open(ctx context.Context, address string) error {
	if err := b.load(ctx, "about:blank"); err != nil {
		return err
	}
	return b.load(ctx, address)
}

func (b *Browser) load(ctx context.Context, address string) error {
	loaded := make(chan struct{})
	b.mutex.Lock()
	b.events["Page.loadEventFired"], b.seen = loaded, Seen{}
	b.mutex.Unlock()
	var answer struct{ ErrorText string }
	if err := b.Call(ctx, "Page.navigate", map[string]any{"url": address}, &answer); err != nil {
		return err
	}
	if answer.ErrorText != "" {
		return fmt.Errorf("open %s: %s", address, answer.ErrorText)
	}
	select {
	case <-loaded:
		return nil
	case <-b.done:
		return errors.New("the browser is gone")
	case <-ctx.Done():
		return fmt.Errorf("open %s: %w", address, ctx.Err())
	}
}

// Seen returns what happened since the page was opened.
func (b *Browser) Seen() Seen {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.seen
}

// WindowHeight is the height of the window, in pixels.
const WindowHeight = 1600

// Look sets the width of the window, in pixels, and whether the system prefers
// dark.
func (b *Browser) Look(ctx context.Context, width int, dark bool) error {
	metrics := map[string]any{"width": width, "height": WindowHeight, "deviceScaleFactor": 1, "mobile": width < 500}
	if err := b.Call(ctx, "Emulation.setDeviceMetricsOverride", metrics, nil); err != nil {
		return err
	}
	scheme := map[bool]string{true: "dark", false: "light"}[dark]
	return b.Call(ctx, "Emulation.setEmulatedMedia", map[string]any{"media": "", "features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// LookAsPrinted shows the page as it is printed on paper that is width pixels wide.
func (b *Browser) LookAsPrinted(ctx context.Context, width int) error {
	if err := b.Look(ctx, width, true); err != nil {
		return err
	}
	return b.Call(ctx, "Emulation.setEmulatedMedia", map[string]any{"media": "print"}, nil)
}

// Evaluate runs a script on the page and decodes what it returns, which may be a
// promise.
func (b *Browser) Evaluate(ctx context.Context, script string, result any) error {
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := b.Call(ctx, "Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true}, &answer)
	if err != nil {
		return err
	}
	if x := answer.ExceptionDetails; x != nil {
		return fmt.Errorf("evaluate: %s %s", x.Text, x.Exception.Description)
	}
	if result == nil || len(answer.Result.Value) == 0 {
		return nil
	}
	return json.Unmarshal(answer.Result.Value, result)
}

// Picture takes a picture of what the window shows, as a PNG.
func (b *Browser) Picture(ctx context.Context) ([]byte, error) {
	return b.capture(ctx, map[string]any{"format": "png"})
}

// WholePicture takes a picture of the first height pixels of the page. What a page
// draws only when it is in view is empty there.
func (b *Browser) WholePicture(ctx context.Context, height int) ([]byte, error) {
	var size struct {
		CSSContentSize struct{ Width, Height float64 }
	}
	if err := b.Call(ctx, "Page.getLayoutMetrics", nil, &size); err != nil {
		return nil, err
	}
	clip := map[string]any{"x": 0, "y": 0, "width": size.CSSContentSize.Width, "height": min(size.CSSContentSize.Height, float64(height)), "scale": 1}
	return b.capture(ctx, map[string]any{"format": "png", "captureBeyondViewport": true, "clip": clip})
}

func (b *Browser) capture(ctx context.Context, how map[string]any) ([]byte, error) {
	var shot struct{ Data string }
	if err := b.Call(ctx, "Page.captureScreenshot", how, &shot); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(shot.Data)
}
