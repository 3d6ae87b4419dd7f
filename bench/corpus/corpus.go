package corpus

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/prose"
)

// version is part of a corpus' directory name; raise it with any change of
// what is written.
const version = 3

// Spec says what a corpus holds.
type Spec struct {
	Name    string
	Files   int
	Bytes   int64 // of all files together
	Spread  bool  // sizes vary, most are small (lognormal, sigma 1)
	OneLine bool  // one tool result of Bytes bytes in a single log
	Closed  bool  // logs of one agent of OpenClaw that its runtime has closed
	Chat    bool  // short messages and no tools
	Outputs bool  // what tools of Claude Code have printed, a file each, beside no log
	Real    bool  // of the text of Sources, with what tools print of services and settings

	Sources Sources // of a real one
}

// Corpus is a corpus on disk: a store of pi, or of OpenClaw, under a home
// directory.
type Corpus struct {
	Name string `json:"name"`
	Home string `json:"-"`
	Logs []Log  `json:"logs"`
}

// Make returns the corpus under dir, and writes it first if it is not there.
func Make(dir string, s Spec) (Corpus, error) {
	home := filepath.Join(dir, fmt.Sprintf("%s-v%d", s.Name, version))
	c, err := load(home)
	if !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	if err := os.RemoveAll(home); err != nil {
		return Corpus{}, err
	}
	var text *realText
	if s.Real {
		if text, err = readSources(s.Sources); err != nil {
			return Corpus{}, err
		}
	}
	c = Corpus{Name: s.Name, Home: home}
	for i, size := range sizes(s) {
		l, err := writeFile(home, i, size, s, text)
		if err != nil {
			return Corpus{}, fmt.Errorf("write corpus %s: %w", s.Name, err)
		}
		c.Logs = append(c.Logs, l)
	}
	written, err := json.Marshal(c)
	if err != nil {
		return Corpus{}, err
	}
	return c, os.WriteFile(manifest(home), written, 0o600)
}

func manifest(home string) string { return filepath.Join(home, "corpus.json") }

// load reads the manifest, which is written last: a corpus without one is not
// complete. One whose logs have not the sizes that it says, because the machine
// stopped before they were on the disk, is not there either (fs.ErrNotExist).
func load(home string) (Corpus, error) {
	text, err := os.ReadFile(manifest(home))
	if err != nil {
		return Corpus{}, err
	}
	c := Corpus{Home: home}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("read %s: %w", manifest(home), err)
	}
	for _, l := range c.Logs {
		if info, err := os.Stat(l.Path); err != nil || info.Size() != l.Bytes {
			return Corpus{}, fmt.Errorf("%s: %w", l.Path, fs.ErrNotExist)
		}
	}
	return c, nil
}

// sizes returns how many bytes each file gets.
func sizes(s Spec) []int64 {
	r := rand.New(rand.NewPCG(seedOf(s.Name), 1))
	weights, total := make([]float64, s.Files), 0.0
	for i := range weights {
		weights[i] = 0.5 + r.Float64()
		if s.Spread {
			weights[i] = math.Exp(r.NormFloat64())
		}
		total += weights[i]
	}
	sizes := make([]int64, s.Files)
	for i, weight := range weights {
		sizes[i] = int64(weight / total * float64(s.Bytes))
	}
	return sizes
}

func seedOf(name string) uint64 {
	seed := uint64(14695981039346656037)
	for _, c := range []byte(name) {
		seed = (seed ^ uint64(c)) * 1099511628211
	}
	return seed
}

// pathOf is where the runtime would write the i-th log.
func pathOf(home string, i int, id []byte, s Spec) string {
	if s.Outputs {
		const session = "00000000-1111-4222-8333-444455556666"
		return filepath.Join(home, ".claude", "projects", "-work-project", session, "tool-results", fmt.Sprintf("toolu_%06d.txt", i))
	}
	if s.Closed {
		return filepath.Join(home, ".openclaw", "agents", "coordinator", "sessions", fmt.Sprintf("%s.jsonl.reset.2026-05-01T10-00-00.%03dZ", id, i%1000))
	}
	project := fmt.Sprintf("--work-project-%d--", i%(s.Files/10+1))
	if s.Real { // compact takes the last session of each
		project = fmt.Sprintf("--work-project-%d--", i)
	}
	return filepath.Join(home, ".pi", "agent", "sessions", project, fmt.Sprintf("2026-05-01T10-00-00-%03dZ_%s.jsonl", i%1000, id))
}

