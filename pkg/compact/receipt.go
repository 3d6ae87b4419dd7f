package compact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/relocate"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// Outcome is what became of one session.
type Outcome string

// The outcomes, as documents name them too (docs/json.md).
const (
	Compacted      Outcome = "compacted"
	Planned        Outcome = "planned"
	BelowThreshold Outcome = "below-threshold"
	NothingToDo    Outcome = "nothing-to-do"
	Busy           Outcome = "busy"
	Unsupported    Outcome = "unsupported"
	Partial        Outcome = "partial" // remembered, not changed
	Failed         Outcome = "failed"
)

// Compaction is the part of a [Result] that its receipt keeps for later runs.
type Compaction struct {
	Runtime       string           `json:"runtime"`
	Agent         string           `json:"agent"`
	Session       string           `json:"session"`
	Key           string           `json:"key"`
	Path          string           `json:"path"`
	Outcome       Outcome          `json:"outcome"`
	Reason        string           `json:"reason"`
	Strategy      session.Strategy `json:"strategy"`
	Via           string           `json:"via,omitempty"` // gateway or files, where a gateway may run
	TokensBefore  int64            `json:"tokens_before"`
	TokenSource   string           `json:"token_source"`
	TokensAfter   int64            `json:"tokens_after"`
	Bytes         int64            `json:"bytes"`
	BytesAfter    int64            `json:"bytes_after,omitempty"` // with trim: of the log that took the old one's place
	Messages      int              `json:"messages"`
	LinesSkipped  int              `json:"lines_skipped"`
	Chunks        int              `json:"chunks"`
	Forgotten     int              `json:"chunks_forgotten,omitempty"` // of them not stored: they were forgotten earlier
	ChunksPending int              `json:"chunks_pending"`
	Cut           *session.Cut     `json:"cut,omitempty"`     // with overlay and rewrite
	Cleared       bool             `json:"cleared,omitempty"` // by rewrite: no summary takes the session's place
	Archive       *Archived        `json:"archive"`
	Summary       *SummaryResult   `json:"summary"`
	SummaryEmpty  bool             `json:"summary_empty,omitempty"`   // there was nothing to sum up: none is remembered
	Receipt       string           `json:"receipt"`                   // where it was written: by it a data directory that has moved is known
	Unknown       map[string]int   `json:"unknown_records,omitempty"` // types, roles and blocks that are not known, and how often: in the archive only
}

// Archived names the verified copy of a log.
type Archived struct {
	ID     string `json:"id"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"size_bytes"` // of the session, not of the compressed file
}

// SummaryResult says which summary was stored.
type SummaryResult struct {
	Kind     string `json:"kind"`
	Chars    int    `json:"chars"` // code points
	Model    string `json:"model,omitempty"`
	Degraded bool   `json:"degraded,omitempty"` // a model was to write it and did not, or not of all
	Reason   string `json:"reason,omitempty"`   // why it is degraded
	// Forgotten says that memory does not have it: it was forgotten earlier.
	Forgotten bool `json:"forgotten,omitempty"`
	// The report of the loss, see [Loss].
	Identifiers int `json:"identifiers,omitempty"`
	Lost        int `json:"lost,omitempty"`
	Indexed     int `json:"indexed,omitempty"`
}

func newSummaryResult(s Summary) *SummaryResult {
	w := s.Wrote
	return &SummaryResult{
		Kind: s.Kind, Chars: utf8.RuneCountInString(s.Text), Model: w.Model, Degraded: w.Degraded, Reason: w.Reason,
		Identifiers: s.Loss.Identifiers, Lost: s.Loss.Lost, Indexed: s.Loss.Indexed,
	}
}

// spent counts what models were asked for one session, also for a summary that
// was made again because the log had grown.
type spent struct {
	calls  int
	tokens int64
}

func (s *spent) add(w Wrote) {
	s.calls += w.Calls
	s.tokens += w.Tokens
}

