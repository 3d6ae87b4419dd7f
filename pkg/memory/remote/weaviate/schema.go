package weaviate

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/sessctl/sessctl/pkg/memory/remote"
)

const (
	schemaVersion = 1        // of the collections
	leastVersion  = "1.35.0" // of Weaviate: the oldest that was tried
)

// Collections, behind the name of the shared memory.
const (
	recordsClass    = "Records"    // of all hosts
	tombstonesClass = "Tombstones" // of what was forgotten
	namesClass      = "Names"      // of hosts, of models that made vectors and of agents that have them, and who wants a host
)

// The properties of the collections, each with its kind (see property).
const (
	recordProperties = "record_id:found digest:kept host:found agent:found owner:found runtime:found session:found category:found kind:found model:found " +
		"successor:kept details:kept created_at:ranged position:number sample:found terms:terms record:kept"
	tombstoneProperties = "record_id:found host:found stamp:number entry:kept"
	nameProperties      = "name:found kind:found stamp:number entry:kept doubt:number"
)

// property is one of a collection: a text that is kept only, one that is found as
// it is, terms that are separated by spaces, as embed.AppendTerms writes them; a
// number, or one of which much is asked by a range.
func property(name, kind string) map[string]any {
	p := map[string]any{"name": name, "dataType": []string{"text"}, "tokenization": "field",
		"indexFilterable": kind != "kept", "indexSearchable": kind == "terms", "indexRangeFilters": kind == "ranged"}
	switch kind {
	case "terms":
		p["tokenization"] = "whitespace"
	case "number", "ranged":
		delete(p, "tokenization")
		p["dataType"] = []string{"number"}
	}
	return p
}

// collection is what Weaviate is told to make. It has no more parts than it takes to
// use all nodes: Weaviate counts words in each part by itself, so what it says of a hit
// is not that of another part.
func (c *cluster) collection(nodes int, suffix, description, properties string) map[string]any {
	var list []map[string]any
	for field := range strings.FieldsSeq(properties) {
		name, kind, _ := strings.Cut(field, ":")
		list = append(list, property(name, kind))
	}
	return map[string]any{
		"class": c.class(suffix), "description": description, "properties": list,
		"vectorizer": "none", "vectorIndexType": "hnsw", "vectorIndexConfig": map[string]any{"skip": true},
		"shardingConfig":      map[string]any{"desiredCount": max(1, nodes/c.address.replicas)},
		"replicationConfig":   map[string]any{"factor": c.address.replicas, "asyncEnabled": c.address.replicas > 1, "deletionStrategy": "TimeBasedResolution"},
		"invertedIndexConfig": map[string]any{"stopwords": map[string]any{"preset": "none"}},
	}
}

// exactBelow is how many vectors that pass a filter are compared
// one by one, and not by the index. efConstruction is how many neighbours are
// looked at when one is put into the index: half of what is usual with Weaviate
// finds as much (10 of 10 nearest, 49.98 of 50) and a push takes 0.6 of the time.
const (
	exactBelow     = 100_000
	efConstruction = 64
)

// vectorConfig is what Weaviate is told of the vectors of a model.
func vectorConfig() map[string]any {
	return map[string]any{"vectorizer": map[string]any{"none": map[string]any{}}, "vectorIndexType": "hnsw",
		"vectorIndexConfig": map[string]any{"distance": "cosine", "flatSearchCutoff": exactBelow, "efConstruction": efConstruction, "skipDefaultQuantization": true}}
}

// marked is a text as it is kept where it may be empty: an empty one is in no index.
func marked(text string) string { return "=" + remote.Storable(text) }

// everyTerm is a term of every record: no text has it.
const everyTerm = "\u00b6"

// Records that are as good as any for counting: one in so many is sampled, and
// when this many of them have a term those are believed.
const (
	samples         = 64
	sampled         = "yes"
	countedInSample = 30
)

// inEveryIndex is the condition of the records of a host that are in the index of
// each property, and meet a condition for the ids of records. A node that was
// killed while it stored them may come back with objects that it has and does not
// find: Weaviate 1.35 keeps a log for the objects and one for each index, writes
// each through a buffer of 4 KB, and empties the buffers when the batch is done. An
// object is larger than that and is on disk at once, what the indexes say of it is
// not. And replicas are compared by their objects alone: nobody brings what is
// missing.
func inEveryIndex(host, ids string) string {
	conditions := []string{ids, equal("host", remote.Storable(host)), equal("terms", everyTerm), number("created_at", "GreaterThanEqual", math.MinInt64>>1), number("position", "GreaterThanEqual", -1), startsWith("sample", "")}
	for _, p := range []string{"agent", "owner", "runtime", "session", "category", "kind", "model"} {
		conditions = append(conditions, startsWith(p, marked("")))
	}
	return and(conditions...)
}

// schemaPath is where the collection of records is described.
func (c *cluster) schemaPath() string { return "/v1/schema/" + c.class(recordsClass) }

