package cmd

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// foreign are documents that another host or a program sends.
func foreign(f *testing.F) {
	const deep = 20_000
	for _, text := range []string{
		"", "{}", "[]", "null", "1", "{", "\xff", "not json", `{"hits":null}`, `{"hits":[null]}`, `{"hits":[{}]}`, `{"hits":[{"source":null,"created_at":null}]}`,
		`{"hits":[{"id":"a","score":1e308,"fit":-1,"text":"\u001b[31m\u202e","created_at":"9999-12-31T23:59:59Z","source":{"first_line":-1,"last_line":-9}}],"notes":[{}],"best_fit":{}}`,
		`{"sessions":[null,{}]}`, `{"sessions":[{"tokens":-1,"context_window":-5,"updated_at":null,"agent":"a\nb","log_bytes":9223372036854775807}]}`, `{"sessions":[{"tokens":null,"context_window":null}],"totals":null}`,
		`{"receipts":[null,{}]}`, `{"operations":[{}]}`, `{"runs":[null,{}]}`, `{"entries":[{}]}`, `{"schema":99}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"method":5}`, `{"jsonrpc":"2.0","id":1e400,"method":"initialize","params":[]}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"memory_recall","arguments":[]}}`, `{"jsonrpc":"2.0","id":"x","result":{}}`,
		strings.Repeat("[", deep), strings.Repeat(`{"hits":`, deep) + "1" + strings.Repeat("}", deep), `{"jsonrpc":"2.0","id":1,"method":"x","params":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "}",
	} {
		f.Add([]byte(text))
	}
}

// Whatever another host answers, the command ends with an exit code of its own, its
// document is JSON, and nothing that it prints acts on the terminal.
func FuzzAnswerOfHost(f *testing.F) {
	if runtime.GOOS == "windows" {
		f.Skip("the host is a shell script")
	}
	home := f.TempDir()
	answer := filepath.Join(home, "answer")
	script := "#!/bin/sh\nexec cat '" + answer + "'\n"
	if err := os.WriteFile(filepath.Join(home, "ssh"), []byte(script), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Setenv("PATH", home+string(os.PathListSeparator)+os.Getenv("PATH"))
	f.Setenv("HOME", home)
	f.Setenv("XDG_DATA_HOME", "")
	f.Setenv("XDG_CONFIG_HOME", "")
	foreign(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(answer, text, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"recall", "--host", "beta", "x"}, {"sizes", "--host", "beta"}, {"log", "--host", "beta"}, {"log", "--runs", "--host", "beta"}} {
			var out, errOut, document bytes.Buffer
			exit := Main(args, strings.NewReader(""), &out, &errOut)
			if exit < 0 || exit > 4 || strings.ContainsAny(out.String()+errOut.String(), "\x1b\u202e\x00\r") {
				t.Errorf("%q: %s ends with %d and prints %q %q", text, args, exit, out.String(), errOut.String())
			}
			Main(append(args, "--json"), strings.NewReader(""), &document, io.Discard)
			if document.Len() > 0 && !json.Valid(document.Bytes()) {
				t.Errorf("%q: %s prints %q", text, args, document.String())
			}
		}
	})
}

// Whatever an agent's program sends, the server answers in lines of JSON and ends
// with its input.
func FuzzRequests(f *testing.F) {
	home := f.TempDir()
	f.Setenv("HOME", home)
	f.Setenv("XDG_DATA_HOME", "")
	f.Setenv("XDG_CONFIG_HOME", "")
	foreign(f)
	const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"
	f.Fuzz(func(t *testing.T, text []byte) {
		var out bytes.Buffer
		if exit := Main([]string{"mcp"}, io.MultiReader(strings.NewReader(hello), bytes.NewReader(text)), &out, io.Discard); exit != 0 {
			t.Errorf("%q: the server ends with %d", text, exit)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("%q: answered with %q", text, line)
			}
		}
	})
}

// FuzzServed: whatever a client asks of the server, the answer is JSON, what is
// wrong with the request is the request's, said in a problem document, and nothing
// of it acts on a terminal.
func FuzzServed(f *testing.F) {
	s := newServing(f)
	id := strings.Repeat("f", 12)
	for _, path := range []string{
		"/api/v1/sessions/sizes", "/api/v1/sessions/sizes?threshold=-1", "/api/v1/sessions/sizes?over=true&threshold=9223372036854775807&sort=age", "/api/v1/recall?q=%00%1b[31m&limit=0", "/api/v1/recall?q=port&since=0001-01-01&until=9999-12-31&rank=text",
		"/api/v1/recall?q=" + strings.Repeat("(", 3000), "/api/v1/archives/" + id + "/lines?lines=9-1", "/api/v1/archives/%ff/lines?lines=18446744073709551616-", "/api/v1/runs?limit=-1", "/api/v1/jobs/" + id, "/metrics", "/%e2%80%ae",
	} {
		f.Add(false, path, []byte(nil))
	}
	for _, body := range []string{
		"", "null", "[]", "{", "\xff", `{"agent":1}`, `{"agent":"a\u0000b"}`, `{"agent":"coordinator","threshold":1e400}`, `{"agent":"coordinator","threshold_percent":101}`, `{"agent":"coordinator","agent":"all"}`, `{"session":"../../x"}`,
		strings.Repeat("[", 20_000), `{"agent":` + strings.Repeat(`{"a":`, 9_000), `{"agent":"coordinator","caller_id":"\u001b[31m\u202e"}`,
	} {
		f.Add(true, "/api/v1/compact", []byte(body))
	}
	f.Fuzz(func(t *testing.T, post bool, target string, body []byte) {
		u, err := url.ParseRequestURI(target)
		if err != nil || u.Host != "" || !strings.HasPrefix(target, "/") {
			t.Skip("no client can ask for that")
		}
		method := map[bool]string{true: http.MethodPost, false: http.MethodGet}[post]
		asking := serving{t, s.server, s.log, s.token}
		w := asking.ask(method, "/", string(body), func(r *http.Request) { r.URL, r.RequestURI = u, target })
		got := w.Body.Bytes()
		switch known := w.Header().Get("Content-Type"); {
		case w.Code/100 == 3: // the same path, cleaned
		case w.Code >= 400:
			var p problemDocument
			if err := json.Unmarshal(got, &p); err != nil || p.Status != w.Code || p.Code == "" || p.Detail == "" || w.Code >= 500 && w.Code != http.StatusServiceUnavailable {
				t.Errorf("%s %q %q: %d %s", method, target, body, w.Code, got)
			}
		case strings.Contains(known, "json") && !json.Valid(got):
			t.Errorf("%s %q %q: %q", method, target, body, got)
		}
		if strings.ContainsAny(string(got)+s.log.String(), "\x1b\u202e\x00\r") {
			t.Errorf("%s %q %q: %q %q", method, target, body, got, s.log)
		}
		s.log.Reset()
	})
}
