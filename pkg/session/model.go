package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// The runtimes whose stores are known. A runtime name is part of archive
// paths and of memory records and never changes.
const (
	RuntimeOpenClaw  = "openclaw"
	RuntimePi        = "pi"
	RuntimeAgent     = "agent"
	RuntimeAnnabelle = "annabelle"
	RuntimeMacStats  = "macstats"
	RuntimeCodex     = "codex"
	RuntimeGemini    = "gemini"
	RuntimeYarnnn    = "yarnnn"
	RuntimeClaude    = "claude"
	RuntimeOpenCode  = "opencode"
	RuntimeHermes    = "hermes"
	RuntimeKilo      = "kilo"
	RuntimeOMP       = "omp"
	RuntimeCopilot   = "copilot"
	RuntimeQwen      = "qwen"
	RuntimeCline     = "cline"

	RuntimeClineTasks = "clinetasks"
	RuntimeGoose      = "goose"
	RuntimeCursor     = "cursor"
	RuntimeDroid      = "droid"
	RuntimeKimi       = "kimi"
	RuntimeGrok       = "grok"

	RuntimeAntigravity = "antigravity"
	// RuntimeExchange is no program: files in which conversations are handed on.
	RuntimeExchange = "exchange"
)

// State says whether a session may be changed now.
type State string

// The states of a session.
const (
	StateIdle        State = "idle"        // its last turn is answered and nothing has touched it for a while
	StateBusy        State = "busy"        // somebody may be writing; Ref.Reason says how that was seen
	StateUnsupported State = "unsupported" // recognised, but never changed by this tool; Ref.Reason says why
)

// Kind says what a file of a store is.
type Kind string

// The kinds of session files.
const (
	KindLive       Kind = "live"       // the log that the runtime appends to
	KindTopic      Kind = "topic"      // a live log of one thread of a chat
	KindOrphan     Kind = "orphan"     // a log that the runtime's index does not name
	KindReset      Kind = "reset"      // closed by the runtime's reset; nobody writes it any more
	KindDeleted    Kind = "deleted"    // closed by the runtime's delete
	KindBackup     Kind = "backup"     // a copy the runtime made before a repair
	KindCheckpoint Kind = "checkpoint" // a copy the runtime made before a compaction
	KindArchived   Kind = "archived"   // put away by the runtime, which can take it back; nobody writes it
	KindSubagent   Kind = "subagent"   // what an agent did that a session's agent called
	KindOutput     Kind = "output"     // a tool's output that was too long for its session's log
	KindDatabase   Kind = "database"   // sessions live in a database of the runtime
	KindStored     Kind = "stored"     // one session in such a database; its path names it and is no file
	// KindPrompts is what a person typed in a session whose log is gone, as its
	// runtime has noted it elsewhere; its path names it and is no file.
	KindPrompts Kind = "prompts"
)

// Closed reports whether a log of this kind is one that nobody continues any
// more: it is read, archived and remembered, never changed.
func (k Kind) Closed() bool {
	switch k {
	case KindReset, KindDeleted, KindBackup, KindCheckpoint, KindPrompts:
		return true
	}
	return false
}

// InFile reports whether a session of this kind is a file of its own: its path can
// be opened.
func (k Kind) InFile() bool { return k != KindStored && k != KindPrompts }

// promptsEnd ends the id of the prompts of a session whose log is gone: they are
// not the session, and are remembered and archived apart from it.
const promptsEnd = ".prompts"

// PromptsID is the id of the prompts that are left of a session.
func PromptsID(id string) string { return CleanID(id + promptsEnd) }

// PromptsOf returns the session of which an id names the prompts; false for an id
// of anything else.
func PromptsOf(id string) (of string, ok bool) { return strings.CutSuffix(id, promptsEnd) }

