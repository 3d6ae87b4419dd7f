package weaviate

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// mostResults is how many objects a search may return (QUERY_MAXIMUM_RESULTS of
// the server).
const mostResults = 10_000

// graphReply is a reply to a GraphQL query: what it found, by what was done (Get,
// Aggregate) and by alias.
type graphReply struct {
	Data   map[string]map[string][]object
	Errors []struct{ Message string }
}

// err is what a node said it could not do. Another may.
func (r *graphReply) err() error {
	if len(r.Errors) == 0 {
		return nil
	}
	said := r.Errors[0].Message
	const longest = 300
	err := fmt.Errorf("the query failed: %s", strings.ToValidUTF8(said[:min(len(said), longest)], ""))
	switch {
	case strings.HasPrefix(said, "Cannot query field"):
		return fmt.Errorf("%w: %w", remote.ErrNotSetUp, err)
	case strings.HasPrefix(said, "Syntax Error"), strings.HasPrefix(said, "Unknown argument"), strings.HasPrefix(said, "Argument "):
		return fmt.Errorf("%w: %w", remote.ErrUnsuitable, err)
	}
	return passingError{error: err}
}

// object is what a search found, with the properties that were asked for; or a
// number of objects (Meta), of those that have a value of a property in common.
type object struct {
	Additional struct {
		ID       string
		Distance *float64
		Score    string
		Vectors  map[string]json.RawMessage
	} `json:"_additional"`
	Meta      struct{ Count int }
	GroupedBy struct{ Value string }

	Record, Digest, Host, Model, Successor, Kind, Details, Terms, Name, Entry string

	RecordID     string `json:"record_id"`
	Doubt, Stamp float64
	CreatedAt    float64 `json:"created_at"`
}

// score is what the cluster's BM25 gives, 0 if that is no number.
func (o object) score() float64 {
	score, err := strconv.ParseFloat(o.Additional.Score, 64)
	if err != nil || math.IsNaN(score) {
		return 0
	}
	return score
}

// cosine is at least -1 and at most 1, whatever the cluster says.
func (o object) cosine() float64 {
	if o.Additional.Distance == nil {
		return 0
	}
	return max(-1, min(1, 1-*o.Additional.Distance))
}

// successor is the id of the fact that has superseded an object.
func (o object) successor() string { return objectID("record", o.Host, o.Successor) }

// found is the record of an object; false if it is that of another one, or none
// that can be read.
func (o object) found() (f memory.Found, ok bool) {
	f.Host = o.Host
	err := json.Unmarshal([]byte(o.Record), &f.Record)
	return f, err == nil && objectID("record", f.Host, f.ID) == o.Additional.ID
}

// query is a search of one collection.
type query struct {
	class  string
	where  string // "" for all
	how    string // nearVector, bm25, sort or groupBy
	limit  int    // 0 for none
	fields string // properties, and what is asked of _additional
}

// text is the query as GraphQL writes it.
func (q query) text() string {
	var args []string
	for _, a := range []struct{ name, value string }{{"where:", q.where}, {"", q.how}, {"limit:", strconv.Itoa(q.limit)}} {
		if a.value != "" && a.value != "0" {
			args = append(args, a.name+a.value)
		}
	}
	if len(args) == 0 {
		return q.class + "{" + q.fields + "}"
	}
	return q.class + "(" + strings.Join(args, ",") + "){" + q.fields + "}"
}

// Consistency: how many replicas must have what is written, and are asked for
// what counts when it is read: a majority, or every one where all nodes answer and
// none may be later. A search is answered by one of them: if it were to compare
// what it found with others, it would write back to those that lag behind only the
// properties that were asked for (seen with 1.35.2).
const (
	one          = "ONE"
	quorum       = "QUORUM"
	everyReplica = "ALL"
)