// writeFile writes the i-th log where its runtime would, with a time in the past.
func writeFile(home string, i int, size int64, s Spec, text *realText) (Log, error) {
	seed := seedOf(s.Name) + uint64(i)
	r := rand.New(rand.NewPCG(seed, 3))
	path := pathOf(home, i, appendUUID(nil, r), s)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Log{}, err
	}
	file, err := os.Create(path)
	if err != nil {
		return Log{}, err
	}
	write := writeLog
	switch {
	case s.OneLine:
		write = writeOneLine
	case s.Chat:
		write = writeChat
	case s.Outputs:
		write = writeOutput
	case s.Real:
		write = text.writeReal
	}
	l, err := write(file, seed, size)
	if err = errors.Join(err, file.Close()); err != nil {
		return Log{}, err
	}
	l.Path = path
	old := time.Date(2026, 6, 1, 9, 0, 0, 0, time.UTC)
	return l, os.Chtimes(path, old, old)
}

// Bytes returns the size of all logs.
func (c Corpus) Bytes() (total int64) {
	for _, l := range c.Logs {
		total += l.Bytes
	}
	return total
}

// Lines returns the number of lines of all logs.
func (c Corpus) Lines() (total int) {
	for _, l := range c.Logs {
		total += l.Lines
	}
	return total
}

// Tokens returns the sum of the context sizes of all logs.
func (c Corpus) Tokens() (total int64) {
	for _, l := range c.Logs {
		total += l.Tokens
	}
	return total
}

// Paths returns where the logs lie.
func (c Corpus) Paths() []string {
	paths := make([]string, len(c.Logs))
	for i, l := range c.Logs {
		paths[i] = l.Path
	}
	return paths
}

const (
	stretchBytes = prose.Stretch // of log that share a vocabulary and project files
	fullContext  = 170_000       // tokens at which the runtime compacts
	projectFiles = 6
)

// Log is what a written log holds.
type Log struct {
	Path     string `json:"path"`
	Bytes    int64  `json:"bytes"`
	Lines    int    `json:"lines"`
	Messages int    `json:"messages"` // records of type message
	Tokens   int64  `json:"tokens"`   // of the last usage
}

// logWriter writes one log.
type logWriter struct {
	out     *bufio.Writer
	r       *rand.Rand
	author  author
	sources *realText // of a real log
	files   [][]byte  // what the agent reads and edits
	stretch int64     // written when the vocabulary was made

	line     []byte
	scratch  []byte
	id       []byte
	previous []byte
	clock    int64 // epoch milliseconds
	context  int64 // tokens
	written  int64
	log      Log
}

func newLogWriter(out *bufio.Writer, seed uint64) *logWriter {
	w := &logWriter{out: out, r: rand.New(rand.NewPCG(seed, 2)), context: 14_000}
	w.clock = 1_777_600_000_000 + int64(w.r.IntN(2_000_000_000)) // May 2026
	return w
}

// writeLog writes a log of about size bytes, in whole turns.
func writeLog(out io.Writer, seed uint64, size int64) (Log, error) {
	w := newLogWriter(bufio.NewWriterSize(out, 1<<20), seed)
	return w.writeTurns(size, w.turn)
}

// writeChat writes a log in which somebody talks with an agent. All such logs
// have the words of one vocabulary, as those of a person have.
func writeChat(out io.Writer, seed uint64, size int64) (Log, error) {
	w := newLogWriter(bufio.NewWriterSize(out, 1<<20), seed)
	w.author = author{r: w.r, v: prose.New(rand.New(rand.NewPCG(1, 4)))}
	return w.writeTurns(size, w.exchange)
}

