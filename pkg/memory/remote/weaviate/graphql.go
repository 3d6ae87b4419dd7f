package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// mostResults is how many objects a search may return (QUERY_MAXIMUM_RESULTS of
// the server).
const mostResults = 10_000

// graphReply is a reply to a GraphQL query: what it found, by alias.
type graphReply struct {
	Data struct {
		Get       map[string][]object    `json:"Get"`
		Aggregate map[string][]aggregate `json:"Aggregate"`
	} `json:"data"`
	Errors []struct {
		Message string `json:"message"`
	} `json:"errors"`
}

// err is what a node said it could not do. Another may.
func (r *graphReply) err() error {
	if len(r.Errors) == 0 {
		return nil
	}
	said := r.Errors[0].Message
	const longest = 300
	err := fmt.Errorf("the query failed: %s", strings.ToValidUTF8(said[:min(len(said), longest)], ""))
	if strings.HasPrefix(said, "Cannot query field") {
		return fmt.Errorf("%w: %w", remote.ErrNotSetUp, err)
	}
	if strings.HasPrefix(said, "Syntax Error") || strings.HasPrefix(said, "Unknown argument") || strings.HasPrefix(said, "Argument ") {
		return fmt.Errorf("%w: %w", remote.ErrUnsuitable, err)
	}
	if strings.Contains(said, "tenant not found") {
		return errAbsent
	}
	return passingError{error: err}
}

// object is what a search found, with the properties that were asked for.
type object struct {
	Additional struct {
		ID       string   `json:"id"`
		Distance *float64 `json:"distance"`
		Score    string   `json:"score"`
	} `json:"_additional"`
	Record    string  `json:"record"`
	RecordID  string  `json:"record_id"`
	Digest    string  `json:"digest"`
	Host      string  `json:"host"`
	Session   string  `json:"session"`
	Model     string  `json:"model"`
	Successor string  `json:"successor"`
	Kind      string  `json:"kind"`
	Details   string  `json:"details"`
	Terms     string  `json:"terms"`
	Length    float64 `json:"length"`
	Doubt     float64 `json:"doubt"`
	Name      string  `json:"name"`
	Entry     string  `json:"entry"`
	CreatedAt float64 `json:"created_at"`
	Stamp     float64 `json:"stamp"`
}

// aggregate counts objects.
type aggregate struct {
	Meta struct {
		Count int `json:"count"`
	} `json:"meta"`
	CreatedAt struct { // null if there are none
		Minimum float64 `json:"minimum"`
		Maximum float64 `json:"maximum"`
	} `json:"created_at"`
}

// query is a search of one collection, or of one tenant of it.
type query struct {
	class  string
	tenant string // "" where there are none
	where  string // "" for all
	how    string // nearVector, bm25 or sort
	limit  int
	fields string // properties, and what is asked of _additional

	replicated bool
}

// quorum is how many replicas must have what is written, and are asked for what
// counts when it is read: a majority. A search is answered by one of them: if it
// were to compare what it found with others, it would write back to those that
// lag behind only the properties that were asked for (seen with 1.35.2).
const quorum = "QUORUM"

// everyReplica is asked for where all nodes answer and none may be later.
const everyReplica = "ALL"

func (q query) get() string {
	args := []string{"limit:" + strconv.Itoa(q.limit)}
	if q.replicated {
		args = append(args, "consistencyLevel:ONE")
	}
	return q.class + "(" + strings.Join(append(args, q.selection()...), ",") + "){" + q.fields + "}"
}

// count is the query as a count.
func (q query) count() string {
	text, fields := q.class, "meta{count}"+q.fields
	if args := q.selection(); len(args) > 0 {
		text += "(" + strings.Join(args, ",") + ")"
	}
	return text + "{" + fields + "}"
}

func (q query) selection() (args []string) {
	if q.tenant != "" {
		args = append(args, "tenant:"+quoted(q.tenant))
	}
	if q.where != "" {
		args = append(args, "where:"+q.where)
	}
	if q.how != "" {
		args = append(args, q.how)
	}
	return args
}

// find searches.
func (c *cluster) find(ctx context.Context, q query) ([]object, error) {
	var reply graphReply
	q.replicated = c.replicas > 1
	err := c.graph(ctx, "{Get{found:"+q.get()+"}}", &reply)
	if errors.Is(err, errAbsent) {
		return nil, nil // the tenant was removed
	}
	return reply.Data.Get["found"], err
}

// countsAtOnce is how many counts are asked for with one request.
const countsAtOnce = 64

// counts counts what each query finds.
func (c *cluster) counts(ctx context.Context, queries []query) ([]aggregate, error) {
	list := make([]aggregate, 0, len(queries))
	for from := 0; from < len(queries); from += countsAtOnce {
		var b strings.Builder
		part := queries[from:min(from+countsAtOnce, len(queries))]
		for i, q := range part {
			b.WriteString("n" + strconv.Itoa(i) + ":" + q.count() + " ")
		}
		var reply graphReply
		if err := c.graph(ctx, "{Aggregate{"+b.String()+"}}", &reply); errors.Is(err, errAbsent) {
			return make([]aggregate, len(queries)), nil // the tenant was removed
		} else if err != nil {
			return nil, err
		}
		for i := range part {
			var a aggregate
			if got := reply.Data.Aggregate["n"+strconv.Itoa(i)]; len(got) > 0 {
				a = got[0]
			}
			list = append(list, a)
		}
	}
	return list, nil
}

func (c *cluster) graph(ctx context.Context, text string, reply *graphReply) error {
	return c.client.ask(ctx, question{method: http.MethodPost, path: "/v1/graphql", body: map[string]string{"query": text}, into: reply})
}

// quoted is a text as GraphQL writes it.
func quoted(text string) string {
	b, _ := json.Marshal(remote.Storable(text)) // a text can always be written
	return string(b)
}

// list is a list of texts as GraphQL writes it.
func list(texts []string) string {
	parts := make([]string, len(texts))
	for i, text := range texts {
		parts[i] = quoted(text)
	}
	return "[" + strings.Join(parts, ",") + "]"
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

// bm25 is the search for terms.
func bm25(terms []string) string {
	return `bm25:{query:` + quoted(strings.Join(terms, " ")) + `,properties:["terms"]}`
}

// nearVector is the search for vectors of this name that are near one.
func nearVector(vector, name string) string {
	return `nearVector:{vector:` + vector + `,targetVectors:["` + name + `"]}`
}

func text(property, operator, value string) string {
	return `{path:["` + property + `"],operator:` + operator + `,valueText:` + value + `}`
}

func number(property, operator string, value int64) string {
	return `{path:["` + property + `"],operator:` + operator + `,valueNumber:` + strconv.FormatFloat(float64(value), 'f', 1, 64) + `}`
}

// and joins conditions; none is "".
func and(conditions ...string) string {
	kept := conditions[:0:0]
	for _, c := range conditions {
		if c != "" {
			kept = append(kept, c)
		}
	}
	switch len(kept) {
	case 0:
		return ""
	case 1:
		return kept[0]
	}
	return "{operator:And,operands:[" + strings.Join(kept, ",") + "]}"
}
