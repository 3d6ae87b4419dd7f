package openclaw

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// entry is one entry of the index (research/formats.md section 4.2).
type entry struct {
	key      string
	from, to int // its value in the index's text

	session   string  // the session id, "" if problem says why there is none
	file      string  // base name of sessionFile, or ""
	updatedAt string  // as it is written, or ""
	updated   float64 // the same as a number, epoch milliseconds
	model     string
	window    int // tokens
	counter   session.Counter

	problem string // why the entry names no session that could be read
}

func newEntry(key string, raw []byte, from, to int) *entry {
	e := &entry{key: key, from: from, to: to}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw[from:to], &fields) != nil || fields == nil {
		e.problem = "it is not an object"
		return e
	}
	e.name(fields)
	e.file = baseName(text(fields["sessionFile"]))
	e.model = text(fields["model"])
	e.updatedAt = string(fields["updatedAt"])
	e.updated = number(fields["updatedAt"])
	e.window = int(min(count(fields["contextTokens"]), math.MaxInt32))
	e.counter = session.Counter{
		Tokens: count(fields["totalTokens"]),
		Fresh:  string(fields["totalTokensFresh"]) == "true",
	}
	return e
}

// name takes the session id. Only a string that can be part of a path is one.
func (e *entry) name(fields map[string]json.RawMessage) {
	id := text(fields["sessionId"])
	switch {
	case fields["sessionId"] == nil:
		e.problem = "it names no session"
	case !session.SafeID(id):
		e.problem = "its session id is not one that is safe in a path"
	default:
		e.session = id
	}
}

// before is what the entry says, for the plan of a rotation.
func (e *entry) before() session.IndexEntry {
	return session.IndexEntry{Key: e.key, Session: e.session, UpdatedAt: e.updatedAt}
}

// log returns the name of the file that the entry means, "" if it is not among
// the open logs. Of a path in sessionFile only the base name counts, joined to
// the directory that is read: the index may come from another machine
// (research/pitfalls.md 55).
func (e *entry) log(all *logs) string {
	if e.session == "" {
		return ""
	}
	if all.byName[e.file].open() {
		return e.file
	}
	if name := all.topics[thread{e.session, e.topic()}]; name != "" {
		return name
	}
	if name := e.session + logEnd; all.byName[name].open() {
		return name
	}
	return all.forks[e.session]
}

// topic returns the thread that the key ends in, as file names have it.
func (e *entry) topic() string {
	for _, mark := range []string{":topic:", ":thread:"} {
		if i := strings.LastIndex(e.key, mark); i >= 0 {
			return strings.ReplaceAll(e.key[i+len(mark):], ":", "%3A")
		}
	}
	return ""
}

// baseName is the last part of a path of any system.
func baseName(path string) string {
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func number(raw json.RawMessage) float64 {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return 0
	}
	return n
}

// count returns a whole number above 0, or 0 for anything else: null, a
// string, a fraction, a number that no counter reaches.
func count(raw json.RawMessage) int64 {
	n := number(raw)
	if n < 1 || n > 1<<53 || n != math.Trunc(n) {
		return 0
	}
	return int64(n)
}