// writeTurns writes turns until the log has size bytes.
func (w *logWriter) writeTurns(size int64, turn func() error) (Log, error) {
	if err := w.header(); err != nil {
		return Log{}, err
	}
	for w.written < size {
		if w.author.v == nil || w.written-w.stretch > stretchBytes {
			w.newStretch()
		}
		if err := turn(); err != nil {
			return Log{}, err
		}
	}
	w.log.Bytes = w.written
	return w.log, w.out.Flush()
}

// newStretch gives the log new words and new files to work on.
func (w *logWriter) newStretch() {
	w.author = author{r: w.r}
	if t := w.sources; t != nil {
		w.author.real = &voice{realText: t, seed: w.r.Uint64()}
		w.author.v = prose.Of(func(int) string { return t.words[w.r.IntN(len(t.words))] })
	} else {
		w.author.v = prose.New(w.r)
	}
	w.stretch = w.written
	w.files = w.files[:0]
	for i := range projectFiles {
		size := 1000 + w.r.IntN(7000)
		if w.sources != nil {
			size *= 4
		}
		if i == 0 {
			size = 110_000
		}
		w.files = append(w.files, w.author.code(nil, size))
	}
}

func (w *logWriter) header() error {
	w.line = append(w.line[:0], `{"type":"session","version":3,"id":"`...)
	w.line = append(appendUUID(w.line, w.r), `","timestamp":"`...)
	w.line = append(appendTime(w.line, w.clock), `","cwd":"/home/lea/project"`...)
	return w.close()
}

// turn writes a question, the agent's work on it, and its answer.
func (w *logWriter) turn() error {
	if w.context > fullContext {
		if err := w.compaction(); err != nil {
			return err
		}
	}
	if w.r.IntN(9) == 0 {
		w.open("thinking_level_change")
		w.line = append(w.line, `,"thinkingLevel":"high"`...)
		if err := w.close(); err != nil {
			return err
		}
	}
	if err := w.user(); err != nil {
		return err
	}
	for steps := 1 + w.r.IntN(9); steps > 0; steps-- {
		if err := w.step(); err != nil {
			return err
		}
	}
	return w.answer()
}

// exchange writes a question and an answer, each of a line or two.
func (w *logWriter) exchange() error {
	w.openMessage("user")
	w.line = append(w.line, `,"content":[`...)
	w.said(20 + w.r.IntN(180))
	w.line[len(w.line)-1] = ']' // in place of the last comma
	if err := w.closeMessage(); err != nil {
		return err
	}
	w.openMessage("assistant")
	w.line = append(w.line, `,"content":[`...)
	w.said(20 + w.r.IntN(180))
	w.line[len(w.line)-1] = ']' // in place of the last comma
	return w.endAssistant("stop")
}

// compaction replaces most of the context by a summary.
func (w *logWriter) compaction() error {
	w.open("compaction")
	w.scratch = w.author.prose(w.scratch[:0], 4000)
	w.text("summary", w.scratch)
	w.text("firstKeptEntryId", w.previous)
	w.number("tokensBefore", w.context)
	w.context = 18_000
	return w.close()
}

// openMessage begins a message; its content is an array.
func (w *logWriter) openMessage(role string) {
	w.open("message")
	w.line = append(append(append(w.line, `,"message":{"role":"`...), role...), '"')
	w.log.Messages++
}

func (w *logWriter) closeMessage() error {
	w.number("timestamp", w.clock)
	w.line = append(w.line, '}')
	return w.close()
}

func (w *logWriter) user() error {
	w.openMessage("user")
	w.line = append(w.line, `,"content":[{"type":"text"`...)
	size := 60 + w.r.IntN(300)
	if w.r.IntN(20) == 0 {
		size = 2500
	}
	w.scratch = w.author.prose(w.scratch[:0], size)
	w.text("text", w.scratch)
	w.line = append(w.line, "}]"...)
	return w.closeMessage()
}

// step writes an assistant's message that calls tools, and their results.
func (w *logWriter) step() error {
	calls := make([]call, 1+w.r.IntN(3)/2)
	for i := range calls {
		calls[i] = w.newCall()
	}
	return w.calls(calls...)
}

