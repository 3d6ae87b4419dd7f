package session

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// How many records of the head are looked at.
const (
	headRecords  = 200 // at all
	firstRecords = 20  // for what opens a log
	markRecords  = 50  // for OpenClaw's marks in a log of the pi family
)

// Detect says what a file is by the first up to [HeadSize] bytes of its
// decompressed content. The path decides only where content cannot: OpenClaw
// transcripts without any mark of OpenClaw are told from pi's by their
// directory, and an index by its name. The rules and their order are those of
// docs/dev/formats.md, "Telling formats apart".
func Detect(filePath string, head []byte) Format {
	filePath = strings.ReplaceAll(filePath, `\`, "/")
	if f := detectBytes(head); f != "" {
		return f
	}
	head = bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF"))
	if f := detectMarkdown(filePath, head); f != "" {
		return f
	}
	d := detector{path: filePath}
	if f := d.array(head); f != "" {
		return f
	}
	if f := d.document(head); f != "" {
		return f
	}
	d.lines(head)
	for _, rule := range []func(*detector) Format{
		(*detector).unread, (*detector).opening, (*detector).claude, (*detector).fragment, (*detector).generic,
	} {
		if f := rule(&d); f != "" {
			return f
		}
	}
	return FormatUnknown
}

func detectBytes(head []byte) Format {
	switch {
	case bytes.HasPrefix(head, []byte("SQLite format 3\x00")):
		return FormatSQLite
	case bytes.HasPrefix(head, []byte("\xFF\xFE")), bytes.HasPrefix(head, []byte("\xFE\xFF")):
		return FormatUTF16
	case len(trimBlank(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")))) == 0:
		return FormatEmpty
	}
	return ""
}

// trimBlank removes white space and the NULs of a crash from both ends.
func trimBlank(b []byte) []byte { return bytes.Trim(b, "\x00\t\r\n ") }

var macStatsName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^session-memory-.*\.md$`) })

func detectMarkdown(filePath string, head []byte) Format {
	first := trimBlank(head)
	structured := bytes.HasPrefix(first, []byte("{")) || bytes.HasPrefix(first, []byte("["))
	if bytes.HasPrefix(first, []byte("## User")) || bytes.HasPrefix(first, []byte("## Assistant")) ||
		!structured && macStatsName().MatchString(path.Base(filePath)) {
		return FormatMacStats
	}
	return ""
}

// detector holds what the first records of a file look like.
type detector struct {
	path    string
	cursor  jsonl.Cursor
	records []sketch
}

// document recognises a file that is one JSON object. A head that is cut off
// counts as far as it goes.
func (d *detector) document(head []byte) Format {
	s, whole := d.sketch(head)
	if !whole && !d.cutDocument(head) {
		return ""
	}
	oneLine := !bytes.Contains(trimBlank(head), []byte("\n"))
	if oneLine && s.has(hasType) {
		return ""
	}
	switch {
	case s.has(hasATIF):
		return FormatATIF
	case s.has(hasSessionID | hasHistory | hasWorkspaceDirectory):
		return FormatContinue
	case s.has(hasMessages | hasSnakeUpdatedAt):
		return FormatCline
	case s.has(hasMessages | hasSnakeSessionID):
		return FormatHermes
	case s.exchanged != "":
		return s.exchanged
	case s.has(hasMessages) && (s.has(hasProjectHash) || s.has(hasSessionID)):
		return FormatGeminiJSON
	case s.has(hasSession) && s.has(hasItems):
		return FormatCodexJSON
	case s.members > 0 && (strings.HasPrefix(path.Base(d.path), "sessions.json") || 2*s.sessions > s.members):
		return d.indexOrLock(s)
	case s.has(hasPID) && s.has(hasCreatedAt):
		return FormatOpenClawLock
	}
	return ""
}

// array recognises a file that is one JSON array of messages.
func (d *detector) array(head []byte) Format {
	inside, isArray := bytes.CutPrefix(trimBlank(head), []byte("["))
	if !isArray {
		return ""
	}
	var lines LineScan
	var found Format
	first := func(r *jsonl.Record) (bool, error) {
		switch s, whole := d.sketch(r.Raw); {
		case whole && s.exchanged != "":
			found = s.exchanged
		case whole && s.has(hasContent|hasRole):
			found = FormatClineTask
		}
		return false, errFirstOfArray
	}
	_ = lines.RunArray(context.Background(), bufio.NewReader(io.MultiReader(strings.NewReader("["), bytes.NewReader(inside))), nil, first)
	return found
}

var errFirstOfArray = errors.New("the first element of an array")