// Ref names one session of a store. It is data: holding a Ref keeps nothing open.
type Ref struct {
	Runtime string // one of the Runtime constants
	Agent   string // the agent's id inside its store
	ID      string // the session's id as the log or its file name gives it
	Key     string // the runtime's routing key ("agent:coordinator:main"), or ""
	Store   string // absolute path of the store's root
	Path    string // absolute path of the log
	Kind    Kind
	Primary bool // the session the runtime continues by itself: openclaw's main, pi's newest
	// Fragment is true for a log without its beginning: a program that had the
	// session in its memory made it again after it was moved away. Its runtime
	// never continues it.
	Fragment bool

	Bytes         int64     // size of the log
	ModTime       time.Time // of the log
	File          FileID    // which file the listing saw at Path
	Model         string    // as the runtime's index names it, or ""
	Title         string    // as the runtime's index gives it, or "" (see Traits.Titles)
	Project       string    // the working directory, if the listing knows it, or ""
	ContextWindow int       // tokens, or 0 if unknown
	Counter       Counter   // the runtime's own count: shown, never trusted

	// Parent is the id of the session that a subagent's log or an output
	// belongs to, or "". They are kept and removed together.
	Parent string
	// Expires is when the runtime deletes the log by itself unless it changes
	// before; zero for never.
	Expires time.Time

	// Begun is true for a session of which its runtime's database says that it began with
	// what was said elsewhere. A log says so itself.
	Begun bool

	// Lacking is how many texts its records name that lie elsewhere and are gone: its
	// log is without them.
	Lacking int

	State  State
	Reason string // why the state is not idle, or what else sets the session apart; for people
}

// FileID tells which file a listing saw at a path. With the size and time of the [Ref]
// it tells a file that nobody has changed since, where durable.ChangeTimeTells holds.
// The zero value is for sessions that have no file of their own.
type FileID struct {
	Device, Inode uint64 // 0 where the system has none
	Changed       int64  // when anything of it was last changed, in nanoseconds since 1970
	Owner         int    // the user's id, -1 where the system has none
}

// Counter is what a runtime's index says a session's context holds.
type Counter struct {
	Tokens int64 // prompt size of the last model call
	Fresh  bool  // whether the runtime itself says the number is current
}

// Notice is something found while listing that a person should know: an
// entry that was skipped and why, or a store of another era.
type Notice struct {
	Path    string
	Message string
	Hint    string // what to do, or ""
	// Unread says that sessions may be missing from the listing because what is at
	// Path could not be read: a run over all of them is incomplete, and must not look
	// like one that had nothing to do.
	Unread bool
	// Cause says why what is at Path is not read, "" if it is, or if only Unread is
	// known of it.
	Cause Cause
	Bytes int64 // of what is not read, 0 if that is not known
}

// Skipped is the notice that something was left out of a listing because of an
// error.
func Skipped(path string, err error) Notice {
	n := Notice{Path: path, Message: "skipped: " + err.Error(), Unread: errors.Is(err, ErrLinked) || systemError(err)}
	var of *fs.PathError
	if !errors.As(err, &of) {
		return n // it was looked at, and why it is left out is said
	}
	if err == error(of) && filepath.Base(of.Path) == filepath.Base(path) { // the path is said already
		n.Message = "skipped: " + of.Err.Error()
	}
	if errors.Is(err, fs.ErrPermission) {
		n.Hint = "run sessctl as the user who owns it"
	}
	if to, linkErr := os.Readlink(path); linkErr == nil {
		n.Message, n.Cause = "skipped: a link to "+to+", which leads out of the store", CauseLinkOut
		if _, err := os.Stat(path); err != nil {
			n.Message, n.Cause, n.Unread = "skipped: a link to "+to+", which leads nowhere", CauseLink, true
		}
		n.Hint = n.Cause.Hint()
	}
	return n
}

// ErrLinked is why a log that has other names is left out of a listing. It is a
// session all the same, so a run that passes over it is incomplete.
var ErrLinked = errors.New(ReasonLinked.Text())