// calls writes an assistant's message that calls tools, and their results.
func (w *logWriter) calls(calls ...call) error {
	w.openMessage("assistant")
	w.line = append(w.line, `,"content":[`...)
	w.thought()
	if w.r.IntN(2) == 0 {
		w.said(40 + w.r.IntN(160))
	}
	for _, c := range calls {
		w.called(c)
	}
	w.line[len(w.line)-1] = ']' // in place of the last comma
	if err := w.endAssistant("toolUse"); err != nil {
		return err
	}
	for _, c := range calls {
		if err := w.result(c); err != nil {
			return err
		}
	}
	return nil
}

func (w *logWriter) answer() error {
	w.openMessage("assistant")
	w.line = append(w.line, `,"content":[`...)
	w.thought()
	w.said(80 + w.skewed(2400))
	w.line[len(w.line)-1] = ']'
	return w.endAssistant("stop")
}

// thought appends, for a fourth of the messages, thinking with its signature.
func (w *logWriter) thought() {
	if w.r.IntN(4) != 0 {
		return
	}
	w.line = append(w.line, `{"type":"thinking"`...)
	w.scratch = w.author.prose(w.scratch[:0], 60+w.skewed(900))
	w.text("thinking", w.scratch)
	w.scratch = appendSignature(w.scratch[:0], w.r, 60+w.r.IntN(90))
	w.text("thinkingSignature", w.scratch)
	w.line = append(w.line, "},"...)
}

// said appends a text block and a comma.
func (w *logWriter) said(bytes int) {
	w.line = append(w.line, `{"type":"text"`...)
	w.scratch = w.author.prose(w.scratch[:0], bytes)
	w.text("text", w.scratch)
	w.line = append(w.line, "},"...)
}

func (w *logWriter) endAssistant(reason string) error {
	w.line = append(w.line, `,"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-5"`...)
	w.usage()
	w.text("stopReason", []byte(reason))
	return w.closeMessage()
}

// appendQuoted appends text as a JSON string the way JavaScript writes it. The
// texts of this package hold no control characters but line feed and tab.
func appendQuoted(dst, text []byte) []byte {
	dst = append(dst, '"')
	from := 0
	for i, c := range text {
		escaped := ""
		switch c {
		case '\n':
			escaped = `\n`
		case '\t':
			escaped = `\t`
		case '"':
			escaped = `\"`
		case '\\':
			escaped = `\\`
		default:
			continue
		}
		dst = append(append(dst, text[from:i]...), escaped...)
		from = i + 1
	}
	return append(append(dst, text[from:]...), '"')
}

func appendHex(dst []byte, r *rand.Rand, digits int) []byte {
	for range digits {
		dst = append(dst, "0123456789abcdef"[r.Uint32()&15])
	}
	return dst
}

// appendUUID appends a version 4 UUID.
func appendUUID(dst []byte, r *rand.Rand) []byte {
	dst = append(appendHex(dst, r, 8), '-')
	dst = append(append(appendHex(dst, r, 4), '-', '4'), appendHex(nil, r, 3)...)
	dst = append(append(dst, '-', 'a'), appendHex(nil, r, 3)...)
	return appendHex(append(dst, '-'), r, 12)
}

// appendSignature appends digits of base64, as thinking is signed with.
func appendSignature(dst []byte, r *rand.Rand, digits int) []byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for range digits {
		dst = append(dst, alphabet[r.Uint32()&63])
	}
	return dst
}

// appendTime appends a time in epoch milliseconds as JavaScript does.
func appendTime(dst []byte, ms int64) []byte {
	return time.UnixMilli(ms).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
}

// open begins a record that follows the one before it.
func (w *logWriter) open(kind string) {
	w.line = append(append(append(w.line[:0], `{"type":"`...), kind...), `","id":"`...)
	w.previous = append(w.previous[:0], w.id...)
	w.id = appendHex(w.id[:0], w.r, 8)
	w.line = append(append(w.line, w.id...), `","parentId":`...)
	if len(w.previous) == 0 {
		w.line = append(w.line, "null"...)
	} else {
		w.line = append(append(append(w.line, '"'), w.previous...), '"')
	}
	w.line = append(w.line, `,"timestamp":"`...)
	w.line = append(appendTime(w.line, w.clock), '"')
}

