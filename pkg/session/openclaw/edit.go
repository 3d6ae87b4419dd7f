package openclaw

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// freshEntry is what an entry says from now on.
type freshEntry struct {
	session string
	at      time.Time
}

// rotated returns the text of the index in which the entries of keys name a
// fresh session. Every byte outside of those entries' values stays as it is.
func (x *index) rotated(keys []string, fresh freshEntry) ([]byte, error) {
	return x.edited(keys, func(_ string, old []byte) ([]byte, error) { return fresh.replace(old) })
}

// edited returns the text of the index with new values for the entries of
// keys. Every byte outside of those values stays as it is.
func (x *index) edited(keys []string, replace func(key string, old []byte) ([]byte, error)) ([]byte, error) {
	if !x.strict() {
		return nil, ErrIndex
	}
	found, err := members(x.raw)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	end := 0
	for i, m := range found {
		if !slices.Contains(keys, m.key) || repeatedLater(found, i) {
			continue
		}
		value, err := replace(m.key, x.raw[m.from:m.to])
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", m.key, err)
		}
		out.Write(x.raw[end:m.from])
		out.Write(value)
		end = m.to
	}
	out.Write(x.raw[end:])
	if !json.Valid(out.Bytes()) {
		return nil, errors.New("the edited index would not be JSON")
	}
	return out.Bytes(), nil
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
// session, where its answers go, and what it was made from. Losing one of
// these is visible to the user; everything else describes the old session
// (research/formats.md sections 4.2 and 4.5, research/real-runtimes.md
// section 4, "7.1 reset").
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

// newSessionID returns a random UUID (version 4), as the runtime makes them.
func newSessionID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, by its documentation
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
