package weaviate

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// A node that is killed while it stores a batch may come back with objects that
// it has and does not find. Weaviate 1.35 keeps a log for the objects and one for
// each of its indexes, writes each through a buffer of 4 KB, and empties the
// buffers when the batch is done: an object is larger than the buffer and is on
// disk at once, what the indexes say of it is not. When the same object is
// written again it is the same, so nothing is indexed; and replicas are compared
// by their objects alone, so nobody brings what is missing.
//
// So whether a node finds an object is asked of all its indexes, and one that is
// missing in any is written anew with a vector that differs in a bit nobody
// notices: that is another vector, and everything is indexed again.

// everyTerm is a term of every record: no text has it.
const everyTerm = "\u00b6"

// indexed returns which objects of records the node finds in each of its
// indexes, if they are right.
func (m *Memory) indexed(ctx context.Context, objects []stored, right func(object) bool) (map[string]bool, error) {
	found := map[string]bool{}
	for _, alike := range groups(objects) {
		for part := range slices.Chunk(alike, idsAtOnce) {
			if err := m.indexedPart(ctx, part, right, found); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// indexedPart asks for objects that are in the same indexes: one search by
// words, and one by vectors if they have any.
func (m *Memory) indexedPart(ctx context.Context, part []stored, right func(object) bool, found map[string]bool) error {
	q := query{class: m.class(recordsClass), tenant: part[0].Tenant, limit: len(part), fields: "digest _additional{id}", where: inIndexes(part),
		how: `bm25:{query:` + quoted(everyTerm) + `,properties:["terms"]}`}
	list, err := m.find(ctx, q)
	if err != nil {
		return err
	}
	near := map[string]bool{}
	for name, v := range part[0].Vectors {
		q.where, q.fields = anyOf("id", objectIDs(part)), "_additional{id}"
		q.how = `nearVector:{vector:[1` + strings.Repeat(",0", len(v)-1) + `],targetVectors:["` + name + `"]}`
		nearest, err := m.find(ctx, q)
		if err != nil {
			return err
		}
		for _, o := range nearest {
			near[o.Additional.ID] = true
		}
	}
	for _, o := range list {
		if right(o) && (len(part[0].Vectors) == 0 || near[o.Additional.ID]) {
			found[o.Additional.ID] = true
		}
	}
	return nil
}

// The properties that objects are found by.
func indexedWords() []string {
	return []string{"record_id", "host", "runtime", "session", "category", "kind", "model"}
}

// groups are the objects that are in the same indexes: those of a tenant with
// the same properties that are not empty, and vectors of the same name.
func groups(objects []stored) map[string][]stored {
	all := map[string][]stored{}
	for _, o := range objects {
		key := o.Tenant
		for _, p := range indexedWords() {
			key += " " + strconv.FormatBool(isIndexed(o, p))
		}
		for name, v := range o.Vectors {
			key += " " + name + " " + strconv.Itoa(len(v))
		}
		all[key] = append(all[key], o)
	}
	return all
}

func isIndexed(o stored, property string) bool {
	value, _ := o.Properties[property].(string)
	return strings.TrimSpace(value) != ""
}

// inIndexes is a condition that an object passes that is in the indexes of all
// its properties.
func inIndexes(part []stored) string {
	earliest := int64(math.MaxInt64)
	for _, o := range part {
		at, _ := o.Properties["created_at"].(int64)
		earliest = min(earliest, at)
	}
	conditions := []string{anyOf("id", objectIDs(part)), anyOf("terms", []string{everyTerm}), number("created_at", "GreaterThanEqual", earliest), number("length", "GreaterThanEqual", 0)}
	for _, p := range indexedWords() {
		if isIndexed(part[0], p) {
			conditions = append(conditions, anyOf(p, distinct(part, p)))
		}
	}
	return and(append(conditions, positions(part))...)
}

func objectIDs(part []stored) []string {
	ids := make([]string, len(part))
	for i, o := range part {
		ids[i] = o.ID
	}
	return ids
}

func distinct(part []stored, property string) []string {
	var values []string
	seen := map[string]bool{}
	for _, o := range part {
		value, _ := o.Properties[property].(string)
		if !seen[value] {
			seen[value] = true
			values = append(values, value)
		}
	}
	return values
}

// positions are given one by one: between the first and the last may be many.
func positions(part []stored) string {
	var values []string
	seen := map[int]bool{}
	for _, o := range part {
		at, _ := o.Properties["position"].(int)
		if !seen[at] {
			seen[at] = true
			values = append(values, strconv.FormatFloat(float64(at), 'f', 1, 64))
		}
	}
	return `{path:["position"],operator:ContainsAny,valueNumber:[` + strings.Join(values, ",") + `]}`
}

// counted is the condition of the records of a host that are counted. It asks
// the indexes that can be asked at once: of what a node has and does not find,
// nearly always one of them lacks it.
func counted(host string) string {
	return and(equal("host", remote.Storable(host)), anyOf("terms", []string{everyTerm}), number("created_at", "GreaterThanEqual", math.MinInt64>>1), number("length", "GreaterThanEqual", 0))
}

// anew are objects whose vectors differ from those that were sent before, in the
// last bit of one component: everything that a node knows of them is made again.
func anew(objects []stored) []stored {
	list := make([]stored, len(objects))
	for i, o := range objects {
		vectors := make(map[string][]float32, len(o.Vectors))
		for name, v := range o.Vectors {
			v = slices.Clone(v)
			at := rand.IntN(len(v)) //nolint:gosec // any will do
			v[at] = math.Float32frombits(math.Float32bits(v[at]) ^ 1)
			vectors[name] = v
		}
		o.Vectors = vectors
		list[i] = o
	}
	return list
}
