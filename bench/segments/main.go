// Command segments measures what archives that repeat each other would take if
// they shared line-aligned segments, beside what zstd makes of them alone, with
// the archive before as its dictionary, and in one stream (docs/dev/decisions.md D12).
//
//	go run ./segments a.jsonl b.jsonl ...          # logs that repeat each other, oldest first
//	go run ./segments -forks 5 -as rewritten a.jsonl other.jsonl
//
// With -forks each fork is the first 92 % of the lines of the first log, as the
// runtime would write them, and as many lines of the second log as are missing.
package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"regexp"

	"github.com/klauspost/compress/zstd"
)

func main() {
	forks := flag.Int("forks", 0, "make so `many` forks of the first log")
	as := flag.String("as", "copied", "how a fork's lines differ: `copied` (pi), restamped (Codex), rewritten (Claude Code), grown (archives of one log)")
	segment := flag.Int("segment", 64<<10, "least `bytes` of a segment")
	flag.Parse()
	if err := run(flag.Args(), *forks, *as, *segment); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(paths []string, forks int, as string, segment int) error {
	var logs [][]byte
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		logs = append(logs, text)
	}
	if forks > 0 && len(logs) == 2 {
		logs = family(logs[0], logs[1], forks, as)
	}
	raw := 0
	for _, log := range logs {
		raw += len(log)
	}
	fmt.Printf("%d logs, %d bytes, %.1f %% of them lines that stand in an earlier one\n", len(logs), raw, 100*repeated(logs)/float64(raw))
	alone := 0
	for _, way := range []struct {
		name  string
		bytes func() (int, error)
	}{
		{"each alone, as archives are", func() (int, error) { return eachAlone(logs) }},
		{"each alone, a better level", func() (int, error) { return eachAlone(logs, better...) }},
		{"shared segments", func() (int, error) { return shared(logs, segment) }},
		{"shared lines in one stream", func() (int, error) { return uniqueLines(logs) }},
		{"with the log before as dictionary", func() (int, error) { return withDictionary(logs) }},
		{"all in one stream, window 128 MiB", func() (int, error) { return oneStream(logs) }},
	} {
		n, err := way.bytes()
		if err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
		if alone == 0 {
			alone = n
		}
		fmt.Printf("%-36s %10d  %5.1f %% of today\n", way.name, n, 100*float64(n)/float64(alone))
	}
	return nil
}

func lines(log []byte) [][]byte { return bytes.SplitAfter(log, []byte("\n")) }

// repeated counts the bytes of lines that an earlier log has.
func repeated(logs [][]byte) (n float64) {
	seen := map[[32]byte]bool{}
	for _, log := range logs {
		var own [][32]byte
		for _, line := range lines(log) {
			sum := sha256.Sum256(line)
			if seen[sum] {
				n += float64(len(line))
			}
			own = append(own, sum)
		}
		for _, sum := range own {
			seen[sum] = true
		}
	}
	return n
}

var (
	stamps = regexp.MustCompile(`"timestamp":"[^"]*"`)
	ids    = regexp.MustCompile(`"(sessionId|promptId|cwd)":"[^"]*"`)
)

// family is a log and its forks.
func family(log, other []byte, forks int, as string) [][]byte {
	all := lines(log)
	kept := len(all) * 92 / 100
	logs := [][]byte{log}
	for n := range forks {
		if as == "grown" {
			logs = append([][]byte{bytes.Join(all[:len(all)*(forks-n)/(forks+1)], nil)}, logs...)
			continue
		}
		var fork bytes.Buffer
		for i, line := range all[:kept] {
			fork.Write(inFork(line, as, n, i))
		}
		for i, line := range lines(other) {
			if i%forks == n && fork.Len() < len(log) {
				fork.Write(line)
			}
		}
		logs = append(logs, fork.Bytes())
	}
	return logs
}

// inFork is a line as a runtime writes it into a fork.
func inFork(line []byte, as string, fork, i int) []byte {
	switch {
	case as == "restamped":
		return stamps.ReplaceAll(line, fmt.Appendf(nil, `"timestamp":"2026-11-%02dT10:%02d:%02d.%03dZ"`, fork+1, i/60%60, i%60, i*7%1000))
	case as == "rewritten":
		return ids.ReplaceAll(line, fmt.Appendf(nil, `"$1":"00000000-0000-4000-8000-%012d"`, fork))
	case i == 0:
		return bytes.Replace(line, []byte(`"id":"`), fmt.Appendf(nil, `"id":"%d`, fork), 1)
	}
	return line
}

// better looks further back for what repeats.
var better = []zstd.EOption{zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithWindowSize(128 << 20)}

// compressed is the length of a text as archives are compressed.
func compressed(text []byte, more ...zstd.EOption) (int, error) {
	var out bytes.Buffer
	options := []zstd.EOption{zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(4 << 20)}
	w, err := zstd.NewWriter(&out, append(options, more...)...)
	if err != nil {
		return 0, err
	}
	if _, err := w.Write(text); err != nil {
		return 0, err
	}
	err = w.Close()
	return out.Len(), err
}

func eachAlone(logs [][]byte, more ...zstd.EOption) (sum int, err error) {
	for _, log := range logs {
		n, err := compressed(log, more...)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// shared keeps every segment once: it ends with a line whose hash says so, so that
// the same lines make the same segments wherever they stand.
func shared(logs [][]byte, least int) (sum int, err error) {
	seen := map[[32]byte]bool{}
	const named = 40 // bytes that a log needs to name a segment
	for _, log := range logs {
		var segment []byte
		all := lines(log)
		for i, line := range all {
			segment = append(segment, line...)
			mark := sha256.Sum256(line)
			if i < len(all)-1 && len(segment) < 4*least && (len(segment) < least || mark[0]&7 > 0) {
				continue
			}
			id := sha256.Sum256(segment)
			if sum += named; !seen[id] {
				n, err := compressed(segment)
				if err != nil {
					return 0, err
				}
				sum += n
			}
			seen[id], segment = true, nil
		}
	}
	return sum, nil
}

// uniqueLines is the best that sharing lines could do: each stands once, in one
// stream, and naming them costs nothing.
func uniqueLines(logs [][]byte) (int, error) {
	seen := map[[32]byte]bool{}
	var once []byte
	for _, log := range logs {
		for _, line := range lines(log) {
			if sum := sha256.Sum256(line); !seen[sum] {
				seen[sum], once = true, append(once, line...)
			}
		}
	}
	return compressed(once, zstd.WithWindowSize(128<<20))
}

// withDictionary compresses each log with the one before as its dictionary, which
// whoever reads it needs as well.
func withDictionary(logs [][]byte) (sum int, err error) {
	for i, log := range logs {
		var more []zstd.EOption
		if i > 0 {
			more = append([]zstd.EOption{zstd.WithEncoderDictRaw(1, logs[i-1])}, better...)
		}
		n, err := compressed(log, more...)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func oneStream(logs [][]byte) (int, error) {
	return compressed(bytes.Join(logs, nil), better...)
}
