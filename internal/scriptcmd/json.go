package scriptcmd

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// jsonhas FILE PATH REGEXP checks one value of a JSON document; PATH is
// dotted, with numbers for list elements ("sessions.0.outcome") and len for
// the length of a list.
func jsonHas(ts *testscript.TestScript, neg bool, args []string) {
	got := jsonValue(ts, args[0], args[1])
	if matched := regexp.MustCompile("(?s)^(?:" + args[2] + ")$").MatchString(got); matched == neg {
		ts.Fatalf("%s: %s is %q, want match %v of %q", args[0], args[1], got, !neg, args[2])
	}
}

// jsonget NAME FILE PATH sets $NAME to one value of a JSON document.
func jsonGet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: jsonget NAME FILE PATH")
	}
	ts.Setenv(args[0], jsonValue(ts, args[1], args[2]))
}

func jsonValue(ts *testscript.TestScript, file, path string) string {
	var value any
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	dec.UseNumber()
	ts.Check(dec.Decode(&value))
	for _, step := range strings.Split(path, ".") {
		value = stepInto(ts, value, step)
	}
	return strings.TrimSpace(fmt.Sprint(value))
}

func stepInto(ts *testscript.TestScript, value any, step string) any {
	switch v := value.(type) {
	case map[string]any:
		inner, ok := v[step]
		if !ok {
			ts.Fatalf("no key %q", step)
		}
		return inner
	case []any:
		if step == "len" {
			return len(v)
		}
		var i int
		if _, err := fmt.Sscan(step, &i); err != nil || i >= len(v) {
			ts.Fatalf("no element %q of %d", step, len(v))
		}
		return v[i]
	}
	ts.Fatalf("%q of a value that has no parts", step)
	return nil
}

// nest FILE DEPTH OPEN CLOSE puts 1 between so many brackets where NESTED stands
// in a file.
func nest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: nest FILE DEPTH OPEN CLOSE")
	}
	before, after, found := strings.Cut(ts.ReadFile(args[0]), "NESTED")
	if !found {
		ts.Fatalf("%s has no NESTED", args[0])
	}
	depth := number(ts, args[1])
	text := before + strings.Repeat(args[2], depth) + "1" + strings.Repeat(args[3], depth) + after
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}