// Receipt is the proof of what a run did with one session. `archives verify`
// compares it with the archive and memory later.
type Receipt struct {
	Schema  int       `json:"schema"` // 1
	ID      string    `json:"id"`     // ULID; the file is <id>.json
	Version string    `json:"version"`
	At      time.Time `json:"at"`
	Compaction
	Source    SourceProof `json:"source"`
	Content   Content     `json:"content"`
	NewID     string      `json:"new_session,omitempty"`
	Kept      string      `json:"kept,omitempty"` // where the old log lies now
	LLMCalls  int         `json:"llm_calls"`
	LLMTokens int64       `json:"llm_tokens"`
	// Late is the log with what reached it after it was put away, if anything did.
	Late      *Archived  `json:"late,omitempty"`
	LateLines *LateProof `json:"late_lines,omitempty"` // what became of that
	// Lessons counts what the runtime was to keep apart from the session; what
	// it had already was not added.
	Lessons int `json:"lessons,omitempty"`
	// Rotation is what was done with the log, and After what it was then where
	// it was made shorter: what an undo needs. nil if it was not changed.
	Rotation *session.Rotation `json:"rotation,omitempty"`
	After    *session.LogProof `json:"after,omitempty"`
	Undo     *UndoProof        `json:"undo,omitempty"` // of an undo only
	// Deleting says that the run remembered the session only because it was about to
	// delete it: without a summary.
	Deleting bool `json:"deleting,omitempty"`
	// Bypassed is set once a later run has seen that the appended summary has
	// no effect.
	Bypassed *Bypass `json:"bypassed,omitempty"`
}

// UndoProof says what an undo has reversed.
type UndoProof struct {
	Receipt    string `json:"receipt"`     // id of the compaction's
	MemoryKept bool   `json:"memory_kept"` // what it had stored was left in memory
	Withdrawn  int    `json:"withdrawn"`   // records taken out of memory
	// Kept are the archives whose records stayed in memory, because other runs had
	// remembered them.
	Kept []string `json:"kept_archives,omitempty"`
	// Newer is the log that the old one took the place of, if something had
	// been said in it since the compaction: that stays in memory.
	Newer *Archived `json:"newer,omitempty"`
}

