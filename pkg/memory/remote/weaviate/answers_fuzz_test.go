package weaviate_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/weaviate"
)

// FuzzAnswers: whatever a cluster answers, every question ends, with an error of
// the shared memory or with what can be shown: scores are numbers, and there are no
// more hits than were asked for.
func FuzzAnswers(f *testing.F) {
	const deep = 20_000
	const recordID = "0123456789abcdef0123456789abcdef"
	record := `{"id":"` + recordID + `","text":"The heron stands in the reeds.","agent":"scout","position":1}`
	quoted, err := json.Marshal(record)
	if err != nil {
		f.Fatal(err)
	}
	found := func(properties string) string {
		return `{"data":{"Get":{"n0":[{"_additional":{"id":"` + weaviate.ObjectOf("laptop", recordID) + `","distance":0.5,"score":"1"},"entry":"scout","name":"scout","host":"laptop","digest":"5","terms":"heron reeds",` + properties + `}]},"Aggregate":{"n0":[{"meta":{"count":3},"groupedBy":{"value":"x"}}]}}}`
	}
	for _, text := range []string{
		"", "{}", "[]", "null", "{", "<html>", `{"data":null}`, `{"data":{"Get":{"n0":null}}}`, `{"data":{"Get":{"n0":[null]}}}`, `{"errors":[null]}`,
		`{"properties":{"digest":"x"}}`, found(`"record":` + string(quoted)), found(`"record":"{}"`), found(`"record":""`), strings.Replace(found(`"record":`+string(quoted)), `"score":"1"`, `"score":"NaN"`, 1),
		strings.Replace(found(`"record":`+string(quoted)), `"distance":0.5`, `"distance":1e308`, 1), found(`"record":` + string(quoted) + `,"successor":"0123","created_at":1e308`),
		strings.Replace(found(`"record":`+string(quoted)), weaviate.ObjectOf("laptop", recordID), "another", 1), strings.Replace(found(`"record":`+string(quoted)), `"laptop"`, `"desk"`, 1),
		`{"data":{"Get":{"n0":[` + strings.Repeat(`{"entry":"{}"},`, 1999) + `{"entry":"{}"}]},"Aggregate":{"n0":[{"meta":{"count":1}}]}}}`,
		strings.Repeat("[", deep), strings.Repeat(`{"data":`, deep) + "1" + strings.Repeat("}", deep),
	} {
		f.Add([]byte(text))
	}
	var answer atomic.Pointer[[]byte]
	node := &fakeNode{version: "1.35.2", description: described, replicas: 1}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/meta") || strings.HasPrefix(r.URL.Path, "/v1/schema/") {
			node.ServeHTTP(w, r)
			return
		}
		_, _ = w.Write(*answer.Load())
	}))
	f.Cleanup(s.Close)
	builtin, err := embed.NewBuiltin()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		answer.Store(&text)
		m, err := weaviate.Open(t.Context(), weaviate.Options{URL: "weaviate+" + s.URL})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if json.Unmarshal(text, &struct{ Data map[string]any }{}) != nil {
			cancel() // what is not understood is asked for again, for seconds
		}
		ofServer := func(err error) {
			t.Helper()
			for _, known := range []error{nil, remote.ErrUnreachable, remote.ErrUnsuitable, remote.ErrNotSetUp, remote.ErrNotAllowed, context.Canceled} {
				if errors.Is(err, known) {
					return
				}
			}
			t.Errorf("%q: %v", text, err)
		}
		result, err := m.Recall(ctx, memory.Query{Text: "heron reeds", Limit: 3}, builtin, builtin.Model())
		ofServer(err)
		if len(result.Hits) > 3 {
			t.Errorf("%q: %d hits", text, len(result.Hits))
		}
		for _, h := range result.Hits {
			if math.IsNaN(h.Score) || math.IsInf(h.Score, 0) || math.IsNaN(h.Fit) || math.IsInf(h.Fit, 0) {
				t.Errorf("%q: %+v", text, h)
			}
		}
		hit := memory.Hit{Host: "laptop"}
		hit.ID, hit.Agent, hit.Position = recordID, "scout", 4
		_, err = m.Neighbors(ctx, hit, 2)
		ofServer(err)
		_, err = m.Fact(ctx, hit)
		ofServer(err)
		_, err = m.Sessions(ctx, "", 5)
		ofServer(err)
		_, err = m.Count(ctx)
		ofServer(err)
		_, _, err = m.Forgotten(ctx, "")
		ofServer(err)
		ofServer(m.Verify(ctx, "laptop", func(string, int64) error { return nil }))
	})
}
