package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/bench/corpus"
)

// question is what a program answers. Programs with the same question must
// give the same answer.
type question string

const (
	tokens question = "tokens"
	lines  question = "lines"
	size   question = "bytes"
	chunks question = "chunks"
	cut    question = "messages, chunks, code points, hash"
	kinds  question = "records by type, bytes by type"
	loop   question = "what the loop has counted"
	found  question = "the nearest records"
	copied question = "bytes archived"
	shown  question = "sessions"
)

// program is one way to do an operation.
type program struct {
	name      string
	tool      string // key of tools.paths
	arguments func(*tools, corpus.Corpus) []string
	checked   func(*tools, corpus.Corpus) []string // for the check, if it asks for more
	question  question
	answer    func(out []byte) (string, error)
	target    target
	fresh     bool                               // runs in a copy of the corpus, because it changes it
	env       []string                           // beside the usual variables
	prepare   func(*driver, corpus.Corpus) error // before each run, untimed
}

// product says whether a program is ours.
func (p program) product() bool {
	return slices.Contains([]string{"sessctl", "extract", "kernel", "screen"}, p.tool)
}

// target is what the ratio of the CPU times must be. The zero value is none.
type target struct {
	most  float64 // product / program at most
	least float64 // program / product at least
}

// files prepends arguments to the paths of a corpus' logs.
func files(first ...string) func(*tools, corpus.Corpus) []string {
	return func(_ *tools, c corpus.Corpus) []string { return append(first, c.Paths()...) }
}

// script is files for a peer's script; flags come before the script's name.
func script(name string, flags ...string) func(*tools, corpus.Corpus) []string {
	return func(t *tools, c corpus.Corpus) []string {
		return append(append(flags[:len(flags):len(flags)], t.script(name)), c.Paths()...)
	}
}

// words is the arguments of a program that finds its files itself.
func words(arguments ...string) func(*tools, corpus.Corpus) []string {
	return func(*tools, corpus.Corpus) []string { return arguments }
}

// checkedScript asks a script to hash its chunks as well.
func checkedScript(name string) func(*tools, corpus.Corpus) []string {
	return func(t *tools, c corpus.Corpus) []string {
		return append([]string{t.script(name), "--check"}, c.Paths()...)
	}
}

func sessctlSizes() program {
	return program{
		name: "sessctl sizes", tool: "sessctl", arguments: words("sizes", "--no-cache"), checked: words("sizes", "--no-cache", "--json"),
		question: tokens, answer: sizesTokens,
	}
}

// browse shows the tree of all sessions on a terminal, and quits.
func browse() program {
	return program{
		name: "sessctl browse, until the tree is there", tool: "screen", question: shown, answer: trimmed,
		arguments: func(t *tools, _ corpus.Corpus) []string { return []string{t.paths["sessctl"]} },
	}
}

// countedSizes is sizes for what browse is compared with.
func countedSizes(t target) program {
	p := sessctlSizes()
	p.question, p.answer, p.target = shown, sizesSessions, t
	return p
}

// sizesSessions counts the sessions in what sizes answers.
func sizesSessions(out []byte) (string, error) {
	var document struct {
		Sessions []json.RawMessage `json:"sessions"`
	}
	if err := json.Unmarshal(out, &document); err != nil {
		return "", fmt.Errorf("the answer of sizes: %w", err)
	}
	return strconv.Itoa(len(document.Sessions)), nil
}

func extract() program {
	return program{name: "sessctl's read, extract, chunk", tool: "extract", arguments: files(), checked: files("--check"), question: cut, answer: trimmed}
}

// sessctlCompact does all of it: archive, memory, embedding, summary, rotation.
func sessctlCompact() program {
	return program{
		name: "sessctl compact", tool: "sessctl", arguments: words("compact", "--all", "--force", "--json"),
		question: chunks, answer: compactChunks, fresh: true,
	}
}

// extractChunks is the part of a compaction that reads, redacts and cuts.
func extractChunks() program {
	return program{name: "its read, extract, redact, chunk alone", tool: "extract", arguments: files("--redact"), question: chunks, answer: func(out []byte) (string, error) {
		words := strings.Fields(string(out))
		return words[1], nil
	}}
}

func wc(t target) program {
	return program{name: "wc -l", tool: "wc", arguments: files("-l"), question: lines, answer: lastTotal, target: t}
}

func find(t target) program { return findNamed("*.jsonl", t) }

func findNamed(name string, t target) program {
	return program{
		name: "find -printf %s", tool: "find", arguments: words(".", "-name", name, "-printf", "%s\n"),
		question: size, answer: sum, target: t,
	}
}

