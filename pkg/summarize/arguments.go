package summarize

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// argumentBytes is the most of a path or a command that is kept.
const argumentBytes = 4 << 10

// eachArgument goes over the members of the arguments of a tool call. Only
// what yield reads is decoded, so a call with a file in it costs little.
func eachArgument(c *jsonl.Cursor, object []byte, yield func(key string, value *jsonl.Cursor)) {
	c.Reset(object)
	if !c.EnterObject() {
		return
	}
	for c.NextKey() {
		yield(string(c.Key()), c)
	}
}

// argumentText returns a string, or the strings of a list in a row, as
// commands are given to some tools.
func argumentText(c *jsonl.Cursor) string {
	if c.Kind() != jsonl.Array {
		text, _ := c.Bytes()
		return string(cut(text, argumentBytes))
	}
	var words []string
	c.EnterArray()
	for c.NextElement() {
		if word, ok := c.Bytes(); ok && len(words) < 256 {
			words = append(words, string(cut(word, argumentBytes)))
		}
	}
	return string(cut([]byte(strings.Join(words, " ")), argumentBytes))
}

// patchedFiles returns the files that an apply_patch text names.
func patchedFiles(patch []byte) []string {
	var names []string
	for line := range bytes.Lines(patch) {
		for _, verb := range []string{"*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "} {
			rest, ok := bytes.CutPrefix(line, []byte(verb))
			name := string(bytes.TrimSpace(cut(rest, argumentBytes)))
			if ok && name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