// systemError reports whether an error says that the system did not let us
// read: no permission, a broken disk, too many open files. That something is
// gone, or is no directory, or is a link, is no such error.
func systemError(err error) bool {
	var code syscall.Errno
	if !errors.As(err, &code) {
		return errors.Is(err, fs.ErrPermission)
	}
	return !errors.Is(err, fs.ErrNotExist) && code != syscall.ENOTDIR && code != syscall.ELOOP
}

// Listing is what one store holds.
type Listing struct {
	Agents  []string // that the store knows, also those without a session
	Refs    []Ref
	Notices []Notice
}

// Role says who speaks in a message.
type Role uint8

// The roles of messages. docs/dev/formats.md, "Messages", has every runtime's names
// for them.
const (
	RoleUser Role = iota + 1
	RoleAssistant
	RoleToolResult
	RoleSummary  // a compaction or branch summary
	RoleInjected // put into the context by the runtime or an extension, not typed by a person
	RoleShell    // a command that the user ran by hand, with its output
	RoleSystem
)

// String returns the role's name in JSON and in memory records.
func (r Role) String() string {
	switch r {
	case RoleUser:
		return "user"
	case RoleAssistant:
		return "assistant"
	case RoleToolResult:
		return "tool_result"
	case RoleSummary:
		return "summary"
	case RoleInjected:
		return "injected"
	case RoleShell:
		return "shell"
	case RoleSystem:
		return "system"
	}
	return "unknown"
}

// Branch says where a message stands in its log's tree.
type Branch uint8

// The branches of a message.
const (
	Active    Branch = iota // on the path from the last entry to the root
	Abandoned               // on another path
)

// String returns "active" or "abandoned".
func (b Branch) String() string {
	if b == Abandoned {
		return "abandoned"
	}
	return "active"
}

// PartKind says what a part of a message holds.
type PartKind uint8

// The kinds of message parts.
const (
	PartText     PartKind = iota + 1
	PartThinking          // never embedded
	PartToolCall          // Name, CallID and Text = the arguments as raw JSON
	PartImage             // Text is empty; Size counts the bytes left out
	PartCommand           // the command line of a shell message; its output is a PartText
	PartUnsent            // output of a tool that its log has and the model was not sent: for memory alone
)

// Part is one block of a message. Its slices are valid until the function
// that was handed the message returns.
type Part struct {
	Kind   PartKind
	Text   []byte // UTF-8 (bad bytes become U+FFFD), or raw JSON for a tool call's arguments
	Name   []byte // the tool's name
	CallID []byte
	Size   int64 // bytes of the source that Text leaves out (images)
	// Image is what the log has of an image: base64, raw JSON or a data URL, see
	// [PictureOf]; nil where the reader does not say.
	Image []byte
}

// Usage is what the model call behind an assistant message cost, in tokens.
type Usage struct {
	Input, Output, CacheRead, CacheWrite int64
	Total                                int64 // as recorded, or 0
}

// Context returns the tokens that the context held after the call: the
// recorded total, else the sum of all four counts (docs/dev/formats.md, "Usage").
func (u Usage) Context() int64 {
	if u.Total > 0 {
		return u.Total
	}
	return u.Input + u.Output + u.CacheRead + u.CacheWrite
}

// Counted reports whether a model call has counted what was sent to it: an assistant's
// message with tokens, of a turn that neither failed nor was aborted.
func (m *Message) Counted() bool {
	return m.Role == RoleAssistant && m.HasUsage && m.Usage.Context() > 0 && !m.IsError && string(m.StopReason) != "aborted"
}

