package openclaw

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// errIndex is returned, wrapped, when sessions.json cannot be read as an index
// that may be changed. The runtime would take it for an empty one.
var errIndex = errors.New(session.ReasonUnreadIndex.Text())

// An index that cannot be read is read again: the runtime may be replacing it.
const (
	indexTries = 3
	indexWait  = 50 * time.Millisecond
	// maxIndex is the size in bytes above which an index is not read: a
	// hundred times the largest that is known.
	maxIndex = 256 << 20
)

// index is the content of a sessions.json.
type index struct {
	raw     []byte
	entries []*entry // of entries with the same key the last
	info    os.FileInfo
	// unchangeable says why the index may be read but not changed, "" if it
	// may be changed.
	unchangeable string
}

// readIndex reads the index of a directory. The error wraps errIndex; if
// there is no index, also fs.ErrNotExist.
func (d *directory) readIndex(ctx context.Context) (*index, error) {
	for try := 0; ; try++ {
		x, err := d.readIndexFile(indexName)
		if err == nil {
			return x, nil
		}
		if errors.Is(err, fs.ErrNotExist) || try == indexTries {
			return nil, fmt.Errorf("%w: %w", errIndex, err)
		}
		if err := d.pause(ctx, indexWait); err != nil {
			return nil, err
		}
	}
}

// readIndexFile reads an index by the name of its file.
func (d *directory) readIndexFile(name string) (*index, error) {
	f, err := durable.OpenRegularIn(d.Root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxIndex {
		return nil, fmt.Errorf("it has %d bytes", info.Size())
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxIndex))
	if err != nil {
		return nil, err
	}
	x, err := parseIndex(raw)
	if err != nil {
		return nil, err
	}
	x.info = info
	if durable.Identify(info).Links > 1 {
		x.unchangeable = session.ReasonLinkedIndex.Text()
	}
	return x, nil
}

// parseIndex reads the text of an index. It looks only at what it needs; that
// the rest is JSON too is checked before anything is changed ([index.strict]).
func parseIndex(raw []byte) (*index, error) {
	x := &index{raw: raw}
	text, marked := bytes.CutPrefix(raw, []byte("\xEF\xBB\xBF"))
	if marked {
		x.unchangeable = session.ReasonMarkedIndex.Text()
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("it is empty")
	}
	var c jsonl.Cursor
	c.Reset(text)
	if c.Kind() != jsonl.Object {
		return nil, errors.New("it is not one JSON object")
	}
	byKey := make(map[string]int)
	c.EnterObject()
	for c.NextKey() {
		e := &entry{key: string(c.Key())}
		e.read(&c)
		x.add(e, byKey)
	}
	if err := c.End(); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	return x, nil
}

// add takes an entry in. Of several with the same key the runtime sees only
// the last.
func (x *index) add(e *entry, byKey map[string]int) {
	if i, ok := byKey[e.key]; ok {
		x.entries[i] = e
		return
	}
	byKey[e.key] = len(x.entries)
	x.entries = append(x.entries, e)
}

// strict reports whether the whole index is JSON as the runtime reads it.
func (x *index) strict() bool { return json.Valid(x.raw) }

// firstTurn is how long the first turn of a session may take: its log is made with the
// answer.
const firstTurn = 24 * time.Hour

// withoutLogs are the entries that have no log, nor a closed one: gone are those whose
// sessions have said something. Of those that are untold the index says neither that
// nor that they have not begun, which it does of one that a reset has made.
func (x *index) withoutLogs(all *logs, now time.Time) (gone, untold []*entry) {
	kept := map[string]bool{}
	for _, n := range all.byName {
		kept[n.session] = true
	}
	for _, e := range x.entries {
		switch {
		case e.session == "" || kept[e.session] || e.log(all) != "":
		case e.counter.Tokens > 0:
			gone = append(gone, e)
		case !e.unbegun && now.Sub(time.UnixMilli(int64(e.updated))) > firstTurn:
			untold = append(untold, e)
		}
	}
	return gone, untold
}

// entry returns the entry of a key, or nil.
func (x *index) entry(key string) *entry {
	for _, e := range x.entries {
		if e.key == key {
			return e
		}
	}
	return nil
}

// entry is one entry of the index (docs/dev/formats.md, "openclaw").
type entry struct {
	key string

	session   string  // the session id, "" if problem says why there is none
	file      string  // base name of sessionFile, or ""
	updatedAt string  // as it is written, or ""
	updated   float64 // the same as a number, epoch milliseconds
	model     string
	window    int // tokens
	counter   session.Counter
	unbegun   bool // it says that nothing was said yet

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
			e.unbegun = e.unbegun || e.counter.Tokens == 0
		case "systemSent":
			e.unbegun = e.unbegun || string(c.Raw()) == "false"
		case "totalTokensFresh":
			e.counter.Fresh = string(c.Raw()) == "true"
		}
	}
}