// SourceProof pins the bytes that were worked on.
type SourceProof struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"size_bytes"`
	SHA256 string `json:"sha256"`
}

// Content counts what was found in those bytes and what memory took of it.
type Content struct {
	Lines         int   `json:"lines"`
	Records       int   `json:"records"`
	LinesSkipped  int   `json:"lines_skipped"`
	LinesSalvaged int   `json:"lines_salvaged"`
	TornBytes     int64 `json:"torn_bytes"`
	NULBytes      int64 `json:"nul_bytes"`
	Messages      int   `json:"messages"`
	ToolCalls     int   `json:"tool_calls"`
	Characters    int64 `json:"characters"`     // code points of message text that memory covers
	CoveredBytes  int64 `json:"covered_bytes"`  // of the log, that some chunk was made from
	LeftOutBytes  int64 `json:"left_out_bytes"` // images, base64 and control characters: in the archive only
	CutBytes      int64 `json:"cut_bytes"`      // of strings and of tools' output too long for memory: in the archive only
	// OutputLimit is how many bytes memory took of one output, see [Content.Limit].
	OutputLimit *int64 `json:"output_limit,omitempty"`
	Redacted    int    `json:"redacted"` // what looked like a secret: in the archive only
	Chunker     string `json:"chunker"`  // rule by which the text was cut
	// Redaction names the rules by which secrets were found ([secrets.Version]).
	Redaction      string `json:"redaction,omitempty"`
	ChunksStored   int    `json:"chunks_stored"`   // new in memory
	ChunksExisting int    `json:"chunks_existing"` // stored by an earlier run
}

// SameRules reports whether what is cut and redacted by the present rules is what this
// run has stored: only then are its pieces those that are made today.
func (c Content) SameRules() bool {
	return c.Chunker == chunk.Version && c.Redaction == secrets.Version
}

func contentOf(s Survey, m Remembered, p Policy) Content {
	c := s.Scan.Counts
	return Content{
		Lines: c.Lines, Records: c.Records, LinesSkipped: c.Bad, LinesSalvaged: c.Salvaged,
		TornBytes: c.TornBytes, NULBytes: c.NULBytes, Messages: s.Scan.Records, ToolCalls: s.Scan.ToolCalls,
		Characters: s.Runes, CoveredBytes: s.Covered, LeftOutBytes: s.LeftOut + s.Scan.LeftOut, Redacted: s.Redacted, CutBytes: c.CutBytes + s.Cut, OutputLimit: p.recordedLimit(),
		Chunker: chunk.Version, Redaction: secrets.Version, ChunksStored: m.Stored, ChunksExisting: m.Existing,
	}
}

// Receipts is the directory of receipts.
type Receipts struct {
	Dir   string
	Moves relocate.Moves // of what receipts name
	Pins  *durable.Pins  // hold the directories open during a run; nil for none
	// Written, if not nil, is told of every receipt once it is durable.
	Written func(Receipt)
}

// Write makes a receipt durable and returns its path.
func (r Receipts) Write(receipt Receipt) (string, error) {
	if err := r.Pins.MakeDir(r.Dir, 0o700); err != nil {
		return "", fmt.Errorf("make receipts directory: %w", err)
	}
	path := r.Path(receipt.ID)
	if err := writeJSON(r.Pins, path, receipt); err != nil {
		return path, err
	}
	if r.Written != nil {
		r.Written(receipt)
	}
	return path, nil
}

// Core is the part of the file of a receipt that no later run changes: all of it but
// what became of lines that came late, and that a summary had no effect. Its members
// stay in their order, without blanks between them.
func (r Receipts) Core(id string) ([]byte, error) {
	f, err := r.Pins.OpenRegular(r.Path(id))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return CoreOf(io.LimitReader(f, maxRecord))
}

// CoreOf is [Receipts.Core] of the text of a receipt, wherever it is.
func CoreOf(text io.Reader) ([]byte, error) {
	in := json.NewDecoder(text)
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("%w: it is no object", ErrDamagedRecord)
	}
	var out bytes.Buffer
	for in.More() {
		name, err := in.Token()
		var value json.RawMessage
		if err == nil {
			err = in.Decode(&value)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamagedRecord, err)
		}
		if name == "late" || name == "late_lines" || name == "bypassed" {
			continue
		}
		fmt.Fprintf(&out, ",%q:", name)
		if err := json.Compact(&out, value); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamagedRecord, err)
		}
	}
	return append(append([]byte("{"), bytes.TrimPrefix(out.Bytes(), []byte(","))...), '}'), nil
}

// IDs returns the ids of all receipts, oldest first, without reading them.
func (r Receipts) IDs() ([]string, error) {
	names, err := filepath.Glob(filepath.Join(r.Dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list receipts: %w", err)
	}
	for i, name := range names {
		names[i] = strings.TrimSuffix(filepath.Base(name), ".json")
	}
	return names, nil
}

// List returns all receipts, oldest first. A receipt that cannot be read is an
// error that names its file.
func (r Receipts) List() ([]Receipt, error) {
	names, err := filepath.Glob(filepath.Join(r.Dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list receipts: %w", err)
	}
	var all []Receipt
	for _, name := range names {
		var receipt Receipt
		if err := readJSON(r.Pins, name, &receipt, r.Moves); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		all = append(all, receipt)
	}
	return all, nil
}

// forUndo returns the receipts that tell what an undo needs to know: whether the
// compaction was undone before, and what else was archived of its session. It
// returns an error that names a receipt which cannot be read and which may be of
// that session; one of another session is passed over.
func (r Receipts) forUndo(of Receipt) ([]Receipt, error) {
	all, unreadable, err := r.Examine()
	if err != nil {
		return nil, err
	}
	for _, u := range unreadable {
		if mayConcern(textOf(r.Pins, u.Path), of) {
			return nil, fmt.Errorf("the receipt %s may be of this session: %w", u.Path, u.Err)
		}
	}
	return all, nil
}

// sessionIn is the session that a receipt names, in what is left of its text.
var sessionIn = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"session": "((?:[^"\\]|\\.)*)"`) })

// mayConcern reports whether what is left of a receipt may be of the session of
// another one. A text that names no session may be of any.
func mayConcern(text string, of Receipt) bool {
	named := sessionIn().FindStringSubmatch(text)
	own, err := json.Marshal(of.Session)
	return named == nil || err != nil || `"`+named[1]+`"` == string(own) || of.ID != "" && strings.Contains(text, of.ID)
}

// Read returns the receipt in a file.
func (r Receipts) Read(path string) (Receipt, error) {
	var receipt Receipt
	err := readJSON(r.Pins, path, &receipt, r.Moves)
	if err == nil && (receipt.Schema != 1 || receipt.ID == "") {
		err = errors.New("it is no receipt that this version knows")
	}
	if err != nil {
		return receipt, fmt.Errorf("read %s: %w", path, err)
	}
	return receipt, nil
}

// Path returns where the receipt with this id is or would be.
func (r Receipts) Path(id string) string { return filepath.Join(r.Dir, id+".json") }

func proofOf(s session.Snapshot) SourceProof {
	return SourceProof{Path: s.Path, Bytes: s.Size, SHA256: s.SHA256}
}
