package openclaw

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// entry is one entry of the index (research/formats.md section 4.2).
type entry struct {
	key string

	session   string  // the session id, "" if problem says why there is none
	file      string  // base name of sessionFile, or ""
	updatedAt string  // as it is written, or ""
	updated   float64 // the same as a number, epoch milliseconds
	model     string
	window    int // tokens
	counter   session.Counter

	problem string // why the entry names no session that could be read
}

// read takes the entry's value, which the cursor stands before. A field of
// another type than it should have counts as missing.
func (e *entry) read(c *jsonl.Cursor) {
	if !c.EnterObject() {
		e.problem = "it is not an object"
		return
	}
	e.problem = "it names no session"
	for c.NextKey() {
		switch string(c.Key()) {
		case "sessionId":
			e.name(text(c.Raw()))
		case "sessionFile":
			e.file = baseName(text(c.Raw()))
		case "model":
			e.model = text(c.Raw())
		case "updatedAt":
			raw := c.Raw()
			e.updatedAt, e.updated = string(raw), number(raw)
		case "contextTokens":
			e.window = int(min(count(c.Raw()), math.MaxInt32))
		case "totalTokens":
			e.counter.Tokens = count(c.Raw())
		case "totalTokensFresh":
			e.counter.Fresh = string(c.Raw()) == "true"
		}
	}
}

// name takes the session id. Only a string that can be part of a path is one.
func (e *entry) name(id string) {
	e.session, e.problem = "", "its session id is not one that is safe in a path"
	if session.SafeID(id) {
		e.session, e.problem = id, ""
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

// text is the string that raw is, "" for anything else.
func text(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// number is the number that raw is, 0 for anything else.
func number(raw []byte) float64 {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return 0
	}
	return n
}

// count returns a whole number above 0, or 0 for anything else: null, a
// string, a fraction, a number that no counter reaches.
func count(raw []byte) int64 {
	n := number(raw)
	if n < 1 || n > 1<<53 || n != math.Trunc(n) {
		return 0
	}
	return int64(n)
}