// Message is one normalised entry of a log. Slices in it and in its parts are
// valid until the function that was handed the message returns.
type Message struct {
	Ordinal int // 0-based among the messages of the log, abandoned ones included
	Line    int // 1-based line of the source
	// LastLine is the last line of what the message is made from, where that is
	// more than one; else 0.
	LastLine int
	Offset   int64 // first byte of the record in the source
	Length   int64 // bytes of the record
	ID       []byte
	Role     Role
	Branch   Branch
	Time     int64 // epoch milliseconds, UTC
	// TimeInferred is true when the record had no usable time and Time is the
	// previous record's.
	TimeInferred bool

	Parts    []Part
	ToolName []byte // of a tool result
	CallID   []byte // of a tool result
	IsError  bool   // a tool result that failed, or an assistant message that ended in an error
	ExitCode int    // of a shell message or a tool result, if HasExit
	HasExit  bool
	// CustomType is of an injected message: the extension or the part of the
	// runtime that put it there ("openclaw.runtime-context"), else empty.
	CustomType []byte
	// OddRole is the role as the record has it, of a message whose role is not known.
	OddRole []byte
	// SentAs is the role in which an injected message is sent, "" for the user's: the
	// assistant's for what OpenClaw delivered to a channel and Claude Code's note that
	// it needs no answer, the system's for what Codex says as the developer.
	SentAs Role
	// Sent is the text as the runtime sends it, where that is more than the parts say: a
	// command in its tags, a summary with what stands around it. Only a replay needs it.
	Sent []byte
	// KeptFirst is true for a summary that is sent after what its record Kept.
	KeptFirst bool
	// Within is true for a message that the runtime does not send by itself: the Sent of
	// the next summary, or of the question beside it, has it.
	Within bool
	// Compaction is true for the summary of a compaction: it takes the place
	// of everything before it but the messages from the record FirstKept on,
	// which is empty if the log itself keeps nothing of before.
	Compaction bool
	FirstKept  []byte
	// Kept are the messages that the record of a compaction itself has in place
	// of everything before it, where it has any (codex): then nothing else of
	// before stays. They stood in the log before, and are said again for a context
	// alone.
	Kept []Message
	// Passed names the records of the branch between the message before and
	// this one, each by its recordKey: a compaction may name one of them as
	// the first that it kept (see [Context]). Only of active messages.
	Passed []uint64
	// Own is true for the summary of a compaction that sessctl made, by the mark
	// in its record (see [SummaryBy]). Memory has it as a summary.
	Own bool
	// ReadFiles and ModifiedFiles are the lists that the record of a compaction
	// carries beside its text: of all compactions so far (docs/dev/decisions.md D17).
	ReadFiles, ModifiedFiles []string
	// Reminders are the bytes that the program put into the text and the reader took
	// out again.
	Reminders int
	// OutOfContext is true when the runtime keeps the message and never sends
	// it to the model (pi: excludeFromContext).
	OutOfContext bool
	// Carried is true for what was said in another session, with which this one began
	// (see [Origin]).
	Carried    bool
	StopReason []byte
	ErrorText  []byte // the runtime's error message
	Provider   []byte
	Model      []byte
	Usage      Usage
	HasUsage   bool
	// Core is the message as the runtime itself sends it, where its log has that:
	// a core message of Vercel's AI SDK (annabelle). Several results of tools may
	// share one. Empty else.
	Core []byte
	// Directory is the working directory that the log names for the message, or
	// empty.
	Directory []byte
	// Details are what the record of a tool's result has beside its output, as
	// raw JSON: patches, exit statuses, ranges of lines, in the runtime's own
	// terms (docs/dev/formats.md). Only if [ScanOptions.Details] asks for them.
	Details  []byte
	CutBytes int64 // bytes of text left out because a string exceeded the reader's limit
	// LeftOut counts the bytes of text that the record of a tool's result has
	// beside its output and that memory does not take: files as they were before a
	// change.
	LeftOut int64
}

// Format is what a file's content shows it to be.
type Format string

