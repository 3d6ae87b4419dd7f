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

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// schemaVersion is the version of the collections.
const schemaVersion = 1

// leastVersion is the oldest Weaviate that was tried.
const leastVersion = "1.35.0"

// Collections, behind the name of the shared memory.
const (
	recordsClass    = "Records"    // a tenant for each agent
	tombstonesClass = "Tombstones" // of what was forgotten
	modelsClass     = "Models"     // that made vectors
	namesClass      = "Names"      // of hosts, of agents, and who wants a host
)

// exactBelow is how many vectors of an agent that pass a filter are compared
// one by one, and not by the index.
const exactBelow = 100_000

// efConstruction is how many neighbours are looked at when a vector is put into
// the index. Half of what is usual with Weaviate finds as much (10 of 10 nearest,
// 49.98 of 50) and a push takes 0.6 of the time.
const efConstruction = 64

// property is one of a collection.
type property struct {
	Name       string   `json:"name"`
	DataType   []string `json:"dataType"`
	Token      string   `json:"tokenization,omitempty"`
	Filterable bool     `json:"indexFilterable"`
	Searchable bool     `json:"indexSearchable"`
	Range      bool     `json:"indexRangeFilters"`
}

// The kinds of properties: a text that is found as it is, one that is kept
// only, a number.
func word(name string) property {
	return property{Name: name, DataType: []string{"text"}, Token: "field", Filterable: true}
}

func kept(name string) property {
	return property{Name: name, DataType: []string{"text"}, Token: "field"}
}

func figure(name string) property {
	return property{Name: name, DataType: []string{"number"}, Filterable: true}
}

func keptFigure(name string) property { return property{Name: name, DataType: []string{"number"}} }

func ranged(name string) property {
	return property{Name: name, DataType: []string{"number"}, Filterable: true, Range: true}
}

// terms are separated by spaces, as embed.AppendTerms writes them.
func terms(name string) property {
	return property{Name: name, DataType: []string{"text"}, Token: "whitespace", Filterable: true, Searchable: true}
}

