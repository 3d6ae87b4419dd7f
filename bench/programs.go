package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

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
	return p.tool == "sessctl" || p.tool == "extract" || p.tool == "kernel"
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

// extractChunks is the part of a compaction that reads and cuts.
func extractChunks() program {
	return program{name: "its read, extract, chunk alone", tool: "extract", arguments: files(), question: chunks, answer: func(out []byte) (string, error) {
		words := strings.Fields(string(out))
		return words[1], nil
	}}
}

func wc(t target) program {
	return program{name: "wc -l", tool: "wc", arguments: files("-l"), question: lines, answer: lastTotal, target: t}
}

func find(t target) program {
	return program{
		name: "find -printf %s", tool: "find", arguments: words(".", "-name", "*.jsonl", "-printf", "%s\n"),
		question: size, answer: sum, target: t,
	}
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
