package operate_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/operate/outbox"
)

// webhookAnswer is what a webhook's server says.
type webhookAnswer struct {
	status      int
	after, body string
}

// FuzzAnswerOfWebhook: whatever the server of a webhook answers, the event was taken
// or the failure is one line of text that is not long and does not have the secret
// of the address, and it is tried again at a time that is not past.
func FuzzAnswerOfWebhook(f *testing.F) {
	const secret = "T0KEN-of-the-address"
	for _, body := range []string{"", "{}", secret, strings.Repeat(secret, 20), "\x1b[31m\u202e\r\n", "\xff\xfe", `{"error":"` + strings.Repeat("é", 200) + `"}`, strings.Repeat("a", 199) + secret} {
		f.Add(uint16(500), "120", body)
		f.Add(uint16(410), "Fri, 31 Dec 9999 23:59:59 GMT", body)
		f.Add(uint16(302), "-1", body)
	}
	var answer atomic.Pointer[webhookAnswer]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		a := answer.Load()
		w.Header().Set("Retry-After", a.after)
		w.Header().Set("Location", "/"+url.PathEscape(a.body))
		w.WriteHeader(a.status)
		_, _ = w.Write([]byte(a.body))
	}))
	f.Cleanup(s.Close)
	to, err := url.Parse(s.URL + "/services/" + secret + "?key=" + secret)
	if err != nil {
		f.Fatal(err)
	}
	hook := outbox.Webhook{URL: to, Now: time.Now}
	f.Fuzz(func(t *testing.T, status uint16, after, body string) {
		if strings.IndexFunc(after, func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
			t.Skip("no header")
		}
		a := &webhookAnswer{200 + int(status)%400, after, body}
		answer.Store(a)
		err := hook.Send(t.Context(), outbox.Event{ID: "e", Type: outbox.Compacted, Time: outboxNoon, Data: json.RawMessage("{}")})
		if taken := a.status/100 == 2; taken != (err == nil) {
			t.Fatalf("%d: %v", a.status, err)
		}
		if err == nil {
			return
		}
		var failure *outbox.Failure
		if !errors.As(err, &failure) || failure.After < 0 {
			t.Fatalf("%d: %#v", a.status, err)
		}
		if said := failure.Reason; strings.Contains(said, secret) || len(said) > 400 || !utf8.ValidString(said) || strings.ContainsAny(said, "\r\n") {
			t.Errorf("%d %q: %q", a.status, body, said)
		}
	})
}
