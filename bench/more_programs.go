package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/bench/corpus"
)

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