// planToClean looks at every log of an agent and says what becomes of it.
func planToClean() program {
	return program{
		name: "sessctl clean --dry-run", tool: "sessctl", arguments: words("clean", "--max-age", "7d", "--dry-run", "--json"),
		question: size, answer: cleanedBytes,
	}
}

// cleanedBytes adds up the logs of a plan, those that stay too.
func cleanedBytes(out []byte) (string, error) {
	var document struct {
		Sessions []struct {
			Bytes int64 `json:"bytes"`
		} `json:"sessions"`
	}
	if err := json.Unmarshal(out, &document); err != nil {
		return "", err
	}
	total := int64(0)
	for _, s := range document.Sessions {
		total += s.Bytes
	}
	return strconv.FormatInt(total, 10), nil
}

func findClosed() program {
	p := find(target{})
	p.name, p.arguments = "find -mtime +7 -printf %s", words(".", "-name", "*.jsonl.*", "-mtime", "+7", "-printf", "%s\n")
	return p
}

func sizesPython(t target) program {
	return program{name: "Python json", tool: "python3", arguments: script("sizes.py"), question: tokens, answer: trimmed, target: t}
}

func sizesNode(t target) program {
	return program{name: "Node", tool: "node", arguments: script("sizes.mjs"), question: tokens, answer: trimmed, target: t}
}

func sizesJQ(t target) program {
	return program{name: "jq", tool: "jq", arguments: script("sizes.jq", "-n", "-f"), question: tokens, answer: trimmed, target: t}
}

func extractPython(t target) program {
	return program{name: "Python json, lists", tool: "python3", arguments: script("extract.py"), checked: checkedScript("extract.py"), question: cut, answer: trimmed, target: t}
}

func extractNode(t target) program {
	return program{name: "Node", tool: "node", arguments: script("extract.mjs"), checked: checkedScript("extract.mjs"), question: cut, answer: trimmed, target: t}
}

func extractJQ(t target) program {
	return program{name: "jq", tool: "jq", arguments: script("extract.jq", "-nr", "-f"), question: cut, answer: trimmed, target: t}
}

func trimmed(out []byte) (string, error) { return strings.TrimSpace(string(out)), nil }

// sizesTokens adds up the tokens of sessctl's sessions.
func sizesTokens(out []byte) (string, error) {
	var document struct {
		Sessions []struct {
			Tokens int64  `json:"tokens"`
			Source string `json:"token_source"`
		} `json:"sessions"`
	}
	if err := json.Unmarshal(out, &document); err != nil {
		return "", err
	}
	total := int64(0)
	for _, s := range document.Sessions {
		if s.Source != "usage" {
			return "", fmt.Errorf("a session's tokens come from %q, want usage", s.Source)
		}
		total += s.Tokens
	}
	return strconv.FormatInt(total, 10), nil
}

// compactChunks returns how many chunks a compaction stored.
func compactChunks(out []byte) (string, error) {
	var document struct {
		Sessions []struct {
			Outcome string `json:"outcome"`
			Reason  string `json:"reason"`
			Chunks  int    `json:"chunks"`
			Pending int    `json:"chunks_pending"`
		} `json:"sessions"`
	}
	if err := json.Unmarshal(out, &document); err != nil {
		return "", err
	}
	total := 0
	for _, s := range document.Sessions {
		if s.Outcome != "compacted" || s.Pending > 0 {
			return "", fmt.Errorf("outcome %q (%s), %d chunks without an embedding", s.Outcome, s.Reason, s.Pending)
		}
		total += s.Chunks
	}
	return strconv.Itoa(total), nil
}

// lastTotal returns the number on the last line of wc.
func lastTotal(out []byte) (string, error) {
	words := strings.Fields(string(out))
	for i := len(words) - 2; i >= 0; i-- {
		if _, err := strconv.Atoi(words[i]); err == nil {
			return words[i], nil
		}
	}
	return "", errors.New("no number")
}

// sum adds up one number a line.
func sum(out []byte) (string, error) {
	total := int64(0)
	for line := range strings.FieldsSeq(string(out)) {
		n, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			return "", err
		}
		total += n
	}
	return strconv.FormatInt(total, 10), nil
}

// sizesAgain is `sizes` when nothing has changed since it ran last.
func sizesAgain() program {
	return program{
		name: "sessctl sizes, again", tool: "sessctl", arguments: words("sizes"), checked: words("sizes", "--json"),
		question: tokens, answer: sizesTokens, prepare: rememberOnce,
	}
}