// close ends a record and writes it.
func (w *logWriter) close() error {
	w.line = append(w.line, '}', '\n')
	w.written += int64(len(w.line))
	w.log.Lines++
	w.context += int64(len(w.line)) / 5
	w.clock += 300 + int64(w.r.IntN(20000))
	_, err := w.out.Write(w.line)
	return err
}

func (w *logWriter) key(name string) {
	w.line = append(append(append(w.line, `,"`...), name...), `":`...)
}

func (w *logWriter) text(name string, value []byte) {
	w.key(name)
	w.line = appendQuoted(w.line, value)
}

func (w *logWriter) number(name string, value int64) {
	w.key(name)
	w.line = strconv.AppendInt(w.line, value, 10)
}

// usage appends what a model call cost and makes it the log's token count.
func (w *logWriter) usage() {
	output, fresh := int64(60+w.r.IntN(900)), int64(200+w.r.IntN(4000))
	cached := max(w.context-fresh-output, 0)
	total := 4 + output + cached + fresh
	w.line = append(w.line, `,"usage":{"input":4`...)
	w.number("output", output)
	w.number("cacheRead", cached)
	w.number("cacheWrite", fresh)
	w.number("totalTokens", total)
	w.line = append(w.line, `,"cost":{"input":0.00002,"output":`...)
	w.line = strconv.AppendFloat(w.line, float64(output)*25/1e6, 'g', -1, 64)
	w.line = append(w.line, `,"cacheRead":`...)
	w.line = strconv.AppendFloat(w.line, float64(cached)/2e6, 'g', -1, 64)
	w.line = append(w.line, `,"total":`...)
	w.line = strconv.AppendFloat(w.line, float64(total)/1e6, 'g', -1, 64)
	w.line = append(w.line, "}}"...)
	w.log.Tokens = total
}

// writeOneLine writes a log in which one tool result is as long as all else
// is short.
func writeOneLine(out io.Writer, seed uint64, size int64) (Log, error) {
	w := newLogWriter(bufio.NewWriterSize(out, 1<<20), seed)
	w.newStretch()
	if err := w.header(); err != nil {
		return Log{}, err
	}
	if err := w.user(); err != nil {
		return Log{}, err
	}
	if err := w.longResult(size); err != nil {
		return Log{}, err
	}
	if err := w.answer(); err != nil {
		return Log{}, err
	}
	w.log.Bytes = w.written
	return w.log, w.out.Flush()
}

// writeOutput writes what a tool has printed.
func writeOutput(out io.Writer, seed uint64, size int64) (Log, error) {
	line := fmt.Sprintf("line of output %d\n", seed)
	n, err := io.WriteString(out, strings.Repeat(line, max(1, int(size)/len(line))))
	return Log{Bytes: int64(n), Lines: n / len(line)}, err
}

// longResult writes the text of a tool result piece by piece.
func (w *logWriter) longResult(size int64) error {
	c := w.newCall()
	w.openMessage("assistant")
	w.line = append(w.line, `,"content":[`...)
	w.called(c)
	w.line[len(w.line)-1] = ']'
	if err := w.endAssistant("toolUse"); err != nil {
		return err
	}
	w.openMessage("toolResult")
	w.text("toolCallId", c.id)
	w.line = append(w.line, `,"content":[{"type":"text","text":"`...)
	for start := w.written; w.written-start < size; {
		w.written += int64(len(w.line))
		if _, err := w.out.Write(w.line); err != nil {
			return err
		}
		w.scratch = appendQuoted(w.scratch[:0], w.author.code(nil, 100_000))
		w.line = append(w.line[:0], w.scratch[1:len(w.scratch)-1]...)
	}
	w.line = append(w.line, `"}],"isError":false`...)
	return w.closeMessage()
}
