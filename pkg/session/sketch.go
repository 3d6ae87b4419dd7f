package session

import (
	"bytes"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// sketch is what detection needs to know of one JSON object.
type sketch struct {
	members     int
	sessions    int // members that are objects with a sessionId
	keys        uint64
	kind        string // the value of "type"
	role        string
	openClaw    bool // a customType or a cwd that only OpenClaw writes
	resetMeta   bool // "kind" is mac-stats' mark
	stateRecord bool // "record_type" is Codex' mark
}

// Bits of sketch.keys.
const (
	hasType = 1 << iota
	hasStringID
	hasID
	hasTimestamp
	hasInstructions
	hasParentID
	hasMessageRole
	hasRole
	hasContent
	hasChatID
	hasRecordType
	hasSchemaVersion
	hasSeq
	hasPayload
	hasTraceSchema
	hasSessionID
	hasProjectHash
	hasStartTime
	hasLastUpdated
	hasSnakeSessionID
	hasSequenceNumber
	hasUUID
	hasLeafUUID
	hasMessages
	hasSession
	hasItems
	hasPID
	hasCreatedAt
)

func (s *sketch) has(keys uint64) bool { return s.keys&keys == keys }

// plainKeys are the keys whose presence alone tells something.
var plainKeys = map[string]uint64{
	"timestamp": hasTimestamp, "instructions": hasInstructions, "parentId": hasParentID,
	"content": hasContent, "chatId": hasChatID, "recordType": hasRecordType, "schemaVersion": hasSchemaVersion,
	"seq": hasSeq, "payload": hasPayload, "traceSchema": hasTraceSchema, "sessionId": hasSessionID,
	"projectHash": hasProjectHash, "startTime": hasStartTime, "lastUpdated": hasLastUpdated,
	"session_id": hasSnakeSessionID, "sequence_number": hasSequenceNumber, "uuid": hasUUID,
	"leafUuid": hasLeafUUID, "messages": hasMessages, "session": hasSession, "items": hasItems,
	"pid": hasPID, "createdAt": hasCreatedAt,
}

// sketch draws one JSON object. whole is false if text is anything else or
// ends too early; what was seen until then is returned all the same.
func (d *detector) sketch(text []byte) (s sketch, whole bool) {
	c := &d.cursor
	c.Reset(text)
	if c.Kind() != jsonl.Object {
		return sketch{}, false
	}
	c.EnterObject()
	for c.NextKey() {
		s.members++
		s.member(c)
	}
	return s, c.End() == nil
}

func (s *sketch) member(c *jsonl.Cursor) {
	key := string(c.Key())
	s.keys |= plainKeys[key]
	switch key {
	case "type":
		s.keys |= hasType
		s.kind = text(c)
	case "role":
		s.keys |= hasRole
		s.role = text(c)
	case "id":
		s.keys |= hasID
		if c.Kind() == jsonl.String {
			s.keys |= hasStringID
		}
	case "customType":
		s.openClaw = s.openClaw || isOpenClawType(text(c))
	case "cwd":
		s.openClaw = s.openClaw || isOpenClawWorkspace(text(c))
	case "kind":
		s.resetMeta = text(c) == "before_reset_meta"
	case "record_type":
		s.stateRecord = text(c) == "state"
	default:
		s.object(c, key == "message")
	}
}

// object looks one level into a member that is an object.
func (s *sketch) object(c *jsonl.Cursor, message bool) {
	if c.Kind() != jsonl.Object {
		return
	}
	c.EnterObject()
	session := false
	for c.NextKey() {
		session = session || string(c.Key()) == "sessionId"
		if message && string(c.Key()) == "role" {
			s.keys |= hasMessageRole
		}
	}
	if session {
		s.sessions++
	}
}

// text returns a short string value, "" if it is anything else.
func text(c *jsonl.Cursor) string {
	b, _ := c.Bytes()
	return string(b[:min(len(b), 4096)])
}

func isOpenClawType(customType string) bool {
	return hasAnyPrefix([]byte(customType), "model-snapshot", "openclaw", "clawdbot")
}

func isOpenClawWorkspace(cwd string) bool {
	return bytes.HasSuffix(bytes.ReplaceAll([]byte(cwd), []byte(`\`), []byte("/")), []byte(".openclaw/workspace"))
}

func hasAnyPrefix(b []byte, prefixes ...string) bool {
	for _, prefix := range prefixes {
		if bytes.HasPrefix(b, []byte(prefix)) {
			return true
		}
	}
	return false
}
