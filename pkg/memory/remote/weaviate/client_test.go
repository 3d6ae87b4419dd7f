package weaviate_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/weaviate"
)

// fakeNode answers what Open asks.
type fakeNode struct {
	status      int // of everything, 0 for a node that answers
	version     string
	description string
	replicas    int    // 0 is 3
	key         string // that was sent last
}

func (n *fakeNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.key = r.Header.Get("Authorization")
	if n.status != 0 {
		w.WriteHeader(n.status)
		fmt.Fprintf(w, `{"error":[{"message":"it was %s"}]}`, n.key)
		return
	}
	var reply any = map[string]any{"version": n.version}
	if strings.HasPrefix(r.URL.Path, "/v1/schema/") {
		if n.description == "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		reply = map[string]any{"description": n.description, "replicationConfig": map[string]any{"factor": cmp.Or(n.replicas, 3)}}
	}
	if err := json.NewEncoder(w).Encode(reply); err != nil {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

const described = "sessctl: shared memory, schema 1, identity 01234567-89ab-cdef-0123-456789abcdef"

func serve(t *testing.T, n *fakeNode) (host string) {
	t.Helper()
	s := httptest.NewServer(n)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// TestRefused: what cannot be used is told for what it is, and no key is
// repeated.
func TestRefused(t *testing.T) {
	const secret = "hunter2"
	for name, c := range map[string]struct {
		node fakeNode
		url  string // behind the node; or a whole address
		want error
	}{
		"not set up":      {fakeNode{version: "1.35.2"}, "", remote.ErrNotSetUp},
		"too old":         {fakeNode{version: "1.34.9", description: described}, "", remote.ErrUnsuitable},
		"newer":           {fakeNode{version: "1.35.2", description: strings.Replace(described, "schema 1", "schema 2", 1)}, "", remote.ErrNewerSchema},
		"not ours":        {fakeNode{version: "1.35.2", description: "somebody's"}, "", remote.ErrUnsuitable},
		"a wrong key":     {fakeNode{status: http.StatusUnauthorized}, "", remote.ErrNotAllowed},
		"no rights":       {fakeNode{status: http.StatusForbidden}, "", remote.ErrNotAllowed},
		"another scheme":  {fakeNode{}, "weaviate://host", remote.ErrUnsuitable},
		"a key in it":     {fakeNode{}, "weaviate+https://hunter2@host", remote.ErrUnsuitable},
		"an odd name":     {fakeNode{version: "1.35.2", description: described}, "/a-b", remote.ErrUnsuitable},
		"no replicas":     {fakeNode{version: "1.35.2", description: described}, "?replicas=0", remote.ErrUnsuitable},
		"an odd option":   {fakeNode{version: "1.35.2", description: described}, "?key=hunter2", remote.ErrUnsuitable},
		"no certificate":  {fakeNode{version: "1.35.2", description: described}, "?ca=/nonexistent", remote.ErrUnsuitable},
		"nobody is there": {fakeNode{}, "weaviate+http://127.0.0.1:1", remote.ErrUnreachable},
		"no node":         {fakeNode{}, "weaviate+https://", remote.ErrUnsuitable},
		"a good one":      {fakeNode{version: "1.35.2", description: described}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			address := c.url
			if !weaviate.IsAddress(address) {
				address = "weaviate+http://" + serve(t, &c.node) + c.url
			}
			m, err := weaviate.Open(t.Context(), weaviate.Options{URL: address, Key: secret})
			if err == nil {
				_ = m.Close()
			}
			if !errors.Is(err, c.want) {
				t.Errorf("%v, not %v", err, c.want)
			}
			if strings.Contains(fmt.Sprint(err), secret) {
				t.Errorf("the key is in the error: %v", err)
			}
		})
	}
}

// TestNextNode: a node that is away or fails is left for the next one, and the
// key goes to it alike.
func TestNextNode(t *testing.T) {
	good := &fakeNode{version: "1.36.0", description: described}
	url := "weaviate+http://127.0.0.1:1," + serve(t, &fakeNode{status: http.StatusInternalServerError}) + "," + serve(t, good) + "/team"
	m, err := weaviate.Open(t.Context(), weaviate.Options{URL: url, Key: "hunter2"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if m.Server() != "01234567-89ab-cdef-0123-456789abcdef" || good.key != "Bearer hunter2" || !strings.HasSuffix(m.Address(), "/Team") {
		t.Errorf("%s at %s, asked with %q", m.Server(), m.Address(), good.key)
	}
}

// TestForgottenForGood: a removal says when it was, later than anything was stored.
// One that does not is older to the nodes than what one of them still has that was
// away, and they bring that back (TestForgottenWhileAway, with nodes).
func TestForgottenForGood(t *testing.T) {
	var at []int64
	node := &fakeNode{version: "1.35.2", description: described}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodDelete:
			var asked struct {
				At int64 `json:"deletionTimeUnixMilli"`
			}
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
				t.Error(err)
			}
			at = append(at, asked.At)
			fmt.Fprint(w, "{}")
		case r.Method == http.MethodPost:
			fmt.Fprint(w, map[bool]string{true: "{}", false: "[]"}[strings.HasSuffix(r.URL.Path, "/graphql")])
		default:
			node.ServeHTTP(w, r)
		}
	}))
	defer s.Close()
	node.replicas = 1
	m, err := weaviate.Open(t.Context(), weaviate.Options{URL: "weaviate+" + s.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	now := time.Now().UnixMilli()
	if _, err := m.Bury(t.Context(), "laptop", []memory.Forgotten{{ID: "0123"}}); err != nil {
		t.Fatal(err)
	}
	if len(at) != 1 || at[0] <= now {
		t.Errorf("it is %d, and was removed at %d", now, at)
	}
}