// search asks each of the nodes several queries at once, and returns what they find
// together, by query.
func (r readers) search(ctx context.Context, action string, queries []query) ([][]object, error) {
	var b strings.Builder
	for i, q := range queries {
		b.WriteString("n" + strconv.Itoa(i) + ":" + q.text() + " ")
	}
	body := map[string]string{"query": "{" + action + "{" + b.String() + "}}"}
	replies, err := each(ctx, r.nodes, func(ctx context.Context, n *client) (reply graphReply, err error) {
		return reply, n.ask(ctx, question{method: http.MethodPost, path: "/v1/graphql", body: body, into: &reply})
	})
	found := make([][]object, len(queries))
	for i := range queries {
		var lists [][]object
		for _, reply := range replies {
			lists = append(lists, reply.Data[action]["n"+strconv.Itoa(i)])
		}
		found[i] = together(lists)
	}
	return found, err
}

// together are the objects of some lists, each once, those of the first list first;
// of two that differ in their stamps the later one, and of two numbers the higher.
func together(lists [][]object) (all []object) {
	places := map[string]int{}
	for _, o := range slices.Concat(lists...) {
		key := o.Additional.ID + o.GroupedBy.Value
		at, seen := places[key]
		switch {
		case !seen:
			places[key] = len(all)
			all = append(all, o)
		case o.Stamp > all[at].Stamp, o.Meta.Count > all[at].Meta.Count:
			all[at] = o
		}
	}
	return all
}

// find searches.
func (r readers) find(ctx context.Context, q query) ([]object, error) {
	if r.replicas > 1 {
		q.how += " consistencyLevel:" + one
	}
	found, err := r.search(ctx, "Get", []query{q})
	return found[0], err
}

// counts counts what each query finds; the most that any of the nodes finds counts.
func (r readers) counts(ctx context.Context, queries []query) ([]int, error) {
	const atOnce = 64
	parts := slices.Collect(slices.Chunk(queries, atOnce))
	found, err := each(ctx, parts, func(ctx context.Context, part []query) ([][]object, error) {
		part = slices.Clone(part)
		for i := range part {
			part[i].fields = "meta{count}"
		}
		return r.search(ctx, "Aggregate", part)
	})
	list := make([]int, len(queries))
	for i, groups := range slices.Concat(found...) {
		if len(groups) > 0 {
			list[i] = groups[0].Meta.Count
		}
	}
	return list, err
}

// count counts what one query finds.
func (r readers) count(ctx context.Context, q query) (int, error) {
	list, err := r.counts(ctx, []query{q})
	return list[0], err
}

// quoted is a text as GraphQL writes it.
func quoted(text string) string {
	b, _ := json.Marshal(remote.Storable(text)) // a text can always be written
	return string(b)
}

// The conditions of searches.

func equal(property, value string) string { return text(property, "Equal", quoted(value)) }

func anyOf(property string, values []string) string {
	return text(property, "ContainsAny", list(values))
}

func allOf(property string, values []string) string {
	return text(property, "ContainsAll", list(values))
}

func startsWith(property, start string) string { return text(property, "Like", quoted(start+"*")) }

func text(property, operator, value string) string {
	return `{path:["` + property + `"],operator:` + operator + `,valueText:` + value + `}`
}

func number(property, operator string, value int64) string {
	return `{path:["` + property + `"],operator:` + operator + `,valueNumber:` + strconv.FormatFloat(float64(value), 'f', 1, 64) + `}`
}

// list is a list of ids or terms as GraphQL writes it.
func list(texts []string) string {
	b, _ := json.Marshal(texts) // they can always be written
	return string(b)
}

// and joins conditions; none is "".
func and(conditions ...string) string {
	kept := slices.DeleteFunc(slices.Clone(conditions), func(c string) bool { return c == "" })
	if len(kept) < 2 {
		return strings.Join(kept, "")
	}
	return "{operator:And,operands:[" + strings.Join(kept, ",") + "]}"
}

// bm25 is the search for terms.
func bm25(terms []string) string {
	return `bm25:{query:` + quoted(strings.Join(terms, " ")) + `,properties:["terms"]}`
}

// nearVector is the search for vectors of this name that are near one.
func nearVector(vector, name string) string {
	return `nearVector:{vector:` + vector + `,targetVectors:["` + name + `"]}`
}

// byTime is the search for what was said first ("asc") or last ("desc").
func byTime(order string) string { return `sort:[{path:["created_at"],order:` + order + `}]` }
