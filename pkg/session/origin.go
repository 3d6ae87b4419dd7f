package session

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
	"time"
)

// Origin is where a session came from that another runtime began with what was said
// elsewhere. The note of origin at its beginning tells.
type Origin struct {
	Runtime, Session string
	At               int64 // when it was carried, epoch milliseconds
}

// originStart begins every note of origin.
const originStart = "[Carried over by sessctl from "

// originForm is its first sentence: runtime, session, time.
const originForm = originStart + "%s, session %s, on %s."

// Note says to the model and to people where a session came from.
func (o Origin) Note() string {
	return fmt.Sprintf(originForm, o.Runtime, CleanID(o.Session), Stamp(o.At)) +
		" Its tools may have had other names there; results are as they were. `sessctl recall \"...\"` finds what is not here.]"
}

// OriginOf reads a note of origin; false for a text that does not begin with one.
func OriginOf(text []byte) (o Origin, ok bool) {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	rest, ok := strings.CutPrefix(string(line), originStart)
	words := strings.SplitN(rest, " ", 6)
	if !ok || len(words) < 6 || words[1] != "session" || words[3] != "on" {
		return Origin{}, false
	}
	at, err := time.Parse(stampForm, strings.TrimSuffix(words[4], "."))
	o = Origin{Runtime: strings.TrimSuffix(words[0], ","), Session: strings.TrimSuffix(words[2], ","), At: at.UnixMilli()}
	return o, err == nil && strings.HasPrefix(string(line), fmt.Sprintf(originForm, o.Runtime, o.Session, words[4][:len(words[4])-1]))
}

// CarriedFrom is an [Origin] in documents.
type CarriedFrom struct {
	Runtime string `json:"runtime"`
	Session string `json:"session"`
	At      string `json:"at"` // RFC 3339, UTC
}

// Document is the origin in documents, nil if there is none.
func (o Origin) Document() *CarriedFrom {
	if o.At == 0 {
		return nil
	}
	return &CarriedFrom{o.Runtime, o.Session, time.UnixMilli(o.At).UTC().Format(time.RFC3339)}
}

// String says it to people; "" for nil.
func (f *CarriedFrom) String() string {
	if f == nil {
		return ""
	}
	return "carried from " + f.Runtime + " " + f.Session
}

// Copies counts the sessions that begin with what is said in another one too: the
// origins are theirs, and has says which sessions are there. Of several with one origin
// that is not there one is no copy.
func Copies(origins iter.Seq[*CarriedFrom], has func(runtime, session string) bool) (n int) {
	first := map[[2]string]bool{}
	for f := range origins {
		if f == nil {
			continue
		}
		key := [2]string{f.Runtime, f.Session}
		if first[key] || has(f.Runtime, f.Session) {
			n++
		}
		first[key] = true
	}
	return n
}

// Carriage is the part of a log that was said elsewhere.
type Carriage struct {
	Origin
	Messages int   // carried ones
	End      int64 // first byte after the last of them
	WentOn   bool  // whether the session has gone on since
}

// meet looks for the note of origin before anybody has said anything, and marks what
// was carried with it: what is not later than the carrying, up to the first message
// that is.
func (c *Carriage) meet(m *Message, said bool) {
	m.Carried = false
	switch {
	case c.At == 0:
		c.WentOn = c.WentOn || said
		if !c.WentOn && m.Role != RoleSummary {
			c.Origin, _ = OriginOf(m.FirstText())
		}
	case c.WentOn || m.Role == RoleInjected || m.Role == RoleSystem:
	case m.Time > c.At:
		c.WentOn = true
	default:
		m.Carried = true
		c.Messages, c.End = c.Messages+1, max(c.End, m.Offset+m.Length)
	}
}