// rememberOnce lets sizes remember a corpus that it has not seen yet.
func rememberOnce(d *driver, c corpus.Corpus) error {
	remembered := filepath.Join(c.Home, ".cache", "sessctl", "sizes")
	built, err := os.Stat(d.tools.paths["sessctl"])
	if err != nil {
		return err
	}
	if info, err := os.Stat(remembered); err == nil && info.ModTime().After(built.ModTime()) {
		return nil
	}
	p := program{name: "sessctl sizes", tool: "sessctl", arguments: words("sizes")}
	_, err = d.run(p, c, p.arguments)
	return err
}

// byType reads every log in full.
func byType() program {
	return program{name: "sessctl sizes --by-type", tool: "sessctl", arguments: words("sizes", "--by-type", "--json"), question: kinds, answer: typeShares}
}

// workers is a program of the product with so many workers.
func workers(p program, n int, t target) program {
	option := "--workers=" + strconv.Itoa(n)
	with := func(arguments func(*tools, corpus.Corpus) []string) func(*tools, corpus.Corpus) []string {
		return func(t *tools, c corpus.Corpus) []string { return append([]string{option}, arguments(t, c)...) }
	}
	p.name, p.arguments, p.target = p.name+" "+option, with(p.arguments), t
	if p.checked != nil {
		p.checked = with(p.checked)
	}
	return p
}

func typesPeer(tool, name string, t target) program {
	arguments := script(name)
	if tool == "jq" {
		arguments = script(name, "-nr", "-f")
	}
	label := map[string]string{"python3": "Python json", "node": "Node", "jq": "jq"}[tool]
	return program{name: label, tool: tool, arguments: arguments, question: kinds, answer: trimmed, target: t}
}

// typeShares makes two words of sizes' answer: the records of each type and the
// bytes of each, by name.
func typeShares(out []byte) (string, error) {
	var document struct {
		Types []struct {
			Type    string `json:"type"`
			Records int64  `json:"records"`
			Bytes   int64  `json:"bytes"`
		} `json:"types"`
	}
	if err := json.Unmarshal(out, &document); err != nil {
		return "", err
	}
	var records, bytes []string
	for _, t := range document.Types {
		name := strings.ReplaceAll(t.Type, " ", "/") + "="
		records = append(records, name+strconv.FormatInt(t.Records, 10))
		bytes = append(bytes, name+strconv.FormatInt(t.Bytes, 10))
	}
	slices.Sort(records)
	slices.Sort(bytes)
	return strings.Join(records, ",") + " " + strings.Join(bytes, ","), nil
}

// loopOf is one loop of the product, or its counterpart, on a log in memory:
// what counts is the time of the loop, not of the process.
func loopOf(name, loopName string, t target) program {
	return program{name: name, tool: "kernel", arguments: files(loopName), question: loop, answer: trimmed, target: t}
}

// ofLoop takes the cost that a program tells on its last line.
func (s sample) ofLoop() (sample, error) {
	answer, cost, ok := strings.Cut(strings.TrimSpace(string(s.out)), "\n")
	var nanoseconds, allocs, bytes int64
	if _, err := fmt.Sscanf(cost, "cpu %d allocs %d bytes %d", &nanoseconds, &allocs, &bytes); !ok || err != nil || bytes == 0 {
		return s, fmt.Errorf("a loop tells its cost by %q", cost)
	}
	s.cpu, s.allocs, s.out = time.Duration(nanoseconds), float64(allocs)*1e6/float64(bytes), []byte(answer)
	return s, nil
}

// archived makes verified, compressed copies of all sessions.
func archived() program {
	return program{
		name: "sessctl archive, zstd, verified", tool: "sessctl", arguments: words("archive", "--all", "--json"),
		question: copied, answer: archivedBytes, fresh: true, env: []string{"SESSCTL_ARCHIVE_COMPRESSION=zstd"},
	}
}

// archivedAgain looks whether anything has changed of what is archived.
func archivedAgain() program {
	return program{
		name: "sessctl archive --all, again", tool: "sessctl", arguments: words("archive", "--all"), checked: words("archive", "--all", "--json"),
		question: copied, answer: archivedBytes, prepare: archiveOnce,
	}
}

// archiveOnce archives a corpus that has no archive yet. A first run of all notes what
// it has seen of logs that settle within two seconds, so it is run until nothing is new.
func archiveOnce(d *driver, c corpus.Corpus) error {
	if _, err := os.Stat(filepath.Join(c.Home, ".local", "share", "sessctl", "archives")); err == nil {
		return nil
	}
	p := program{name: "sessctl archive --all", tool: "sessctl", arguments: words("archive", "--all")}
	for range 2 {
		if _, err := d.run(p, c, p.arguments); err != nil {
			return err
		}
		time.Sleep(3 * time.Second) // its own files settle
	}
	_, err := d.run(p, c, p.arguments)
	return err
}

