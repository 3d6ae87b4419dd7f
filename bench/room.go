package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/bench/corpus"
)

// room is what is kept of logs, in bytes.
type room struct {
	memory   int64 // of all files
	fullText int64 // of a database that has the texts in a table of FTS5, and nothing else; 0 if it was not made
}

// measureRoom remembers all sessions of a corpus and looks how large the memory
// is. The same texts go into SQLite's full-text index, as it comes.
func (d *driver) measureRoom(op operation, c corpus.Corpus) (result, error) {
	if d.tools.paths["sessctl"] == "" {
		return result{operation: op, leftOut: "not built"}, nil
	}
	home, err := d.copyOf(c)
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(home)
	copied := corpus.Corpus{Name: c.Name, Home: home}
	for _, step := range []program{
		{name: "sessctl archive --remember", tool: "sessctl", arguments: words("archive", "--all", "--remember", "--quiet")},
		{name: "sessctl memory export", tool: "sessctl", arguments: words("memory", "export", "--output", "memories.jsonl")},
	} {
		if _, err := d.run(step, copied, step.arguments); err != nil {
			return result{}, err
		}
	}
	r := &room{}
	if r.memory, err = bytesBelow(filepath.Join(home, ".local", "share", "sessctl", "memory")); err != nil {
		return result{}, err
	}
	if d.tools.paths["vectordb"] != "" {
		p := program{name: "FTS5", tool: "vectordb", arguments: words("fill", "fts5", home)}
		s, err := d.run(p, copied, p.arguments)
		if err != nil {
			return result{}, err
		}
		if r.fullText, err = strconv.ParseInt(strings.TrimSpace(string(s.out)), 10, 64); err != nil {
			return result{}, err
		}
	}
	return result{operation: op, bytes: c.Bytes(), room: r}, nil
}

// bytesBelow is the size of all files below a directory.
func bytesBelow(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// roomRows are the lines of an operation that measures bytes.
func roomRows(res result) []row {
	rows := []row{{
		operation: res.operation.name, program: "sessctl memory", ratio: fmt.Sprintf("%.2f of the log", float64(res.room.memory)/float64(res.bytes)),
	}}
	if res.room.fullText > 0 {
		rows = append(rows, row{program: "SQLite FTS5 alone, with the texts", ratio: fmt.Sprintf("%.2f of the log", float64(res.room.fullText)/float64(res.bytes))})
	}
	return rows
}
