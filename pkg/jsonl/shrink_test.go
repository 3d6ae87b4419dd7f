package jsonl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// tokens returns what encoding/json sees in text, in order.
func tokens(t failer, text []byte) []json.Token {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var all []json.Token
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("%.300q: %v", text, err)
		}
		all = append(all, token)
	}
}

// checkShape checks that shrunk has the structure of whole, that strings whose
// raw text is no longer than limit are the same, and that others are cut to a
// beginning of themselves.
func checkShape(t failer, whole, shrunk []byte, limit int) {
	want, got := tokens(t, whole), tokens(t, shrunk)
	if len(got) != len(want) {
		t.Fatalf("%d tokens became %d: %.300q", len(want), len(got), shrunk)
	}
	for i := range want {
		long, isString := want[i].(string)
		if !isString || len(long)*6 <= limit {
			if got[i] != want[i] {
				t.Fatalf("token %d, %.100q, became %.100q", i, want[i], got[i])
			}
			continue
		}
		if short, ok := got[i].(string); !ok || !strings.HasPrefix(long, short) {
			t.Fatalf("token %d, %.100q, became %.100q", i, want[i], got[i])
		}
	}
}

func TestShrinkKeepsTheStructure(t *testing.T) {
	unit := rapid.SampledFrom([]string{"x", `\n`, `\"`, `\\`, `\u00e4`, `\ud83d\ude00`, "é", "😀", " ", "{", `,`, "base64+/"})
	rapid.Check(t, func(t *rapid.T) {
		// Every string is a run of one unit or a mix, so that limits fall
		// anywhere inside of escapes and characters.
		text := rapid.Custom(func(t *rapid.T) string {
			mix := strings.Join(rapid.SliceOfN(unit, 1, 5).Draw(t, "units"), "")
			return `"` + strings.Repeat(mix, rapid.IntRange(0, 100).Draw(t, "times")) + `"`
		})
		item := rapid.OneOf(text, rapid.SampledFrom([]string{`1`, `null`, `[]`, `{ }`, "[ \t\n\"a\", 2 ]"}))
		space := rapid.SampledFrom([]string{"", " ", strings.Repeat(" ", 70), "\t\t"})
		var line strings.Builder
		line.WriteString(`{"type":"message"`)
		for i, value := range rapid.SliceOfN(item, 1, 12).Draw(t, "items") {
			fmt.Fprintf(&line, `,%s"k%d":%s%s`, space.Draw(t, "space"), i, value, space.Draw(t, "space"))
		}
		line.WriteString(`}`)
		whole := strings.NewReplacer("\n", " ").Replace(line.String())
		o := Options{MaxLine: rapid.IntRange(1, 3000).Draw(t, "max line"), MaxString: rapid.IntRange(1, 700).Draw(t, "max string")}

		var first []byte
		for _, r := range []io.Reader{strings.NewReader(whole), iotest.OneByteReader(strings.NewReader(whole)), iotest.HalfReader(strings.NewReader(whole + "\nnext\n"))} {
			got, err := NewReader(r, o).Next()
			if err != nil || got.TooLong {
				t.Fatal(err, got.TooLong)
			}
			if len(whole) <= o.MaxLine && string(got.Raw) != whole {
				t.Fatalf("a short line was changed to %q", got.Raw)
			}
			checkShape(t, []byte(whole), got.Raw, min(o.MaxString, minString))
			if first == nil {
				first = bytes.Clone(got.Raw)
			}
			if !bytes.Equal(first, got.Raw) {
				t.Fatalf("the pieces that were read change the result: %q, %q", first, got.Raw)
			}
		}
	})
}

