package weaviate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// idsAtOnce is how many records are named in one request.
const idsAtOnce = 250

// Bury forgets records of every host: the tombstones first, so that no push
// stores again what is being removed.
func (m *Memory) Bury(ctx context.Context, host string, forgotten []memory.Forgotten) (removed int, err error) {
	if len(forgotten) == 0 {
		return 0, nil
	}
	m.countedAt = time.Time{}
	for part := range slices.Chunk(forgotten, idsAtOnce) {
		ids, err := m.writeTombstones(ctx, host, part)
		if err == nil {
			var n int
			n, err = m.drop(ctx, removal{ids: ids, at: forGood()})
			removed += n
		}
		if err != nil {
			return removed, fmt.Errorf("forget: %w", err)
		}
	}
	return removed, m.introduce(ctx, host)
}

// writeTombstones writes tombstones and looks whether every node that answers
// finds them. If one does not they are written as other objects: what a node has
// already it does not index again.
func (c *cluster) writeTombstones(ctx context.Context, host string, forgotten []memory.Forgotten) (ids []string, err error) {
	tombstones, now := make([]stored, len(forgotten)), time.Now().UnixMilli()
	for i, f := range forgotten {
		entry, err := json.Marshal(f)
		if err != nil {
			return nil, err
		}
		ids = append(ids, f.ID)
		tombstones[i] = stored{Class: c.class(tombstonesClass), ID: objectID("tombstone", f.ID), Properties: map[string]any{"record_id": f.ID, "host": remote.Storable(host), "stamp": now, "entry": string(entry)}}
	}
	for try := 0; ; try++ {
		if err := c.write(ctx, quorum, tombstones); err != nil || c.replicas == 1 || try == len(pauses) {
			return ids, err
		}
		sets, err := c.onNodes(ctx, func(ctx context.Context, node readers) (map[string]bool, error) { return node.buried(ctx, ids) })
		if err != nil || !slices.ContainsFunc(sets, func(set map[string]bool) bool { return len(set) < len(ids) }) {
			return ids, err
		}
		if err := wait(ctx, pauses[try]); err != nil { // it may be a little later than the others
			return ids, err
		}
		for i := range tombstones {
			tombstones[i].ID = objectID("tombstone", tombstones[i].ID)
		}
	}
}

// removal is which records are removed.
type removal struct {
	host string // "" for those of all hosts
	ids  []string
	// at is when, in epoch milliseconds. A copy that was stored before, on a node
	// that is away now, is removed when that node is back. With 0 it is the other
	// way round: to Weaviate such a removal is older than any copy, and the nodes
	// get the record from the one that was away (TestForgottenWhileAway).
	at int64
}

// forGood is when something is removed that nobody stores again: later than
// anything was stored, whichever clock that was by.
func forGood() int64 {
	const clockSkew = 24 * time.Hour // by which the clocks of hosts may differ
	return time.Now().Add(clockSkew).UnixMilli()
}

// drop removes records.
func (c *cluster) drop(ctx context.Context, r removal) (removed int, err error) {
	for ids := range slices.Chunk(r.ids, idsAtOnce) {
		n, err := c.dropSome(ctx, ids, r)
		if removed += n; err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// dropSome removes some of the records. Until none is left: a reply that was lost
// counts nothing.
func (c *cluster) dropSome(ctx context.Context, ids []string, r removal) (removed int, err error) {
	where := map[string]any{"path": []string{"record_id"}, "operator": "ContainsAny", "valueTextArray": ids}
	if r.host != "" {
		where = map[string]any{"operator": "And", "operands": []any{where, map[string]any{"path": []string{"host"}, "operator": "Equal", "valueText": remote.Storable(r.host)}}}
	}
	body := map[string]any{"match": map[string]any{"class": c.class(recordsClass), "where": where}, "output": "minimal"}
	if r.at != 0 {
		body["deletionTimeUnixMilli"] = r.at
	}
	for {
		var reply struct {
			Results struct{ Matches, Successful, Failed int }
		}
		err := c.client.ask(ctx, question{method: http.MethodDelete, path: "/v1/batch/objects?consistency_level=" + quorum, body: body, into: &reply, slow: true})
		if err != nil {
			return removed, err
		}
		removed += reply.Results.Successful
		if reply.Results.Failed > 0 {
			return removed, fmt.Errorf("%w: %d records could not be removed from a majority of their replicas", remote.ErrUnreachable, reply.Results.Failed)
		}
		if reply.Results.Matches < mostResults {
			return removed, nil
		}
	}
}

// Forgotten lists the tombstones if there are others than at a mark, which is their
// number: none is ever removed.
func (m *Memory) Forgotten(ctx context.Context, since string) (list []memory.Forgotten, next string, err error) {
	nodes := m.majority(ctx)
	counted, err := nodes.count(ctx, query{class: m.class(tombstonesClass)})
	if err != nil {
		return nil, "", fmt.Errorf("read what was forgotten: %w", err)
	}
	if next = strconv.Itoa(counted); next == since {
		return nil, since, nil
	}
	known := map[string]bool{}
	err = pages("", func(begin string) (whole bool, err error) {
		found, err := nodes.find(ctx, query{class: m.class(tombstonesClass), where: startsWith("record_id", begin), limit: pageSize, fields: "record_id entry _additional{id}"})
		for _, o := range found {
			var f memory.Forgotten
			if err := json.Unmarshal([]byte(o.Entry), &f); err != nil {
				return false, fmt.Errorf("%w: the entry of %s is not understood: %w", remote.ErrUnsuitable, o.RecordID, err)
			}
			if !known[f.ID] {
				known[f.ID] = true
				list = append(list, f)
			}
		}
		return len(found) < pageSize, err
	})
	if err != nil {
		return nil, "", fmt.Errorf("read what was forgotten: %w", err)
	}
	slices.SortFunc(list, func(a, b memory.Forgotten) int { return cmp.Or(cmp.Compare(a.At, b.At), strings.Compare(a.ID, b.ID)) })
	return list, next, err
}

// pageSize is how many objects are listed at once.
const pageSize = 2000

// longestID is how many digits the id of a record has at most.
const longestID = 64

// pages reads more objects than are listed at once: by the beginnings of their
// record's ids, which are hexadecimal. read reports whether there were not too many
// for it. That many with one id no sessctl has made.
func pages(begin string, read func(begin string) (whole bool, err error)) error {
	if len(begin) > longestID {
		return fmt.Errorf("%w: it lists %d objects and more for the one record %s", remote.ErrUnsuitable, pageSize, begin[:longestID])
	}
	whole, err := read(begin)
	for _, digit := range "0123456789abcdef" {
		if err != nil || whole {
			return err
		}
		err = pages(begin+string(digit), read)
	}
	return err
}
