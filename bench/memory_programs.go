package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/bench/corpus"
)

// records is how many records the memory has that a corpus' name stands for.
func records(name string) (int, bool) {
	n, ok := map[string]int{"memory10k": 10_000, "memory100k": 100_000, "memory1m": 1_000_000}[name]
	return n, ok
}

// memory makes a memory that is only searched.
func (d *driver) memory(name string, n int) (corpus.Corpus, error) {
	c := corpus.Corpus{Name: name, Home: filepath.Join(d.options.dir, name+"-v1"), Logs: []corpus.Log{{Bytes: int64(n) * 4096}}}
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

func recall() program {
	return program{
		name: "sessctl recall", tool: "sessctl", arguments: words("recall", asked),
		checked: words("recall", "--rank", "vector", "--json", asked), question: found, answer: hitIDs,
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
