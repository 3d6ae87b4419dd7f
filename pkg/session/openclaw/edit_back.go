package openclaw

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// maxReset is the longest text, in bytes, of a field that a plan remembers.
const maxReset = 2 << 10

// returning reports whether a field that a rotation resets or drops comes back
// when the rotation is reversed: the counters and the file of the session. Its
// times do not: by them the runtime would take the session for expired and
// reset it again at the next message.
func returning(key string) bool {
	return slices.Contains([]string{
		"sessionFile", "systemSent", "abortedLastRun", "inputTokens", "outputTokens", "totalTokens", "totalTokensFresh",
		"cacheRead", "cacheWrite", "estimatedCostUsd", "agentHarnessId", "memoryFlushAt", "memoryFlushCompactionCount", "status",
	}, key)
}

// beforeRotation is what an entry says, and what of it a rotation loses.
func (x *index) beforeRotation(e *entry) session.IndexEntry {
	before := e.before()
	found, err := members(x.raw)
	if err != nil {
		return before // an index that is not strict is never changed
	}
	for i, m := range found {
		if m.key == e.key && !repeatedLater(found, i) {
			before.Reset = resetFields(x.raw[m.from:m.to])
		}
	}
	return before
}

func resetFields(text []byte) string {
	found, err := members(text)
	if err != nil {
		return ""
	}
	w := objectWriter{style: style{colon: ":", comma: ","}}
	for i, m := range found {
		if returning(m.key) && !repeatedLater(found, i) && m.to-m.from <= maxReset {
			w.set(m.key, string(text[m.from:m.to]))
		}
	}
	if w.out.Len() == 0 {
		return ""
	}
	return string(w.finish())
}

// oldEntry is what an entry says when a rotation was reversed.
type oldEntry struct {
	session string
	at      time.Time
	log     string // path of the session's log
	reset   string // IndexEntry.Reset
}

// replace makes the new text of an entry: the old session's id and what was
// remembered of it, all else as it is.
func (o oldEntry) replace(old []byte) ([]byte, error) {
	found, err := members(old)
	if err != nil {
		return nil, err
	}
	values, order := o.values()
	w := objectWriter{style: styleOf(old, found)}
	for i, m := range found {
		if repeatedLater(found, i) {
			continue
		}
		value, changed := values[m.key]
		switch {
		case changed:
			w.add(string(old[m.name:m.nameEnd]), value)
			delete(values, m.key)
		case m.key != "sessionFile": // the fresh session's
			w.add(string(old[m.name:m.nameEnd]), string(old[m.from:m.to]))
		}
	}
	for _, key := range order {
		if value, left := values[key]; left {
			w.set(key, value)
		}
	}
	return w.finish(), nil
}

// values are the fields that are set, and their order. A file that is not this
// session's log is left out: the runtime finds the log by the id.
func (o oldEntry) values() (values map[string]string, order []string) {
	values = map[string]string{
		"sessionId": strconv.Quote(o.session), // safe ids need no escapes
		"updatedAt": strconv.FormatInt(o.at.UnixMilli(), 10),
	}
	order = []string{"sessionId", "updatedAt"}
	reset := []byte(o.reset)
	if !json.Valid(reset) {
		return values, order
	}
	found, err := members(reset)
	if err != nil {
		return values, order
	}
	for _, m := range found {
		value := string(reset[m.from:m.to])
		if !returning(m.key) || m.key == "sessionFile" && baseName(text([]byte(value))) != baseName(o.log) {
			continue
		}
		values[m.key] = value
		order = append(order, m.key)
	}
	return values, order
}
