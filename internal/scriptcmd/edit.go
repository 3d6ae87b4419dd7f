package scriptcmd

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// lines FILE RANGE prints lines of a file: N is one, N-M some, -N the last N.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines FILE N | N-M | -N")
	}
	_, err := ts.Stdout().Write([]byte(chosen(ts, ts.ReadFile(args[0]), args[1])))
	ts.Check(err)
}

// chosen returns the lines of a range. It fails where the text has fewer.
func chosen(ts *testscript.TestScript, text, lineRange string) string {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	from, to, several := strings.Cut(lineRange, "-")
	if !several {
		to = from
	}
	first, last := 0, number(ts, to)
	if from == "" {
		first, last = len(all)-last+1, len(all)
	} else {
		first = number(ts, from)
	}
	if first < 1 || last < first || last > len(all) {
		ts.Fatalf("no lines %s among %d", lineRange, len(all))
	}
	return strings.Join(all[first-1:last], "")
}

func number(ts *testscript.TestScript, text string) int {
	n, err := strconv.Atoi(text)
	ts.Check(err)
	return n
}

// append FILE FROM [RANGE] adds the text of another file, or some of its lines,
// to the end of a file that is there.
func appendFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: append FILE FROM [RANGE]")
	}
	text := ts.ReadFile(args[1])
	if len(args) == 3 {
		text = chosen(ts, text, args[2])
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.WriteString(text)
	ts.Check(err)
	ts.Check(f.Close())
}

// replace REGEXP TEXT PATTERN... replaces every match in each file that fits,
// which all must have one; $1 is a group.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: replace REGEXP TEXT PATTERN...")
	}
	old := regexp.MustCompile("(?m)" + args[0])
	for _, path := range some(ts, args[2:]) {
		change(ts, path, func(data []byte) []byte {
			if !old.Match(data) {
				ts.Fatalf("%s has nothing that matches %s", path, args[0])
			}
			return old.ReplaceAll(data, []byte(args[1]))
		})
	}
}

// overwrite FILE OFFSET TEXT writes over the bytes of a file from an offset on,
// as a fault of a disk would.
func overwrite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: overwrite FILE OFFSET TEXT")
	}
	offset := number(ts, args[1])
	change(ts, ts.MkAbs(args[0]), func(data []byte) []byte {
		if offset+len(args[2]) > len(data) || bytes.HasPrefix(data[offset:], []byte(args[2])) {
			ts.Fatalf("%s has %d bytes, or these already", args[0], len(data))
		}
		copy(data[offset:], args[2])
		return data
	})
}

// shorten PATTERN BYTES cuts the files that fit off after so many bytes.
func shorten(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: shorten PATTERN BYTES")
	}
	for _, path := range some(ts, args[:1]) {
		info, err := os.Stat(path)
		ts.Check(err)
		if n := int64(number(ts, args[1])); info.Size() > n {
			ts.Check(os.Truncate(path, n))
			continue
		}
		ts.Fatalf("%s has only %d bytes", path, info.Size())
	}
}

// remove PATTERN... removes what fits, files and directories; something must.
func remove(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: remove PATTERN...")
	}
	for _, path := range some(ts, args) {
		ts.Check(os.RemoveAll(path))
	}
}

// some lists what fits the patterns, each of which must fit something.
func some(ts *testscript.TestScript, patterns []string) (paths []string) {
	for _, pattern := range patterns {
		found := matching(ts, pattern)
		if len(found) == 0 {
			ts.Fatalf("nothing fits %s", pattern)
		}
		paths = append(paths, found...)
	}
	return paths
}

// change writes a file anew, with the permissions that it has.
func change(ts *testscript.TestScript, path string, to func([]byte) []byte) {
	data, err := os.ReadFile(path)
	ts.Check(err)
	ts.Check(os.WriteFile(path, to(data), 0o600))
}