// setUp makes the collections that are missing. The one of records comes last:
// who finds it finds all. Two that do it at once make the same.
func (c *cluster) setUp(ctx context.Context) error {
	healthy, all, err := c.health(ctx)
	if err != nil {
		return fmt.Errorf("look at the nodes: %w", err)
	}
	if healthy < c.address.replicas {
		return fmt.Errorf("%w: nodes that are healthy: %d, and each record is to be kept by %d: start the others, or, to try it out, put ?replicas=1 behind the address", remote.ErrUnsuitable, healthy, c.address.replicas)
	}
	described := fmt.Sprintf("sessctl: shared memory, schema %d, identity %s", schemaVersion, objectID(rand.Text()))
	for _, collection := range []map[string]any{
		c.collection(all, tombstonesClass, "sessctl: what was forgotten", tombstoneProperties),
		c.collection(all, namesClass, "sessctl: hosts, agents and models", nameProperties),
		c.collection(all, recordsClass, described, recordProperties),
	} {
		err := c.client.ask(ctx, question{method: http.MethodPost, path: "/v1/schema", body: collection, slow: true})
		if err != nil && !strings.Contains(err.Error(), "already exists") {
			return fmt.Errorf("make the collection %s: %w", collection["class"], err)
		}
	}
	return nil
}

// description is what a collection of records says of itself.
var description = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`schema (\d+), identity ([0-9a-f-]{36})`) })

// check reads what the collection of records says of itself.
func (m *Memory) check(ctx context.Context) error {
	var c struct {
		Description       string
		ReplicationConfig struct{ Factor int }
		VectorConfig      map[string]any
	}
	err := m.client.ask(ctx, question{method: http.MethodGet, path: m.schemaPath(), into: &c, may404: true, local: true})
	if errors.Is(err, errAbsent) {
		return fmt.Errorf("%w: there is no collection %s", remote.ErrNotSetUp, m.class(recordsClass))
	}
	if err != nil {
		return fmt.Errorf("read the collections: %w", err)
	}
	said := description().FindStringSubmatch(c.Description)
	if said == nil {
		return fmt.Errorf("%w: the collection %s is not one of sessctl", remote.ErrUnsuitable, m.class(recordsClass))
	}
	if version, _ := strconv.Atoi(said[1]); version > schemaVersion {
		return fmt.Errorf("%w: schema %d, and this one knows %d", remote.ErrNewerSchema, version, schemaVersion)
	}
	m.identity, m.replicas = said[2], c.ReplicationConfig.Factor
	for name := range c.VectorConfig {
		m.vectors[name] = true
	}
	return nil
}

// vectorName is how the vectors of a model are named.
func vectorName(fingerprint string) string {
	sum := sha256.Sum256([]byte(fingerprint))
	return "m" + hex.EncodeToString(sum[:8])
}

// addModel registers the model of a batch, gives its vectors a name, and notes which
// agents have them.
func (m *Memory) addModel(ctx context.Context, b remote.Batch) (err error) {
	v := b.Model
	if v.Fingerprint == "" {
		return nil
	}
	const tries = 5 // two hosts may add one at the same time
	for range tries {
		if err = m.addVectors(ctx, vectorName(v.Fingerprint)); err == nil {
			break
		}
	}
	if err == nil {
		err = m.noteOnce(ctx, object{Kind: "model", Name: v.Name, Entry: v.Fingerprint})
	}
	for _, x := range b.Records {
		if err == nil && x.Vector != nil {
			err = m.noteOnce(ctx, object{Kind: "vectors", Name: x.Agent, Entry: v.Fingerprint})
		}
	}
	if err != nil {
		return fmt.Errorf("register the model of vectors: %w", err)
	}
	return nil
}

// noteOnce notes what this connection has not noted yet.
func (m *Memory) noteOnce(ctx context.Context, o object) error {
	id := objectID(o.Kind, o.Name, o.Entry)
	if m.known[id] {
		return nil
	}
	err := m.note(ctx, id, o)
	m.known[id] = err == nil
	return err
}

func (m *Memory) addVectors(ctx context.Context, name string) error {
	if m.vectors[name] {
		return nil
	}
	var c map[string]any
	if err := m.client.ask(ctx, question{method: http.MethodGet, path: m.schemaPath(), into: &c}); err != nil {
		return err
	}
	vectors, ok := c["vectorConfig"].(map[string]any)
	if !ok {
		vectors = map[string]any{}
	}
	if vectors[name] == nil {
		vectors[name] = vectorConfig()
		c["vectorConfig"] = vectors
		if err := m.client.ask(ctx, question{method: http.MethodPut, path: m.schemaPath(), body: c, slow: true}); err != nil {
			return err
		}
	}
	m.vectors[name] = true
	return nil
}

// objectID is the id of an object that stands for these texts.
func objectID(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s,", len(part), part)
	}
	b := h.Sum(nil)
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // version 8: its bits mean nothing to others
	text := hex.EncodeToString(b)
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:32]}, "-")
}
