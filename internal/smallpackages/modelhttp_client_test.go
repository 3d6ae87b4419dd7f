package smallpackages_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/modelhttp"
)

const key = "the-key-of-the-test"

// ask asks a server that answers as serve says, up to three times. It returns
// the waits between the tries.
func ask(t *testing.T, retry modelhttp.Retry, serve http.HandlerFunc) (body []byte, waits []time.Duration, err error) {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	base, err := modelhttp.ParseBase(server.URL + "/below/")
	if err != nil {
		t.Fatal(err)
	}
	c := modelhttp.New(modelhttp.Options{
		Base: base, Header: modelhttp.Bearer(key), Key: key, Mask: "***",
		Passing: func(status int) bool { return status == http.StatusServiceUnavailable },
		Tidy:    strings.TrimSpace,
		Clock: modelhttp.Clock{
			Now:   func() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) },
			Sleep: func(ctx context.Context, d time.Duration) error { waits = append(waits, d); return ctx.Err() },
		},
	})
	body, err = c.Ask(t.Context(), modelhttp.Question{Method: "POST", Path: "/ask", Body: map[string]string{"q": "<&>"}, Deadline: 10 * time.Second, Limit: 100, Retry: retry})
	return body, waits, err
}

func TestModelhttpAsk(t *testing.T) {
	body, waits, err := ask(t, modelhttp.Retry{}, func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s", r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), sent)
	})
	want := `/below/ask Bearer ` + key + ` application/json {"q":"<&>"}` + "\n"
	if err != nil || string(body) != want || waits != nil {
		t.Errorf("%q, %v, %v; want %q", body, waits, err, want)
	}
}

// TestModelhttpRetry: how long a server is left alone, by what it says in Retry-After.
func TestModelhttpRetry(t *testing.T) {
	usual := []time.Duration{time.Second, 4 * time.Second}
	for _, c := range []struct {
		after   string
		atLeast bool
		want    []time.Duration
	}{
		{"", false, usual},
		{"soon", false, usual},
		{"-5", false, usual},
		{"Fri, 01 May 2026 11:00:00 GMT", false, usual},
		{"2", false, []time.Duration{2 * time.Second, 2 * time.Second}},
		{"2", true, []time.Duration{2 * time.Second, 4 * time.Second}},
		{"Fri, 01 May 2026 12:00:09 GMT", false, []time.Duration{9 * time.Second, 9 * time.Second}},
		{"61", false, nil},
	} {
		retry := modelhttp.Retry{Waits: usual, Longest: time.Minute, AtLeast: c.atLeast}
		_, waits, err := ask(t, retry, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", c.after)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		var status *modelhttp.StatusError
		if !errors.As(err, &status) || status.Code != 503 || !slices.Equal(waits, c.want) {
			t.Errorf("Retry-After %q, at least %v: waits %v, want %v (%v)", c.after, c.atLeast, waits, c.want, err)
		}
	}
}

// TestModelhttpFailures: what is tried again, what the error says, and that it never
// shows the key.
func TestModelhttpFailures(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		tries int
		says  string
	}{
		"passing": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, 3, "the server answers 503 Service Unavailable"},
		"final": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":"bad `+key+`"}`, http.StatusUnauthorized)
		}, 1, "the server answers 401: bad ***"},
		"nested": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{"error":{"message":"no"}}`, 400) }, 1, "the server answers 400: no"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/"+key, http.StatusTemporaryRedirect)
		}, 1, "a redirect to " + elsewhere.URL + "/***, which is not followed"},
		"long":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 101)) }, 1, "more than 100 bytes"},
		"broken": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 3, "EOF"},
	} {
		tries := 0
		_, _, err := ask(t, modelhttp.Retry{Waits: make([]time.Duration, 2), Longest: time.Minute}, func(w http.ResponseWriter, r *http.Request) {
			tries++
			c.serve(w, r)
		})
		if tries != c.tries || err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %d tries (want %d), error %v (want %q)", name, tries, c.tries, err, c.says)
		}
	}
}

// TestModelhttpNoServer: a server that is not there is not tried again, and neither is
// one that takes longer than the deadline.
func TestModelhttpNoServer(t *testing.T) {
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hangs.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for address, deadline := range map[string]time.Duration{hangs.URL: 50 * time.Millisecond, closed.URL: time.Minute} {
		base, err := modelhttp.ParseBase(address)
		if err != nil {
			t.Fatal(err)
		}
		tries, refused := 0, errors.New("no second try")
		before := func() error {
			if tries++; tries > 1 {
				return refused
			}
			return nil
		}
		_, err = modelhttp.New(modelhttp.Options{Base: base}).Ask(t.Context(), modelhttp.Question{
			Method: "GET", Deadline: deadline, Limit: 1, Before: before,
			Retry: modelhttp.Retry{Waits: make([]time.Duration, 2), Longest: time.Minute},
		})
		var connection *modelhttp.ConnectionError
		if tries != 1 || !errors.As(err, &connection) || connection.Host != base.Host || address == closed.URL && !modelhttp.Absent(err) {
			t.Errorf("%s: %d tries, error %v", address, tries, err)
		}
	}
}

func TestModelhttpBeforeEndsIt(t *testing.T) {
	base, err := modelhttp.ParseBase("http://127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("no more")
	if _, err := modelhttp.New(modelhttp.Options{Base: base}).Ask(t.Context(), modelhttp.Question{Method: "GET", Before: func() error { return refused }}); !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
}