func recordProperties() []property {
	return []property{word("record_id"), kept("digest"), word("host"), word("runtime"), word("session"), word("category"), word("kind"), word("model"),
		kept("successor"), kept("details"), ranged("created_at"), figure("position"), word("sample"), terms("terms"), kept("record")}
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
// each property; of these records, or of all if there are none. A node that was
// killed while it stored them may come back with objects that it has and does not
// find: Weaviate 1.35 keeps a log for the objects and one for each index, writes
// each through a buffer of 4 KB, and empties the buffers when the batch is done. An
// object is larger than that and is on disk at once, what the indexes say of it is
// not. And replicas are compared by their objects alone: nobody brings what is
// missing.
func inEveryIndex(host string, recordIDs []string) string {
	ids := startsWith("record_id", "")
	if recordIDs != nil {
		ids = anyOf("record_id", recordIDs)
	}
	conditions := []string{ids, equal("host", remote.Storable(host)), equal("terms", everyTerm), number("created_at", "GreaterThanEqual", math.MinInt64>>1), number("position", "GreaterThanEqual", -1), startsWith("sample", "")}
	for _, p := range []string{"runtime", "session", "category", "kind", "model"} {
		conditions = append(conditions, startsWith(p, marked("")))
	}
	return and(conditions...)
}

// collection is what Weaviate is told to make.
func (c *cluster) collection(suffix, description string, properties []property, tenants bool) map[string]any {
	return map[string]any{
		"class": c.class(suffix), "description": description, "properties": properties,
		"vectorizer": "none", "vectorIndexType": "hnsw", "vectorIndexConfig": map[string]any{"skip": true},
		"multiTenancyConfig":  map[string]any{"enabled": tenants},
		"replicationConfig":   map[string]any{"factor": c.address.replicas, "asyncEnabled": c.address.replicas > 1, "deletionStrategy": "TimeBasedResolution"},
		"invertedIndexConfig": map[string]any{"stopwords": map[string]any{"preset": "none"}},
	}
}

// setUp makes the collections that are missing. The one of records comes last:
// who finds it finds all. Two that do it at once make the same.
func (c *cluster) setUp(ctx context.Context) error {
	healthy, _, err := c.health(ctx)
	if err != nil {
		return fmt.Errorf("look at the nodes: %w", err)
	}
	if healthy < c.address.replicas {
		return fmt.Errorf("%w: nodes that are healthy: %d, and each record is to be kept by %d: start the others, or, to try it out, put ?replicas=1 behind the address", remote.ErrUnsuitable, healthy, c.address.replicas)
	}
	var identity [16]byte
	_, _ = rand.Read(identity[:]) // it never fails
	described := fmt.Sprintf("sessctl: shared memory, schema %d, identity %s", schemaVersion, uuid(identity))
	for _, collection := range []map[string]any{
		c.collection(tombstonesClass, "sessctl: what was forgotten", []property{word("record_id"), word("host"), ranged("stamp"), kept("entry")}, false),
		c.collection(modelsClass, "sessctl: the models of vectors", []property{word("name"), word("record_id"), keptFigure("length")}, false),
		c.collection(namesClass, "sessctl: hosts and agents", []property{word("name"), word("kind"), keptFigure("stamp"), kept("entry"), keptFigure("doubt")}, false),
		c.collection(recordsClass, described, recordProperties(), true),
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
		Description string `json:"description"`
		Replication struct {
			Factor int `json:"factor"`
		} `json:"replicationConfig"`
		Vectors map[string]any `json:"vectorConfig"`
	}
	err := m.client.ask(ctx, question{method: http.MethodGet, path: "/v1/schema/" + m.class(recordsClass), into: &c, may404: true, local: true})
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
	m.identity, m.replicas = said[2], c.Replication.Factor
	for name := range c.Vectors {
		m.vectors[name] = true
	}
	return nil
}

// vectorName is how the vectors of a model are named.
func vectorName(fingerprint string) string {
	sum := sha256.Sum256([]byte(fingerprint))
	return "m" + hex.EncodeToString(sum[:8])
}

// addModel registers a model, and gives its vectors a name.
func (m *Memory) addModel(ctx context.Context, v memory.VectorModel) error {
	name := vectorName(v.Fingerprint)
	if v.Fingerprint == "" || m.known["model "+name] {
		return nil
	}
	const tries = 5 // two hosts may add one at the same time
	var err error
	for range tries {
		if err = m.addVectors(ctx, name); err == nil {
			break
		}
	}
	if err == nil {
		err = m.write(ctx, []stored{{Class: m.class(modelsClass), ID: objectID("model", v.Fingerprint), Properties: map[string]any{"name": v.Name, "record_id": v.Fingerprint, "length": v.Dim}}})
	}
	if err != nil {
		return fmt.Errorf("register the model of vectors: %w", err)
	}
	m.known["model "+name] = true
	return nil
}

func (m *Memory) addVectors(ctx context.Context, name string) error {
	if m.vectors[name] {
		return nil
	}
	path := "/v1/schema/" + m.class(recordsClass)
	var c map[string]any
	if err := m.client.ask(ctx, question{method: http.MethodGet, path: path, into: &c}); err != nil {
		return err
	}
	vectors, _ := c["vectorConfig"].(map[string]any)
	if vectors == nil {
		vectors = map[string]any{}
	}
	if vectors[name] == nil {
		vectors[name] = map[string]any{"vectorizer": map[string]any{"none": map[string]any{}}, "vectorIndexType": "hnsw",
			"vectorIndexConfig": map[string]any{"distance": "cosine", "flatSearchCutoff": exactBelow, "efConstruction": efConstruction, "skipDefaultQuantization": true}}
		c["vectorConfig"] = vectors
		if err := m.client.ask(ctx, question{method: http.MethodPut, path: path, body: c, slow: true}); err != nil {
			return err
		}
	}
	m.vectors[name] = true
	return nil
}

var tenantForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,56}$`) })

// tenantOf is the tenant of an agent: its name where that can be one.
func tenantOf(agent string) string {
	if tenantForm().MatchString(agent) && !strings.HasPrefix(agent, "agent-") {
		return agent
	}
	sum := sha256.Sum256([]byte(agent))
	return "agent-" + hex.EncodeToString(sum[:16])
}

// addAgents makes the tenants of agents that are new. An agent is registered
// after its tenant is there: who asks for it finds it.
func (m *Memory) addAgents(ctx context.Context, agents []string) error {
	var tenants []map[string]string
	var names []stored
	for _, agent := range agents {
		if !m.known["agent "+agent] {
			tenants = append(tenants, map[string]string{"name": tenantOf(agent)})
			names = append(names, m.name(objectID("agent", agent), noted{kind: "agent", name: agent}))
		}
	}
	if len(names) == 0 {
		return nil
	}
	err := m.client.ask(ctx, question{method: http.MethodPost, path: "/v1/schema/" + m.class(recordsClass) + "/tenants", body: tenants, slow: true})
	if err == nil {
		err = m.write(ctx, names)
	}
	if err != nil {
		return fmt.Errorf("register agents: %w", err)
	}
	for _, agent := range agents {
		m.known["agent "+agent] = true
	}
	return nil
}

// objectID is the id of an object that stands for these texts.
func objectID(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s,", len(part), part)
	}
	return uuid([16]byte(h.Sum(nil)[:16]))
}

// uuid writes 16 bytes as a UUID of version 8: its bits mean nothing to others.
func uuid(b [16]byte) string {
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	text := hex.EncodeToString(b[:])
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
}
