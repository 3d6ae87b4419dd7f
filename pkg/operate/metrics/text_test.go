package metrics

import (
	"bytes"
	"math"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"pgregory.net/rapid"
)

// registered is a prometheus.Collector of one family.
type registered struct{ family }

// Describe implements prometheus.Collector: what it collects is checked when it
// is gathered.
func (registered) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c registered) Collect(out chan<- prometheus.Metric) {
	desc := prometheus.NewDesc(prefix+c.name, c.help, c.labels, nil)
	kind := map[string]prometheus.ValueType{"gauge": prometheus.GaugeValue, "counter": prometheus.CounterValue}[c.kind]
	c.fill(Reading{}, func(value float64, labels ...string) {
		metric, err := prometheus.NewConstMetric(desc, kind, value, labels...)
		if err != nil {
			metric = prometheus.NewInvalidMetric(desc, err)
		}
		out <- metric
	})
}

// byLibrary is what Prometheus' own library writes of a family.
func byLibrary(f family) (string, error) {
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(registered{f}); err != nil {
		return "", err
	}
	all, err := registry.Gather()
	var text bytes.Buffer
	for _, one := range all {
		if _, err := expfmt.MetricFamilyToText(&text, one); err != nil {
			return "", err
		}
	}
	return text.String(), err
}

// The text is byte for byte that of Prometheus' own library, whatever the labels,
// and what that refuses is refused.
func TestTextIsThatOfTheClientLibrary(t *testing.T) {
	value := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, 1, -1, 1e21, 1753776000.5, math.NaN(), math.Inf(1), math.Inf(-1)}))
	label := rapid.OneOf(rapid.SampledFrom([]string{"", "pi", `a"b`, `back\slash`, "two\nlines", "Zoë-🦞-研究", "\xff"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([][]string{nil, {"profile"}, {"runtime", "agent"}, {"version", "goversion"}}).Draw(t, "names")
		var samples []sample
		for range rapid.IntRange(0, 5).Draw(t, "series") {
			s := sample{value: value.Draw(t, "value") + 0} // 0 has no sign
			for range names {
				s.labels = append(s.labels, label.Draw(t, "label"))
			}
			samples = append(samples, s)
		}
		f := family{name: "some_total", help: rapid.SampledFrom([]string{"Plain.", "Two\nlines, a \\ and a \"."}).Draw(t, "help"), labels: names, kind: rapid.SampledFrom([]string{"gauge", "counter"}).Draw(t, "kind"),
			fill: func(_ Reading, add func(float64, ...string)) {
				for _, s := range samples {
					add(s.value, s.labels...)
				}
			}}
		want, wantErr := byLibrary(f)
		all, err := f.samples(Reading{})
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("%v, and by the library %v", err, wantErr)
		}
		if got := string(f.append(nil, all)); err == nil && got != want {
			t.Fatalf("%s\nand by the library\n%s", got, want)
		}
	})
}
