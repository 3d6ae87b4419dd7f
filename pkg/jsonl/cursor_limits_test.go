package jsonl

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCursorStringsLiveSideBySide(t *testing.T) {
	var text strings.Builder
	text.WriteString("[")
	var want []string
	for i := range 3000 {
		fmt.Fprintf(&text, `"plain %d","line\n%d",`, i, i)
		want = append(want, fmt.Sprintf("plain %d", i), fmt.Sprintf("line\n%d", i))
	}
	text.WriteString(`"end"]`)
	want = append(want, "end")
	c := cursorOn(text.String())
	var held [][]byte
	for ok := c.EnterArray(); ok && c.NextElement(); {
		b, _ := c.Bytes()
		held = append(held, b)
	}
	var got []string
	for _, b := range held {
		if cap(b) != len(b) {
			t.Fatal("appending to a string would overwrite the next one")
		}
		got = append(got, string(b))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCursorKeyOutlivesTheValue(t *testing.T) {
	c := cursorOn(`{"a\n":"` + strings.Repeat(`text\n`, 5000) + `","b\n":1}`)
	c.EnterObject()
	c.NextKey()
	c.Bytes()
	if got := string(c.Key()); got != "a\n" {
		t.Errorf("after reading the value the key is %.20q", got)
	}
}

func TestCursorDepth(t *testing.T) {
	for _, n := range []int{1, 63, 64, 65, 128, 9999, 10_000, 10_001, 10_002, 10_050, 30_000} {
		for _, brackets := range [][2]string{{"[", "]"}, {`{"a":`, "}"}, {`[{"a":`, "}]"}} {
			opens := n / len(brackets[1])
			text := strings.Repeat(brackets[0], opens) + "1" + strings.Repeat(brackets[1], opens)
			want := json.Valid([]byte(text))
			if err := cursorOn(text).End(); (err == nil) != want {
				t.Errorf("skipping %d times %s: %v", opens, brackets[0], err)
			}
			c := cursorOn(text)
			for c.Kind() == Array || c.Kind() == Object {
				if c.Kind() == Array {
					c.EnterArray()
					c.NextElement()
				} else {
					c.EnterObject()
					c.NextKey()
				}
			}
			if err := c.End(); (err == nil) != want {
				t.Errorf("entering %d times %s: %v", opens, brackets[0], err)
			}
		}
	}
}

func TestCursorDoesNotAllocate(t *testing.T) {
	raw := []byte(`{"type":"message","id":"a1","message":{"role":"user","content":[{"type":"text","text":"line\nline \u00e4 ` +
		strings.Repeat(`more \"text\"\n`, 100) + `"}],"usage":{"input":12,"output":3.0,"cost":{"total":0.25}}}}`)
	var c Cursor
	walk := func() {
		c.Reset(raw)
		if _, err := visit(&c); err != nil {
			t.Fatal(err)
		}
	}
	walk()
	if n := testing.AllocsPerRun(100, walk); n != 0 {
		t.Errorf("a walk allocates %v times", n)
	}
}

// visit reads every value and returns how many there are.
func visit(c *Cursor) (int, error) {
	n := 1
	switch c.Kind() {
	case Object:
		for c.EnterObject(); c.NextKey(); {
			m, _ := visit(c)
			n += m + len(c.Key())
		}
	case Array:
		for c.EnterArray(); c.NextElement(); {
			m, _ := visit(c)
			n += m
		}
	case String:
		c.Bytes()
	case Number:
		if _, ok := c.Int64(); !ok {
			n++
		}
	default:
		c.Bool()
	}
	return n, c.Err()
}