func archivedBytes(out []byte) (string, error) {
	var document struct {
		Archives []struct {
			Outcome string `json:"outcome"`
			Bytes   int64  `json:"bytes"`
		} `json:"archives"`
	}
	if err := json.Unmarshal(out, &document); err != nil {
		return "", err
	}
	total := int64(0)
	for _, a := range document.Archives {
		if a.Outcome != "archived" {
			return "", fmt.Errorf("outcome %q", a.Outcome)
		}
		total += a.Bytes
	}
	return strconv.FormatInt(total, 10), nil
}

// zstdAndRead compresses a log, and reads it once more.
func zstdAndRead(t target) program {
	return program{
		name: "zstd -3, one thread, and one read", tool: "zstd and sh", question: copied, answer: trimmed, target: t,
		arguments: func(t *tools, c corpus.Corpus) []string {
			command := `"$0" -q -3 --single-thread -f -o "$2" "$1" && cat "$1" | wc -c; rm -f "$2"`
			return []string{"-c", command, t.paths["zstd"], c.Logs[0].Path, filepath.Join(t.dir, "zstd.out")}
		},
	}
}

// records is how many records the memory has that a corpus' name stands for.
func records(name string) (int, bool) {
	n, ok := map[string]int{"memory10k": 10_000, "memory100k": 100_000, "memory1m": 1_000_000}[name]
	return n, ok
}

// memory makes a memory that is only searched.
func (d *driver) memory(name string, n int) (corpus.Corpus, error) {
	c := corpus.Corpus{Name: name, Home: filepath.Join(d.options.dir, name+"-v2"), Logs: []corpus.Log{{Bytes: int64(n) * 4096}}}
	whole := filepath.Join(c.Home, "whole")
	if _, err := os.Stat(whole); err == nil {
		return c, nil
	}
	if err := os.RemoveAll(c.Home); err != nil {
		return c, err
	}
	fmt.Fprintf(os.Stderr, "memory of %d records\n", n)
	p := program{name: "scan fill", tool: "scan", arguments: words("fill", c.Home, strconv.Itoa(n))}
	if err := os.MkdirAll(c.Home, 0o700); err != nil {
		return c, err
	}
	if _, err := d.run(p, c, p.arguments); err != nil {
		return c, err
	}
	return c, os.WriteFile(whole, nil, 0o600)
}

// asked is what every memory is asked, and what bench/scan asks.
const asked = "which port did the importer get, and who chose it"

// recall asks a memory. What is checked is the order by vectors alone: they are
// drawn at random, so none fits the question, and the bound for what fits is off.
func recall() program {
	return program{
		name: "sessctl recall", tool: "sessctl", arguments: words("recall", asked),
		checked: words("recall", "--rank", "vector", "--min-score", "0", "--json", asked), question: found, answer: hitIDs,
	}
}

func bareScan(t target) program {
	return program{
		name: "bare scan of the vectors", tool: "scan", question: found, answer: trimmed, target: t,
		arguments: func(_ *tools, c corpus.Corpus) []string { return []string{"run", c.Home} },
	}
}

func hitIDs(out []byte) (string, error) {
	var document struct {
		Hits []struct {
			ID string `json:"id"`
		} `json:"hits"`
	}
	if err := json.Unmarshal(out, &document); err != nil {
		return "", err
	}
	var ids []string
	for _, h := range document.Hits {
		ids = append(ids, h.ID)
	}
	return strings.Join(ids, " "), nil
}

// vectorDB asks the same vectors, and nothing else, of a library that keeps
// them: vec0 of sqlite-vec, or chromem-go.
func vectorDB(kind string) program {
	name := map[string]string{"vec0": "sqlite-vec, table vec0", "chromem": "chromem-go, its own files"}[kind]
	return program{
		name: name, tool: "vectordb", question: found, answer: trimmed,
		arguments: func(_ *tools, c corpus.Corpus) []string { return []string{"ask", kind, c.Home} },
		prepare: func(d *driver, c corpus.Corpus) error {
			whole := filepath.Join(c.Home, kind+"-whole")
			if _, err := os.Stat(whole); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			p := program{name: name, tool: "vectordb", arguments: words("fill", kind, c.Home)}
			if _, err := d.run(p, c, p.arguments); err != nil {
				return err
			}
			return os.WriteFile(whole, nil, 0o600)
		},
	}
}
