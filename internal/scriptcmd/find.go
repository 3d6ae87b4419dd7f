package scriptcmd

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// matching lists the paths that fit a pattern, in order of their names.
func matching(ts *testscript.TestScript, pattern string) []string {
	paths, err := filepath.Glob(ts.MkAbs(pattern))
	ts.Check(err)
	return paths
}

// file NAME PATTERN [first|last] sets $NAME to the path that fits the pattern:
// the only one, or the first or last by name.
func file(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: file NAME PATTERN [first|last]")
	}
	paths, which := matching(ts, args[1]), strings.Join(args[2:], "")
	switch {
	case len(paths) == 0:
		ts.Fatalf("nothing fits %s", args[1])
	case which == "last":
		ts.Setenv(args[0], paths[len(paths)-1])
	case which == "first" || len(paths) == 1:
		ts.Setenv(args[0], paths[0])
	default:
		ts.Fatalf("%d files fit %s, not one: %s", len(paths), args[1], paths)
	}
}

// id NAME PATTERN [first|last] is file, but sets $NAME to the base name without
// its ending: receipts and archives are named by their ids.
func id(ts *testscript.TestScript, neg bool, args []string) {
	file(ts, neg, args)
	name := filepath.Base(ts.Getenv(args[0]))
	ts.Setenv(args[0], strings.TrimSuffix(name, filepath.Ext(name)))
}

// read NAME PATTERN sets $NAME to the text of the only file that fits.
func read(ts *testscript.TestScript, neg bool, args []string) {
	file(ts, neg, args)
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(ts.Getenv(args[0]))))
}

// holds REGEXP PATTERN... fails unless a file that fits has a match; something
// must fit.
func holds(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: holds REGEXP PATTERN...")
	}
	text, found := regexp.MustCompile("(?m)"+args[0]), ""
	for _, path := range some(ts, args[1:]) {
		if text.MatchString(ts.ReadFile(path)) {
			found = path
		}
	}
	if (found != "") == neg {
		ts.Fatalf("%q was found in %q among %s", args[0], found, args[1:])
	}
}

// count N PATTERN... fails unless N paths fit the patterns.
func count(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: count N PATTERN...")
	}
	var paths []string
	for _, pattern := range args[1:] {
		paths = append(paths, matching(ts, pattern)...)
	}
	if same := strconv.Itoa(len(paths)) == args[0]; same == neg {
		ts.Fatalf("%d files fit %s: %s", len(paths), args[1:], paths)
	}
}

// mode PERMISSIONS PATH... fails unless each path has these permissions, which
// are octal.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: mode PERMISSIONS PATH...")
	}
	for _, arg := range args[1:] {
		info, err := os.Stat(ts.MkAbs(arg))
		ts.Check(err)
		if got := fmt.Sprintf("%o", info.Mode().Perm()); (got == args[0]) == neg {
			ts.Fatalf("%s has the permissions %s", arg, got)
		}
	}
}
