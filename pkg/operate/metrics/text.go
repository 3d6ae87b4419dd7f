package metrics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The text format of Prometheus, version 0.0.4. The client library writes the same
// bytes (TestTextIsThatOfTheClientLibrary), but it brings the figures of the process
// and Protocol Buffers, which every start of the program would pay for.

// sample is one series: a value and what the labels of its family are.
type sample struct {
	labels []string // in the order of family.labels
	value  float64
}

// samples are the series of a reading, in order of their labels' values. Two of the
// same labels, or a label that is not UTF-8, are errors: a server of Prometheus
// takes neither.
func (f family) samples(r Reading) (all []sample, err error) {
	f.fill(r, func(value float64, labels ...string) {
		if len(labels) != len(f.labels) || !utf8.ValidString(strings.Join(labels, "")) {
			err = fmt.Errorf("%s%s: labels %q", prefix, f.name, labels)
		}
		all = append(all, sample{labels: labels, value: value})
	})
	order := f.labelOrder()
	slices.SortFunc(all, func(a, b sample) int {
		for _, i := range order {
			if c := strings.Compare(a.labels[i], b.labels[i]); c != 0 {
				return c
			}
		}
		return 0
	})
	for i := 1; i < len(all); i++ {
		if slices.Equal(all[i-1].labels, all[i].labels) {
			err = fmt.Errorf("%s%s: two series have the labels %q", prefix, f.name, all[i].labels)
		}
	}
	return all, err
}

// labelOrder are the indexes of the labels, in order of their names.
func (f family) labelOrder() []int {
	order := make([]int, len(f.labels))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(f.labels[a], f.labels[b]) })
	return order
}

// append appends a family with its series, or nothing if it has none.
func (f family) append(text []byte, samples []sample) []byte {
	if len(samples) == 0 {
		return text
	}
	name := prefix + f.name
	text = fmt.Appendf(text, "# HELP %s %s\n# TYPE %s %s\n", name, escapedHelp.Replace(f.help), name, f.kind)
	order := f.labelOrder()
	for _, s := range samples {
		text = append(text, name...)
		for n, i := range order {
			text = append(text, "{,"[min(n, 1)])
			text = fmt.Appendf(text, `%s="%s"`, f.labels[i], escapedLabel.Replace(s.labels[i]))
		}
		if len(order) > 0 {
			text = append(text, '}')
		}
		text = append(text, ' ')
		text = strconv.AppendFloat(text, s.value, 'g', -1, 64)
		text = append(text, '\n')
	}
	return text
}

var (
	escapedHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	escapedLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)