// The formats that [Detect] tells apart.
const (
	FormatPi            Format = "pi"               // a pi session, versions 1 to 3
	FormatOpenClaw      Format = "openclaw"         // an OpenClaw transcript, the same records as pi
	FormatFragment      Format = "pi-fragment"      // pi or OpenClaw records without a header
	FormatAnnabelle     Format = "annabelle"        // Annabelle / Hexa Puffs
	FormatAgent         Format = "agent"            // agent-ulid
	FormatClaude        Format = "claude"           // Claude Code
	FormatClaudeHistory Format = "claude-history"   // what was typed in Claude Code, a prompt a line
	FormatCodex         Format = "codex"            // Codex rollouts, since September 2025
	FormatCodexBare     Format = "codex-bare"       // Codex rollouts without envelopes, before that
	FormatCodexJSON     Format = "codex-json"       // Codex sessions as one JSON object
	FormatGemini        Format = "gemini"           // Gemini CLI, JSON Lines
	FormatGeminiJSON    Format = "gemini-json"      // Gemini CLI sessions as one JSON object
	FormatMacStats      Format = "macstats"         // mac-stats Markdown
	FormatMacStatsReset Format = "macstats-reset"   // what mac-stats saves before a reset
	FormatYarnnn        Format = "yarnnn"           // an export of YARNNN messages
	FormatOpenCode      Format = "opencode"         // a session of OpenCode's or Kilo's database, written out
	FormatOMP           Format = "omp"              // oh-my-pi: records of pi behind a slot for the title
	FormatCopilot       Format = "copilot"          // an event log of GitHub Copilot CLI
	FormatHermes        Format = "hermes"           // a session of Hermes' database, written out
	FormatQwen          Format = "qwen"             // Qwen Code
	FormatCline         Format = "cline"            // Cline CLI, one JSON object
	FormatCursor        Format = "cursor"           // a transcript of Cursor's agent
	FormatKimi          Format = "kimi"             // Kimi Code and kimi-cli
	FormatGrok          Format = "grok"             // Grok Build
	FormatAntigravity   Format = "antigravity"      // a transcript of Antigravity
	FormatDroid         Format = "droid"            // Factory's Droid
	FormatGoose         Format = "goose"            // a session of Goose's database, written out
	FormatClineTask     Format = "cline-task"       // a task of Cline's, Roo Code's or Kilo Code's extension, one JSON array
	FormatOpenClawIndex Format = "openclaw-index"   // sessions.json
	FormatOpenClawLock  Format = "openclaw-lock"    // a write lock
	FormatTrajectory    Format = "trajectory"       // OpenClaw's run trace beside a session: not a session
	FormatGenericChat   Format = "generic-chat"     // objects with role and content
	FormatATIF          Format = "atif"             // an agent trajectory, one JSON object
	FormatTrace         Format = "sts-trace"        // a session trace of Hugging Face
	FormatChat          Format = "openai-chat"      // conversations of OpenAI's chat API, one a line
	FormatResponses     Format = "openai-responses" // the same of its responses API
	FormatShareGPT      Format = "sharegpt"         // conversations of "from" and "value"
	FormatSQLite        Format = "sqlite"           // a SQLite database: whose, its tables say
	FormatUTF16         Format = "utf-16"           // text that cannot be read as it is
	FormatEmpty         Format = "empty"            // nothing but white space and NULs

	// Formats of programs that are not read. They are known so that their files are
	// taken for nobody else's.
	FormatContinue Format = "continue" // Continue
	FormatUnknown  Format = "unknown"
)

// HeadSize is how many bytes of a file [Detect] looks at.
const HeadSize = 256 << 10

// Family is a store whose sessions have files beside their log that go with
// it: run traces, metadata.
type Family interface {
	// Companions returns, for each of the sessions and in their order, the
	// files that belong to it and to no other one that stays. They are asked
	// for together so that a directory is read once for all that lie in it.
	Companions(ctx context.Context, refs []Ref) []Companions
}

// Companions are the files that belong to a session beside its log.
type Companions struct {
	Paths []string
	Err   error // why they cannot be told, or nil
}

// Parent is a store some of whose agents were started by others, each in a
// directory of its own that is thrown away as a whole.
type Parent interface {
	// ParentOf returns the agent that started this one, ok is false for one
	// that nobody has.
	ParentOf(agent string) (parent string, ok bool)
}

// maxSafeID is the length of the longest safe id, in bytes. OpenClaw accepts
// the same ids (docs/dev/formats.md, "openclaw").
const maxSafeID = 128

