package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"
)

// log is a session log that is being written.
type log struct {
	dialect dialect
	random  *rand.Rand
	now     time.Time
	parent  string // id of the last entry, "" for none
	fork    fork
	lines   []line
	expand  *expander
	weight  int     // characters since the log or its last compaction began
	phases  []phase // of the context's growth
}

// fork is where a branch left that will be abandoned.
type fork struct {
	parent string
	weight int
}

// line is one line of the log. The usage of an assistant's message is filled
// in when the whole log is known.
type line struct {
	record object
	usage  *usage
	raw    []byte // instead of record: a damaged line
}

// dialect is what differs between the runtimes.
type dialect struct {
	shell    string // the tool that runs commands
	openclaw bool
	cwd      string
	provider string
	api      string
	model    string
}

func newLog(d dialect, seed uint64, phases ...phase) *log {
	random := rand.New(rand.NewPCG(seed, 0x5e55c71))
	l := &log{dialect: d, random: random, phases: phases}
	l.expand = &expander{random: random, now: &l.now}
	return l
}

// id returns eight hex digits, as entries have.
func (l *log) id() string { return fmt.Sprintf("%08x", l.random.Uint32()) }

// uuid returns a random uuid of version 4.
func (l *log) uuid() string {
	a, b := l.random.Uint64(), l.random.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", a>>32, a>>16&0xFFFF, a&0xFFF, 0x8000|b>>48&0x3FFF, b&0xFFFFFFFFFFFF)
}

// token returns n characters of the alphabet of call ids.
func (l *log) token(n int) string {
	const letters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[l.random.IntN(len(letters))]
	}
	return string(b)
}

// wait lets between min and max milliseconds pass.
func (l *log) wait(minimum, maximum int) {
	l.now = l.now.Add(time.Duration(minimum+l.random.IntN(maximum-minimum)) * time.Millisecond)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// header begins the log.
func (l *log) header(id string) {
	l.lines = append(l.lines, line{record: newObject("type", "session", "version", 3, "id", id, "timestamp", stamp(l.now), "cwd", l.dialect.cwd)})
}

// entry appends a record of the tree; fields follow id, parent and time.
func (l *log) entry(kind string, fields ...any) *line {
	var parent any
	if l.parent != "" {
		parent = l.parent
	}
	id := l.id()
	o := newObject("type", kind, "id", id, "parentId", parent, "timestamp", stamp(l.now))
	l.lines = append(l.lines, line{record: append(o, newObject(fields...)...)})
	l.parent = id
	return &l.lines[len(l.lines)-1]
}

// custom appends a record of an extension: its fields come first.
func (l *log) custom(kind, customType string, fields ...any) {
	o := append(newObject("type", kind, "customType", customType), newObject(fields...)...)
	id := l.id()
	l.lines = append(l.lines, line{record: append(o, newObject("id", id, "parentId", l.parent, "timestamp", stamp(l.now))...)})
	l.parent = id
}

// bytes returns the finished log.
func (l *log) bytes() ([]byte, error) {
	settleUsage(l.lines, l.phases)
	var out bytes.Buffer
	for _, line := range l.lines {
		raw := line.raw
		if raw == nil {
			var err error
			if raw, err = encode(line.record); err != nil {
				return nil, err
			}
		}
		out.Write(raw)
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}