// The limit is halved between two pieces, wherever they end: inside an escape,
// in a part that is left out, or in a run of NULs.
func TestShrinkInPieces(t *testing.T) {
	unit := rapid.SampledFrom([]string{strings.Repeat("x", 50), "y", `\\`, `\"`, `\ud83d\ude00`, "😀"})
	rapid.Check(t, func(t *rapid.T) {
		text := func() string {
			n := rapid.IntRange(1, 40).Draw(t, "units")
			return `"` + strings.Join(rapid.SliceOfN(unit, n, n).Draw(t, "text"), "") + `"`
		}
		line := "[" + text() + "," + text() + "  ," + text() + "]"
		nuls := strings.Repeat("\x00", rapid.IntRange(0, 20).Draw(t, "nuls"))
		o := Options{MaxLine: rapid.IntRange(200, 1500).Draw(t, "max line"), MaxString: rapid.IntRange(250, 540).Draw(t, "max string")}
		sizes := rapid.SliceOfN(rapid.IntRange(1, 400), 1, 6).Draw(t, "sizes")
		for _, data := range []string{line + nuls, nuls + line + nuls + "\n", line + nuls + " "} {
			whole, err := NewReader(strings.NewReader(data), o).Next()
			if err != nil {
				t.Fatal(err)
			}
			got, err := NewReader(&pieces{r: strings.NewReader(data), sizes: sizes}, o).Next()
			if diff := cmp.Diff(whole, got, compareLines); diff != "" || err != nil {
				t.Fatal(err, diff)
			}
			checkShape(t, []byte(line), bytes.Trim(got.Raw, "\x00 "), min(o.MaxString, minString))
		}
	})
}

// The limit is halved after 303 bytes, in the part of a string that is left
// out: before an escaped quote, and where what is kept is below the new limit.
func TestShrinkHalvesInsideOfWhatIsLeftOut(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("x", 300) + `\"` + strings.Repeat("y", 100),
		strings.Repeat("x", 251) + `\ud83d\ude00` + strings.Repeat("y", 100),
	} {
		r := &pieces{r: strings.NewReader(`["` + text + `",1]`), sizes: []int{303, 50}}
		got, err := NewReader(r, Options{MaxLine: 200, MaxString: 262}).Next()
		if err != nil {
			t.Fatal(err)
		}
		if rest := strings.ReplaceAll(string(got.Raw), "x", ""); rest != `["",1]` {
			t.Errorf("%q became %q", text, got.Raw)
		}
	}
}

func TestShrinkCutsTheLongestStringsFirst(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	o := Options{MaxLine: 100_000, MaxString: 40_000}
	for _, test := range []struct {
		lengths []int
		want    []int
	}{
		{[]int{200_000, 10}, []int{40_000, 10}},
		{[]int{200_000, 40_000, 39_999}, []int{20_000, 20_000, 20_000}}, // 120 kB: halved once
		{[]int{9_000, 200_000, 200_000, 200_000}, []int{9_000, 20_000, 20_000, 20_000}},
		{[]int{30_000, 30_000, 30_000}, []int{30_000, 30_000, 30_000}}, // fits
		{[]int{30_000, 30_000, 30_000, 30_000}, []int{20_000, 20_000, 20_000, 20_000}},
	} {
		var parts []string
		for _, n := range test.lengths {
			parts = append(parts, `"`+text(n)+`"`)
		}
		line, err := NewReader(strings.NewReader("["+strings.Join(parts, ",")+"]"), o).Next()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := json.Unmarshal(line.Raw, &got); err != nil {
			t.Fatal(err)
		}
		for i, s := range got {
			if len(s) != test.want[i] {
				t.Errorf("%v: string %d has %d bytes, want %d", test.lengths, i, len(s), test.want[i])
			}
		}
	}
}

func TestShrinkNeverCutsNames(t *testing.T) {
	name := strings.Repeat("n", minString)
	line := `["` + name + `"` + strings.Repeat(`,"`+name+`","`+strings.Repeat("x", 5000)+`"`, 200) + `]`
	got, err := NewReader(strings.NewReader(line), Options{MaxLine: 60_000, MaxString: 4000}).Next()
	if err != nil || got.TooLong {
		t.Fatal(err, got.TooLong)
	}
	if n := bytes.Count(got.Raw, []byte(`"`+name+`"`)); n != 201 {
		t.Errorf("of 201 names %d are whole", n)
	}
}

