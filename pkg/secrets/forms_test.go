package secrets

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"regexp/syntax"
)

func TestForms(t *testing.T) {
	half := os.Getenv("HALF")
	if half == "" {
		t.Skip()
	}
	r := rand.New(rand.NewPCG(1, 2))
	by, leaks := map[string]int{}, map[string]int{}
	f, err := os.Open(filepath.Join(os.Getenv("FORMS"), "forms."+half+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	show := os.Getenv("SHOW") != ""
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	unesc := strings.NewReplacer(`\\n`, `\n`, `\\t`, `\t`, `\n`, "\n", `\t`, "\t")
	for sc.Scan() {
		cells := strings.Split(sc.Text(), "\t")
		if len(cells) < 2 {
			continue
		}
		class, kinds, _ := strings.Cut(strings.TrimSuffix(cells[0], "}"), "{")
		list := []string{"random", "human", "hex", "base64"}
		if kinds != "" {
			list = strings.Split(kinds, ",")
		}
		if len(cells) > 2 {
			list = []string{"shape"}
		}
		for _, kind := range list {
			v := valueOf(r, kind, cells)
			text := strings.ReplaceAll(unesc.Replace(cells[1]), "@@", v)
			clean, _ := Redact(text)
			by[class]++
			if strings.Contains(clean, v) || strings.Contains(clean, v[len(v)/2:]) || strings.Contains(clean, v[:len(v)/2+1]) {
				leaks[class]++
				if show {
					fmt.Printf("LEAK %s/%s %q -> %q\n", class, kind, text, clean)
				}
			}
		}
	}
	all, leaked := 0, 0
	for _, c := range slices.Sorted(mapsKeys(by)) {
		fmt.Printf("%-12s %4d leaks of %4d\n", c, leaks[c], by[c])
		all, leaked = all+by[c], leaked+leaks[c]
	}
	fmt.Printf("leaks %d of %d: %.1f %%\n", leaked, all, 100*float64(leaked)/float64(all))
	text, err := os.ReadFile(filepath.Join(os.Getenv("FORMS"), "innocent."+half+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	n, over := 0, 0
	for line := range strings.Lines(string(text)) {
		line = unesc.Replace(strings.TrimRight(line, "\n"))
		n++
		if clean, m := Redact(line); m > 0 {
			over++
			if show {
				fmt.Printf("OVER %q -> %q\n", line, clean)
			}
		}
	}
	fmt.Printf("over %d of %d: %.1f %%\n", over, n, 100*float64(over)/float64(n))
}

func mapsKeys(m map[string]int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func valueOf(r *rand.Rand, kind string, cells []string) string {
	pick := func(n int, set string) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = set[r.IntN(len(set))]
		}
		return string(b)
	}
	const alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	switch strings.TrimSpace(kind) {
	case "random":
		return pick(16+r.IntN(25), alnum)
	case "hex":
		return pick(32+8*r.IntN(2), "0123456789abcdef")
	case "base64":
		return pick(40, alnum+"+/") + "=="
	case "human":
		return []string{"Tr0ub4dor&3ghi", "Winter2024!", "correct-horse-battery-7", "S0mmer#Regen19", "p@ssW0rd!2025", "Kaffee+Kuchen42"}[r.IntN(6)]
	}
	re, err := syntax.Parse(cells[2], syntax.Perl)
	if err != nil {
		return pick(20, alnum)
	}
	return generate(r, re)
}

var _ = regexp.MustCompile

func generate(r *rand.Rand, re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		n := 0
		for i := 0; i < len(re.Rune); i += 2 {
			n += int(min(re.Rune[i+1], 126)-re.Rune[i]) + 1
		}
		k := r.IntN(n)
		for i := 0; i < len(re.Rune); i += 2 {
			w := int(min(re.Rune[i+1], 126)-re.Rune[i]) + 1
			if k < w {
				return string(re.Rune[i] + rune(k))
			}
			k -= w
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return string(rune('a' + r.IntN(26)))
	case syntax.OpCapture:
		return generate(r, re.Sub[0])
	case syntax.OpConcat:
		s := ""
		for _, sub := range re.Sub {
			s += generate(r, sub)
		}
		return s
	case syntax.OpAlternate:
		return generate(r, re.Sub[r.IntN(len(re.Sub))])
	case syntax.OpRepeat:
		m := re.Max
		if m < 0 {
			m = re.Min + 8
		}
		s := ""
		for range re.Min + r.IntN(m-re.Min+1) {
			s += generate(r, re.Sub[0])
		}
		return s
	case syntax.OpStar, syntax.OpPlus:
		s := generate(r, re.Sub[0])
		for range 12 {
			s += generate(r, re.Sub[0])
		}
		return s
	case syntax.OpQuest:
		return generate(r, re.Sub[0])
	}
	return ""
}