// name takes the session id. Only a string that can be part of a path is one.
func (e *entry) name(id string) {
	e.session, e.problem = "", "its session id has characters that are not safe in a path"
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
// the directory that is read: the index may come from another machine.
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

// member is one member of a JSON object, by its place in the text.
type member struct {
	key      string
	name     int // where the key's quotation mark is
	nameEnd  int
	from, to int // the value
}

// members returns the members of the JSON object that text is, in order,
// repeated keys included. The text must be valid JSON.
func members(text []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.Join(errors.New("not a JSON object"), err)
	}
	var found []member
	for dec.More() {
		m, err := nextMember(dec, text)
		if err != nil {
			return nil, err
		}
		found = append(found, m)
	}
	_, err := dec.Token()
	return found, err
}

func nextMember(dec *json.Decoder, text []byte) (member, error) {
	before := int(dec.InputOffset())
	token, err := dec.Token()
	if err != nil {
		return member{}, err
	}
	key, _ := token.(string)
	m := member{key: key, nameEnd: int(dec.InputOffset())}
	m.name = before + bytes.IndexByte(text[before:m.nameEnd], '"')
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil {
		return member{}, err
	}
	m.to = int(dec.InputOffset())
	m.from = m.to - len(value)
	return m, nil
}

// freshEntry is what an entry says from now on.
type freshEntry struct {
	session string
	at      time.Time
}

// edited returns the text of the index with new values for the entries of
// keys. Every byte outside of those values stays as it is.
func (x *index) edited(keys []string, replace func(key string, old []byte) ([]byte, error)) ([]byte, error) {
	if !x.strict() {
		return nil, errIndex
	}
	found, err := members(x.raw)
	if err != nil {
		return nil, err
	}
	changed := indexChanges{values: map[string][]byte{}}
	for i, m := range found {
		if !slices.Contains(keys, m.key) || repeatedLater(found, i) {
			continue
		}
		value, err := replace(m.key, x.raw[m.from:m.to])
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", m.key, err)
		}
		changed.set(m.key, value)
	}
	return changed.apply(x.raw)
}

// replace makes the new text of an entry: what the runtime's own reset sets,
// and what it keeps of the old entry, each value as it was written.
func (f freshEntry) replace(old []byte) ([]byte, error) {
	found, err := members(old)
	if err != nil {
		return nil, err
	}
	w := objectWriter{style: styleOf(old, found)}
	w.set("sessionId", strconv.Quote(f.session)) // a UUID: no escapes
	w.set("updatedAt", strconv.FormatInt(f.at.UnixMilli(), 10))
	w.set("systemSent", "false")
	w.set("abortedLastRun", "false")
	for i, m := range found {
		if kept(m.key) && !repeatedLater(found, i) {
			w.add(string(old[m.name:m.nameEnd]), string(old[m.from:m.to]))
		}
	}
	for _, counter := range []string{"inputTokens", "outputTokens", "totalTokens"} {
		w.set(counter, "0")
	}
	w.set("totalTokensFresh", "true")
	return w.finish(), nil
}

// repeatedLater reports whether a key comes again: the last one counts.
func repeatedLater(found []member, i int) bool {
	return slices.ContainsFunc(found[i+1:], func(m member) bool { return m.key == found[i].key })
}

// kept reports whether a reset keeps a field: the user's settings for this
// session, where its answers go, and what it was made from. Losing one of these
// is visible to the user; everything else describes the old session
// (docs/dev/formats.md, "openclaw").
func kept(key string) bool {
	switch key {
	case "model", "modelProvider", "label", "displayName", "thinkingLevel", "verboseLevel", "reasoningLevel",
		"elevatedLevel", "responseUsage", "sendPolicy", "origin", "deliveryContext", "channel", "chatType",
		"groupId", "groupChannel", "groupActivation", "subject", "space", "skillsSnapshot", "contextTokens",
		"subagentRole", "compactionCount", "compactionCheckpoints":
		return true
	}
	if strings.Contains(key, "Override") {
		return true
	}
	for _, prefix := range []string{"queue", "exec", "tts", "spawn", "spawned", "last"} {
		if rest, ok := strings.CutPrefix(key, prefix); ok && startsUpper(rest) {
			// lastInteractionAt and the like are times of the old session:
			// the runtime would take the fresh one for expired by them.
			return prefix != "last" || !strings.HasSuffix(key, "At")
		}
	}
	return false
}

