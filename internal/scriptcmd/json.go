package scriptcmd

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// jsonhas FILE PATH REGEXP checks one value of a JSON document; PATH is
// dotted, with numbers for list elements ("sessions.0.outcome") and len for
// the length of a list.
func jsonHas(ts *testscript.TestScript, neg bool, args []string) {
	var value any
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	dec.UseNumber()
	ts.Check(dec.Decode(&value))
	for _, step := range strings.Split(args[1], ".") {
		value = stepInto(ts, value, step)
	}
	got := strings.TrimSpace(fmt.Sprint(value))
	if matched := regexp.MustCompile("(?s)^(?:" + args[2] + ")$").MatchString(got); matched == neg {
		ts.Fatalf("%s: %s is %q, want match %v of %q", args[0], args[1], got, !neg, args[2])
	}
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
