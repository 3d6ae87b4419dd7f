package weaviate

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// scores is a node that has so many records with a word, answers with the score
// that its BM25 would give, and notes which words it was asked to count.
type scores struct {
	records, dead float64
	mean          float64 // that its scores assume
	with          map[string]float64
	counted       []string
}

var ( //nolint:gochecknoglobals // never changed
	askedBest  = regexp.MustCompile(`(n\d+):TeamRecords\(limit:1,tenant:"scout",bm25:\{query:"([^"]+)"`)
	askedSome  = regexp.MustCompile(`found:TeamRecords\(limit:1000,tenant:"scout",where:\{path:\["terms"\],operator:Equal,valueText:"([^"]+)"`)
	askedCount = regexp.MustCompile(`(n\d+):TeamRecords\(tenant:"scout",where:\{path:\["terms"\],operator:Equal,valueText:"([^"]+)"`)
)

func (s *scores) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct{ Query string }
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	get, aggregate := map[string]any{}, map[string]any{}
	for _, m := range askedBest.FindAllStringSubmatch(q.Query, -1) {
		text := "¶ " + strings.Repeat(m[2]+" ", 2) + "of eight terms in a record"
		if m[2] == everyTerm {
			text = "¶ and seven terms in a record of it"
		}
		n, length := float64(strings.Count(text, m[2])), float64(len(strings.Fields(text)))
		with := s.with[m[2]] * (1 + s.dead/s.records)
		if with > 0 {
			score := math.Log(1+(s.records-with+0.5)/(with+0.5)) * n / (n + 1.2*(0.25+0.75*length/s.mean))
			get[m[1]] = []any{map[string]any{"terms": text, "_additional": map[string]any{"id": "1", "score": fmt.Sprint(float32(score))}}}
		}
	}
	if m := askedSome.FindStringSubmatch(q.Query); m != nil {
		get["found"] = make([]map[string]any, min(int(s.with[m[1]]), mostToCheck))
	}
	for _, m := range askedCount.FindAllStringSubmatch(q.Query, -1) {
		s.counted = append(s.counted, m[2])
		aggregate[m[1]] = []any{map[string]any{"meta": map[string]any{"count": s.with[m[2]]}}}
	}
	if strings.Contains(q.Query, "length{mean}") {
		aggregate["n0"] = []any{map[string]any{"meta": map[string]any{"count": s.records}, "length": map[string]any{"mean": 11}}}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{"Get": get, "Aggregate": aggregate}})
}

// TestCommonWords: how many records have a common word is known without reading
// them, also when the index has postings of records that were replaced, or takes a
// wrong mean of their lengths. If its scores say nothing all is counted.
func TestCommonWords(t *testing.T) {
	for _, c := range []struct {
		dead, mean, off float64
		counted         string
	}{{0, 12, 0.001, "few none"}, {9000, 12, 0.001, "few none"}, {0, 0.3, 0.02, "few none"}, {0, 500, 0.02, "few none"}, {0, 1e-12, 0.02, "few none"}, {0, 0, 0, "the crane few lift some none"}} {
		node := &scores{records: 100_000, dead: c.dead, mean: c.mean, with: map[string]float64{everyTerm: 100_000, "the": 99_990, "crane": 77_777, "lift": 12_345, "some": 400, "few": 7, "eight": 90_000, "seven": 80_000}}
		server := httptest.NewServer(node)
		defer server.Close()
		a := address{nodes: []string{server.URL}, name: "Team", replicas: 1}
		m := &Memory{client: newClient(a, ""), address: a, replicas: 1, estimated: estimateFrom}
		x := &index{memory: m, nodes: readers{[]*Memory{m}, true}, tenants: []string{"scout"}}
		words := []string{"the", "crane", "few", "lift", "some", "none"}
		got, err := x.Count(t.Context(), words)
		if err != nil {
			t.Fatal(err)
		}
		for i, word := range words {
			if want := node.with[word]; math.Abs(float64(got.With[i])-want) > 1+want*c.off {
				t.Errorf("%+v: %d records have %q, not %g", c, got.With[i], word, want)
			}
		}
		if counted := strings.Join(node.counted, " "); counted != c.counted {
			t.Errorf("%+v: counted one by one: %s", c, counted)
		}
	}
}
