package scriptcmd

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// receiverKey is where a script's receiver of events is kept.
type receiverKey struct{}

// scriptReceiver is a server that is told of events.
type scriptReceiver struct {
	mutex  sync.Mutex
	server *http.Server
	answer int // HTTP status
	got    []received
}

// received is one request: the path, and what came.
type received struct{ path, contentType, signature, body string }

// receiver start starts the script's receiver and sets $RECEIVER to its URL.
// receiver answers CODE makes it answer so. receiver got N fails unless N
// requests came since the last time, receiver last REGEXP unless the last one's
// path and body match, receiver signed SECRET unless it was signed with that,
// receiver types TYPE... unless the ids of all that ever came are of events of
// these types, in this order, repeats of an id left out.
func receiver(ts *testscript.TestScript, neg bool, args []string) {
	r := ts.Value(receiverKey{}).(*scriptReceiver)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	switch strings.Join(args[:1], "") {
	case "start":
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		r.server, r.answer = &http.Server{Handler: r}, http.StatusOK
		go func() { _ = r.server.Serve(listener) }()
		ts.Setenv("RECEIVER", "http://"+listener.Addr().String())
		ts.Defer(func() { _ = r.server.Close() })
	case "answers":
		code, err := strconv.Atoi(args[1])
		ts.Check(err)
		r.answer = code
	case "got":
		if got := fmt.Sprint(len(r.got)); got != args[1] {
			ts.Fatalf("%s requests came, want %s: %q", got, args[1], r.got)
		}
		r.got = nil
	case "last":
		if last := r.last(ts); regexp.MustCompile(args[1]).MatchString(last.path+" "+last.contentType+" "+last.body) == neg {
			ts.Fatalf("the last request is %q", last)
		}
	case "signed":
		if last := r.last(ts); last.signedWith(args[1]) == neg {
			ts.Fatalf("the signature is %q", last.signature)
		}
	case "types":
		if got := r.types(); strings.Join(got, " ") != strings.Join(args[1:], " ") {
			ts.Fatalf("the events are of the types %q", got)
		}
	default:
		ts.Fatalf("usage: receiver start | answers CODE | got N | last REGEXP | signed SECRET | types TYPE...")
	}
}

func (r *scriptReceiver) last(ts *testscript.TestScript) received {
	if len(r.got) == 0 {
		ts.Fatalf("no request came")
	}
	return r.got[len(r.got)-1]
}

// types are those of the events that came, each id once.
func (r *scriptReceiver) types() (all []string) {
	seen := map[string]bool{}
	for _, one := range r.got {
		var e struct{ ID, Type string }
		_ = json.Unmarshal([]byte(one.body), &e) // what is no event has neither
		if !seen[e.ID] {
			seen[e.ID] = true
			all = append(all, e.Type)
		}
	}
	return all
}

// signedWith recomputes the signature as a receiver does.
func (r received) signedWith(secret string) bool {
	seconds, sum, ok := strings.Cut(strings.TrimPrefix(r.signature, "t="), ",v1=")
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(seconds + "." + r.body))
	return ok && hmac.Equal([]byte(sum), []byte(hex.EncodeToString(mac.Sum(nil))))
}

// ServeHTTP implements http.Handler.
func (r *scriptReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.got = append(r.got, received{request.URL.String(), request.Header.Get("Content-Type"), request.Header.Get("X-Sessctl-Signature"), string(body)})
	if r.answer/100 == 3 {
		w.Header().Set("Location", "http://elsewhere.invalid/hook-token")
	}
	w.WriteHeader(r.answer)
	_, _ = io.WriteString(w, "cannot take "+request.URL.Path)
}