func TestShrinkGivesUpOnStructureAlone(t *testing.T) {
	o := Options{MaxLine: 1000}
	var b strings.Builder
	b.WriteString(`{"before":1}` + "\n" + `{"type":"big","a":[`)
	b.WriteString(strings.Repeat("1234567,", 100_000))
	b.WriteString(`0]}` + "\n" + `{"after":1}` + "\n")
	d := &entryDecoder{}
	counts, err := Scan(context.Background(), strings.NewReader(b.String()), o, d.decode)
	if err != nil || counts.Records != 2 || counts.Bad != 1 || counts.Lines != 3 || counts.CutLines != 1 {
		t.Fatalf("%+v %v", counts, err)
	}
	if len(counts.FirstBad) != 1 || counts.FirstBad[0].Line != 2 || !strings.Contains(counts.FirstBad[0].Reason, "too long") {
		t.Errorf("%+v", counts.FirstBad)
	}
	lines, err := readAll(NewReader(strings.NewReader(b.String()), o))
	if err != io.EOF {
		t.Fatal(err)
	}
	checkShrunkLines(t, []byte(b.String()), lines)
	if !lines[1].TooLong || !bytes.HasPrefix(lines[1].Raw, []byte(`{"type":"big"`)) || len(lines[1].Raw) > tooLongHead {
		t.Errorf("the beginning of the line is %.40q", lines[1].Raw)
	}
	checkBackward(t, []byte(b.String()), o, lines)
}

func TestShrinkCountsNULs(t *testing.T) {
	nuls := strings.Repeat("\x00", 500_000)
	for text, want := range map[string]Line{
		nuls + `{"a":1}`:       {Raw: []byte(`{"a":1}`), NULBytes: 500_000},
		`{"a":1}` + nuls:       {Raw: []byte(`{"a":1}`), NULBytes: 500_000},
		nuls:                   {NULBytes: 500_000},
		`{"a":` + nuls + `1}`:  {Raw: []byte("{\"a\":\x001}"), CutBytes: 499_999},
		nuls + "\r\n":          {NULBytes: 500_000, Complete: true},
		`{"a":"` + nuls + `"}`: {Raw: []byte("{\"a\":\"" + nuls[:100] + `"}`), CutBytes: 499_900},
		"\xef\xbb\xbf" + nuls:  {NULBytes: 500_000},
		`{}` + nuls + "\n{}":   {Raw: []byte(`{}`), NULBytes: 500_000, Complete: true},
	} {
		got, err := NewReader(strings.NewReader(text), Options{MaxLine: 1000, MaxString: 100}).Next()
		if err != nil || got.NULBytes != want.NULBytes || got.CutBytes != want.CutBytes || got.Complete != want.Complete || !bytes.Equal(got.Raw, want.Raw) {
			t.Errorf("%.20q: %d NULs, %d cut, %q, %v", text, got.NULBytes, got.CutBytes, got.Raw, err)
		}
	}
}

func TestCutPoint(t *testing.T) {
	for text, want := range map[string]int{
		``: 0, `abc`: 3, `a\`: 1, `a\n`: 3, `a\\`: 3, `a\\\`: 3, `\`: 0, `\u`: 0, `\u1`: 0, `\u123`: 0, `\u1234`: 6, `a\\u12`: 6, `\\\u12`: 2,
		`\ud83d`: 0, `x\ud83d`: 1, `\ud83d\`: 0, `\ud83d\u`: 0, `\ud83d\ude0`: 0, `\ud83d\ude00`: 12, `\\ud83d`: 7, `\ude00`: 6,
		"é": 2, "é\xc3": 2, "\xf0\x9f\x98": 0, "a\xf0\x9f\x98": 1, "😀": 4, "\xff": 1, "a\x80\x80\x80\x80": 5, "\xe2\x82": 0,
	} {
		got := cutPoint([]byte(text))
		if got != want {
			t.Errorf("%q is cut to %d, want %d", text, got, want)
		}
	}
}