// SafeID reports whether an id can be part of a path and of a message: 1 to
// 128 ASCII letters, digits, dots, underscores and dashes, of which the first
// is a letter or a digit. So it is never "..", hidden, or an option.
func SafeID(id string) bool {
	if id == "" || len(id) > maxSafeID || !alphanumeric(id[0]) {
		return false
	}
	for i := range len(id) {
		if !safeByte(id[i]) {
			return false
		}
	}
	return true
}

// SafeAgent reports whether a directory's name can be an agent's: [SafeID], with
// letters, signs and emoji of every script as well. What cannot be seen, spaces,
// and what is no UTF-8 is refused.
func SafeAgent(name string) bool {
	if SafeID(name) {
		return true
	}
	if name == "" || len(name) > maxSafeID || !utf8.ValidString(name) {
		return false
	}
	for i, r := range name {
		switch {
		case r < utf8.RuneSelf && (!safeByte(byte(r)) || i == 0 && !alphanumeric(byte(r))):
			return false
		case r == zeroWidthJoiner && i > 0: // holds the parts of an emoji together
		case r >= utf8.RuneSelf && (unicode.IsSpace(r) || !unicode.IsGraphic(r)):
			return false
		}
	}
	return true
}

const zeroWidthJoiner = 0x200d

func alphanumeric(c byte) bool {
	return c-'0' <= 9 || c|0x20-'a' < 26
}

// safeByte looks a character up in two words: listings ask it of every
// character of every name.
func safeByte(c byte) bool {
	const digits = 1<<('9'+1) - 1<<'0' | 1<<'.' | 1<<'-'
	const letters = 1<<('Z'+1-64) - 1<<('A'-64) | 1<<('z'+1-64) - 1<<('a'-64) | 1<<('_'-64)
	return c < 64 && uint64(digits)>>c&1 == 1 || c >= 64 && c < 128 && uint64(letters)>>(c-64)&1 == 1
}

// NewID returns a random UUID (version 4), as runtimes name their sessions.
func NewID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails, by its documentation
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// CleanID returns a safe id for a name: the name itself if it is one, else
// what is safe in it and eight digits of its hash, so that different names
// have different ids.
func CleanID(name string) string {
	if SafeID(name) {
		return name
	}
	return cleanName(name, func(r rune) bool { return r < utf8.RuneSelf && safeByte(byte(r)) })
}

// CleanAgent is [CleanID] for the name of an agent, which may have letters, signs
// and emoji of every script: see [SafeAgent].
func CleanAgent(name string) string {
	if SafeAgent(name) {
		return name
	}
	return cleanName(name, func(r rune) bool {
		if r < utf8.RuneSelf {
			return safeByte(byte(r))
		}
		return r != utf8.RuneError && !unicode.IsSpace(r) && unicode.IsGraphic(r)
	})
}

// cleanName is what is safe in a name, with eight digits of its hash.
func cleanName(name string, safe func(rune) bool) string {
	const digits = 8
	hash := sha256.Sum256([]byte(name))
	clean := strings.Map(func(r rune) rune {
		if safe(r) {
			return r
		}
		return '_'
	}, name)
	clean = strings.TrimLeft(clean, "._-")
	end := min(len(clean), maxSafeID-digits-1)
	for end < len(clean) && !utf8.RuneStart(clean[end]) {
		end--
	}
	if clean = clean[:end]; clean != "" {
		clean += "-"
	}
	return clean + hex.EncodeToString(hash[:])[:digits]
}

// StringList reads an array and returns the strings in it; what else stands in
// it is passed over. Anything but an array is no string.
func StringList(c *jsonl.Cursor) []string {
	if !c.EnterArray() {
		return nil
	}
	var all []string
	for c.NextElement() {
		if c.Kind() != jsonl.String {
			c.Skip()
			continue
		}
		text, _ := c.Bytes()
		all = append(all, string(text))
	}
	return all
}