// startsUpper tells "queueMode" from "queued".
func startsUpper(rest string) bool { return rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' }

// style is the white space between the parts of an object's text.
type style struct{ open, colon, comma, end string }

// styleOf takes the style of an object, so that an edited entry looks like the
// others. What an object is too small to show is as JSON.stringify has it.
func styleOf(old []byte, found []member) style {
	s := style{colon: ": ", comma: ", "}
	if len(found) == 0 {
		return s
	}
	first, last := found[0], found[len(found)-1]
	s.open, s.end = string(old[1:first.name]), string(old[last.to:len(old)-1])
	s.colon = string(old[first.nameEnd:first.from])
	if s.open != "" {
		s.comma = "," + s.open
	} else if s.colon == ":" {
		s.comma = ","
	}
	if len(found) > 1 {
		s.comma = string(old[first.to:found[1].name])
	}
	return s
}

// objectWriter writes an object in a style.
type objectWriter struct {
	style style
	out   bytes.Buffer
}

// set adds a member with a plain name.
func (w *objectWriter) set(name, value string) { w.add(`"`+name+`"`, value) }

// add adds a member by the texts of its name and value.
func (w *objectWriter) add(name, value string) {
	if w.out.Len() == 0 {
		w.out.WriteString("{" + w.style.open)
	} else {
		w.out.WriteString(w.style.comma)
	}
	w.out.WriteString(name + w.style.colon + value)
}

func (w *objectWriter) finish() []byte {
	w.out.WriteString(w.style.end + "}")
	return w.out.Bytes()
}

// maxReset is the longest text, in bytes, of a field that a plan remembers: a
// hundred times the longest that was seen.
const maxReset = 256 << 10

// beforeRotation is what an entry says, with all that a rotation of it may
// lose: the gateway's own reset keeps other fields than [kept] does.
func (x *index) beforeRotation(e *entry) session.IndexEntry {
	before := e.before()
	found, err := members(x.raw)
	if err != nil {
		return before // an index that is not strict is never changed
	}
	for i, m := range found {
		if m.key == e.key && !repeatedLater(found, i) {
			before.Reset, before.Complete = resetFields(x.raw[m.from:m.to])
		}
	}
	return before
}

// resetFields are the fields of an entry but those by which it names its
// session; complete is false where one was too long to be remembered.
func resetFields(text []byte) (fields string, complete bool) {
	found, err := members(text)
	if err != nil {
		return "", false
	}
	complete = true
	w := objectWriter{style: style{colon: ":", comma: ","}}
	for i, m := range found {
		switch {
		case repeatedLater(found, i), names(m.key):
		case m.to-m.from > maxReset:
			complete = false
		default:
			w.add(string(text[m.name:m.nameEnd]), string(text[m.from:m.to]))
		}
	}
	if w.out.Len() == 0 {
		return "", complete
	}
	return string(w.finish()), complete
}

// names reports whether a field says which session an entry names, and since
// when.
func names(key string) bool { return key == "sessionId" || key == "updatedAt" }

// oldEntry is what an entry says when a rotation was reversed.
type oldEntry struct {
	session  string
	at       time.Time
	log      string // path of the session's log
	reset    string // IndexEntry.Reset
	complete bool   // IndexEntry.Complete
}

// replace makes the new text of an entry: the old session's id and every field
// as it was. Of the fields that a reset keeps, the user's settings and the
// session's routing, those that the entry has now stay: they may have been
// changed since. Every other field that it has now is of the fresh session and
// goes, unless what was remembered is not complete.
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
		value, was := values[m.key]
		switch name := string(old[m.name:m.nameEnd]); {
		case kept(m.key):
			w.add(name, string(old[m.from:m.to]))
		case was:
			w.add(name, value.text)
		case !o.complete && m.key != "sessionFile": // which is the fresh session's
			w.add(name, string(old[m.from:m.to]))
		}
		delete(values, m.key)
	}
	for _, key := range order {
		if value, left := values[key]; left {
			w.add(value.name, value.text)
		}
	}
	return w.finish(), nil
}

// oldField is a field of an entry as it was written.
type oldField struct{ name, text string }

// values are the fields that come back, and their order. A file that is not
// this session's log is left out: the runtime finds the log by the id.
func (o oldEntry) values() (values map[string]oldField, order []string) {
	values = map[string]oldField{
		"sessionId": {`"sessionId"`, strconv.Quote(o.session)}, // safe ids need no escapes
		"updatedAt": {`"updatedAt"`, strconv.FormatInt(o.at.UnixMilli(), 10)},
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
		raw := reset[m.from:m.to]
		if names(m.key) || m.key == "sessionFile" && baseName(text(raw)) != baseName(o.log) {
			continue
		}
		values[m.key] = oldField{string(reset[m.name:m.nameEnd]), string(raw)}
		order = append(order, m.key)
	}
	return values, order
}