// cutDocument reports whether head is the beginning of one JSON object: a
// full head whose first line is not a whole record.
func (d *detector) cutDocument(head []byte) bool {
	if len(head) < HeadSize {
		return false
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	_, whole := d.sketch(line)
	return !whole
}

// indexOrLock keeps "sessions.json.lock" from being an index by its name.
func (d *detector) indexOrLock(s sketch) Format {
	if s.has(hasPID) && s.has(hasCreatedAt) && s.sessions == 0 {
		return FormatOpenClawLock
	}
	return FormatOpenClawIndex
}

// lines reads the first records. A line that is not one JSON object is passed
// over, except the last one of a head that is cut off.
func (d *detector) lines(head []byte) {
	cut := len(head) >= HeadSize
	for seen := 0; len(head) > 0 && seen < headRecords; {
		line, rest, ended := bytes.Cut(head, []byte("\n"))
		head = rest
		if line = trimBlank(line); len(line) == 0 {
			continue
		}
		seen++
		if s, whole := d.sketch(line); whole || (cut && !ended && s.members > 0) {
			d.records = append(d.records, s)
		}
	}
}

func (d *detector) first(n int) []sketch { return d.records[:min(n, len(d.records))] }

// unread recognises the logs of programs that are not read by a record that stands at
// their beginning, before the weaker marks of others are looked for.
func (d *detector) unread() Format {
	for _, s := range d.first(firstRecords) {
		switch {
		case s.has(hasATIF):
			return FormatATIF
		case s.exchanged != "" && s.kind == "":
			return s.exchanged
		case s.kind == "session_start" && s.has(hasStringID) && (s.has(hasCWD) || s.has(hasOwner)):
			return FormatDroid
		case s.kind == "metadata" && s.has(hasProtocolVersion), s.role == "_system_prompt" || s.role == "_checkpoint":
			return FormatKimi
		case s.has(hasStepIndex | hasSource | hasType | hasStatus), s.has(hasDisplay | hasTimestamp | hasConversationID):
			return FormatAntigravity
		case s.update:
			return FormatGrok
		case s.kind == "session" && s.has(hasHarness):
			return FormatTrace
		}
	}
	return ""
}

// opening recognises a log by a record that stands at its beginning.
func (d *detector) opening() Format {
	for _, s := range d.first(firstRecords) {
		if f := d.openedBy(s); f != "" {
			return f
		}
	}
	return ""
}

func (d *detector) openedBy(s sketch) Format {
	switch {
	case s.kind == "session" && s.has(hasStringID):
		return d.piFamily(s)
	case s.kind == "title" && s.has(hasUpdatedAt|hasPad):
		return FormatOMP
	case s.has(hasSessionID|hasUUID) && (s.has(hasProvenance) || s.has(hasMessageParts)):
		return FormatQwen
	case s.kind == "opencode.session":
		return FormatOpenCode
	case copilotTypes[s.kind] && s.has(hasStringID|hasTimestamp|hasParentID):
		return FormatCopilot
	case s.kind == "cline.left":
		return FormatCline
	case s.kind == "hermes.session":
		return FormatHermes
	case s.kind == "goose.session":
		return FormatGoose
	case s.kind == "header" && s.has(hasChatID):
		return FormatAnnabelle
	case s.has(hasRecordType | hasSchemaVersion | hasSeq):
		return FormatAgent
	case codexTypes[s.kind] && s.has(hasPayload):
		return FormatCodex
	case s.has(hasDisplay|hasTimestamp|hasProject) && !s.has(hasType):
		return FormatClaudeHistory
	case s.has(hasTraceSchema):
		return FormatTrajectory
	case s.has(hasSessionID | hasProjectHash), s.has(hasSessionID | hasStartTime | hasLastUpdated):
		return FormatGemini
	case s.resetMeta:
		return FormatMacStatsReset
	case s.has(hasSnakeSessionID | hasRole | hasSequenceNumber):
		return FormatYarnnn
	case s.has(hasID|hasTimestamp|hasInstructions) && !s.has(hasType), s.stateRecord:
		return FormatCodexBare
	}
	return ""
}

var openClawDirectory = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|/)agents/[^/]+/(sessions|session-sqlite-import-archive)/`)
})

func (d *detector) piFamily(header sketch) Format {
	if header.openClaw || openClawDirectory().MatchString(d.path) {
		return FormatOpenClaw
	}
	for _, s := range d.first(markRecords) {
		if (s.kind == "custom" || s.kind == "custom_message") && s.openClaw {
			return FormatOpenClaw
		}
	}
	return FormatPi
}

// claude looks further than opening: the first lines of a Claude Code log may
// be records that name no session.
func (d *detector) claude() Format {
	for _, s := range d.records {
		if s.has(hasSessionID) && (s.has(hasUUID) || s.has(hasLeafUUID) || claudeTypes[s.kind]) ||
			s.kind == "summary" && s.has(hasLeafUUID) {
			return FormatClaude
		}
	}
	return ""
}

func (d *detector) fragment() Format {
	for _, s := range d.records {
		if s.kind == "message" && s.has(hasParentID|hasMessageRole) {
			return FormatFragment
		}
	}
	return ""
}

func (d *detector) generic() Format {
	user, assistant := false, false
	for _, s := range d.records {
		if s.has(hasRole|hasMessageContent) && !s.has(hasUUID) && !s.has(hasStringID) && !s.has(hasParentID) {
			return FormatCursor
		}
		user = user || s.has(hasContent) && s.role == "user"
		assistant = assistant || s.has(hasContent) && s.role == "assistant"
	}
	if user && assistant {
		return FormatGenericChat
	}
	return ""
}

// codexTypes are the record types of Codex (docs/dev/formats.md, "codex").
var codexTypes = map[string]bool{
	"session_meta": true, "response_item": true, "event_msg": true, "turn_context": true, "compacted": true,
	"world_state": true, "inter_agent_communication": true, "inter_agent_communication_metadata": true,
}

// copilotTypes are record types of Copilot CLI (docs/dev/formats.md, "copilot"): that
// of the first record, and those that a log without it begins with.
var copilotTypes = map[string]bool{"session.start": true, "user.message": true, "assistant.message": true, "assistant.turn_start": true}

// claudeTypes are the record types of Claude Code (docs/dev/formats.md, "claude").
var claudeTypes = map[string]bool{
	"user": true, "assistant": true, "system": true, "summary": true, "attachment": true, "progress": true,
	"queue-operation": true, "file-history-snapshot": true, "permission-mode": true, "mode": true,
	"agent-name": true, "custom-title": true, "ai-title": true, "last-prompt": true, "frame-link": true,
	"pr-link": true, "started": true, "result": true, "relocated": true, "worktree-state": true, "bridge-session": true,
}

// sketch is what detection needs to know of one JSON object.
type sketch struct {
	members     int
	sessions    int // members that are objects with a sessionId
	keys        uint64
	kind        string // the value of "type"
	role        string
	openClaw    bool   // a customType or a cwd that only OpenClaw writes
	resetMeta   bool   // "kind" is mac-stats' mark
	stateRecord bool   // "record_type" is Codex' mark
	update      bool   // "method" is that of an update of a session
	exchanged   Format // of a conversation that is handed on, if it is one
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
	hasUpdatedAt
	hasPad
	hasProvenance
	hasMessageParts
	hasSnakeUpdatedAt
	hasDisplay
	hasMessageContent
	hasProject
	hasATIF
	hasHistory
	hasWorkspaceDirectory
	hasCWD
	hasOwner
	hasProtocolVersion
	hasStepIndex
	hasSource
	hasStatus
	hasHarness
	hasConversationID
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
	"pid": hasPID, "createdAt": hasCreatedAt, "updatedAt": hasUpdatedAt, "pad": hasPad, "provenance": hasProvenance,
	"updated_at": hasSnakeUpdatedAt, "display": hasDisplay, "project": hasProject,
	"history": hasHistory, "workspaceDirectory": hasWorkspaceDirectory, "owner": hasOwner, "protocol_version": hasProtocolVersion,
	"step_index": hasStepIndex, "source": hasSource, "status": hasStatus, "harness": hasHarness, "conversationId": hasConversationID,
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
	case "schema_version":
		if strings.HasPrefix(text(c), "ATIF-v") {
			s.keys |= hasATIF
		}
	case "method":
		s.update = strings.HasSuffix(text(c), "session/update")
	case "cwd":
		s.keys |= hasCWD
		s.openClaw = s.openClaw || isOpenClawWorkspace(text(c))
	case "kind":
		s.resetMeta = text(c) == "before_reset_meta"
	case "record_type":
		s.stateRecord = text(c) == "state"
	case "messages", "input", "conversations":
		s.list(c, key)
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
		if message && string(c.Key()) == "content" {
			s.keys |= hasMessageContent
		}
		if message && string(c.Key()) == "parts" {
			s.keys |= hasMessageParts
		}
	}
	if session {
		s.sessions++
	}
}

// handedOn are the lists in which conversations are handed on: of which members the
// first message of one has so many. One with an id or a time is of a program's own log.
var handedOn = map[string]struct {
	format Format
	has    []string
	least  int
}{
	"messages":      {FormatChat, []string{"role", "content"}, 2},
	"input":         {FormatResponses, []string{"role", "call_id"}, 1},
	"conversations": {FormatShareGPT, []string{"from", "value"}, 2},
}

// list looks at the first message of a list.
func (s *sketch) list(c *jsonl.Cursor, key string) {
	if !c.EnterArray() {
		return
	}
	for first := true; c.NextElement(); first = false {
		if !first || c.Kind() != jsonl.Object || !c.EnterObject() {
			c.Skip()
			continue
		}
		kind, seen, own := handedOn[key], 0, false
		for c.NextKey() {
			name := string(c.Key())
			if slices.Contains(kind.has, name) {
				seen++
			}
			own = own || key == "messages" && slices.Contains([]string{"id", "uuid", "ts", "timestamp"}, name)
		}
		if seen >= kind.least && !own {
			s.exchanged = kind.format
		}
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
