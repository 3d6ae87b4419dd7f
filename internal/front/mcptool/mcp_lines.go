package mcptool

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// RequestLines stands between stdin and the server of MCP. A line that is no
// request gets the error that JSON-RPC has for it, and the next one is read: the
// library would end the connection, and the agent would be without its memory
// until it is started again. When stdin ends, what is being answered is answered.
type RequestLines struct {
	in   *bufio.Reader
	out  io.Writer
	pipe *io.PipeReader
	to   *io.PipeWriter

	mu      sync.Mutex
	waiting map[jsonrpc.ID]bool // ids of requests without an answer
	idle    *sync.Cond
}

// NewRequestLines bounds the lines of a connection.
func NewRequestLines(in io.Reader, out io.Writer) *RequestLines {
	l := &RequestLines{in: bufio.NewReaderSize(in, 64<<10), out: out, waiting: map[jsonrpc.ID]bool{}}
	l.pipe, l.to = io.Pipe()
	l.idle = sync.NewCond(&l.mu)
	return l
}

// Read implements io.Reader for the server.
func (l *RequestLines) Read(p []byte) (int, error) { return l.pipe.Read(p) }

// Close implements io.Closer.
func (l *RequestLines) Close() error { return l.pipe.Close() }

// Write implements io.Writer for the server: whole lines.
func (l *RequestLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.out.Write(p)
	for line := range bytes.Lines(p) {
		if answer, err := jsonrpc.DecodeMessage(bytes.TrimSpace(line)); err == nil {
			if response, ok := answer.(*jsonrpc.Response); ok {
				delete(l.waiting, response.ID)
			}
		}
	}
	l.idle.Broadcast()
	return n, err
}

// The errors of JSON-RPC for what is no request.
const (
	CodeParse   = -32700
	CodeRequest = -32600
)

// lastAnswers is how long answers may take after stdin has ended.
const lastAnswers = 30 * time.Second

// Pass hands the requests on until stdin ends.
func (l *RequestLines) Pass() {
	for {
		line, whole, err := l.line()
		if len(bytes.TrimSpace(line)) > 0 {
			l.take(line, whole)
		}
		if err != nil {
			break
		}
	}
	timer := time.AfterFunc(lastAnswers, func() { _ = l.to.Close() })
	defer timer.Stop()
	l.mu.Lock()
	for len(l.waiting) > 0 {
		l.idle.Wait()
	}
	l.mu.Unlock()
	_ = l.to.Close() // the server sees the end
}

// line reads a line, and says whether it is not too long.
func (l *RequestLines) line() (line []byte, whole bool, err error) {
	for whole = true; ; {
		piece, err := l.in.ReadSlice('\n')
		if len(line)+len(piece) > MaxMCPLine {
			whole = false
		} else {
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, whole, err
		}
	}
}

// take hands a request on, or answers what is none.
func (l *RequestLines) take(line []byte, whole bool) {
	var request struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	switch {
	case !whole:
		l.refuse(CodeRequest, "the request is too long")
	case !json.Valid(line):
		l.refuse(CodeParse, "the line is not JSON")
	case json.Unmarshal(line, &request) != nil, request.Version != "2.0", request.Method == nil && request.Result == nil && request.Error == nil, !scalar(request.ID):
		l.refuse(CodeRequest, "the line is not a JSON-RPC 2.0 request")
	default:
		l.pass(line)
	}
}

// pass hands a request on as the library reads it, which ends the connection where
// it cannot: it takes case in names seriously, and not each number for an id.
func (l *RequestLines) pass(line []byte) {
	message, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		l.refuse(CodeRequest, "the line is not a JSON-RPC 2.0 request")
		return
	}
	if request, ok := message.(*jsonrpc.Request); ok && request.IsCall() {
		l.mu.Lock()
		l.waiting[request.ID] = true
		l.mu.Unlock()
	}
	_, _ = l.to.Write(append(bytes.TrimRight(line, "\r\n"), '\n')) // the server has ended, if it does not read
}

// scalar reports what may be an id: a number, a string, or none.
func scalar(id json.RawMessage) bool {
	return len(id) == 0 || id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9'
}

func (l *RequestLines) refuse(code int, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": message}}) // such a map always is JSON
	_, _ = l.out.Write(append(answer, '\n'))
}
