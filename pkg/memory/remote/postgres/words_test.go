//go:build unix

package postgres_test

import (
	"testing"

	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
)

// TestTogether: of how many records there are it does not depend how many a question
// reads: where its words stand in many, those that have several of them come first.
func TestTogether(t *testing.T) {
	for _, c := range []struct {
		records, most float64
		with          map[string]float64
		want          string
	}{
		{1000, 1000, map[string]float64{"crane": 10, "lifts": 20}, "'crane' | 'lifts'"},
		{1000, 1000, map[string]float64{"crane": 10, "lifts": 20, "nobody": 0}, "'crane' | 'lifts'"},
		{10e6, 3000, map[string]float64{"crane": 100e3, "lifts": 150e3}, "'crane' & ('lifts')"},
		{10e6, 3000, map[string]float64{"crane": 100e3, "lifts": 150e3, "the": 9e6}, "'crane' & ('lifts')"},
		{10e6, 1400, map[string]float64{"crane": 100e3, "lifts": 150e3, "the": 9e6}, "'crane' & ('lifts' & ('the'))"},
		{10e6, 12e3, map[string]float64{"crane": 100e3, "lifts": 150e3, "beams": 200e3}, "'crane' & ('lifts' | 'beams') | 'lifts' & ('beams')"},
		{10e6, 12e3, map[string]float64{"crane": 100, "lifts": 150e3, "beams": 200e3}, "'crane' | 'lifts' & ('beams')"},
		{10e6, 12e3, map[string]float64{"crane": 100e3}, "'crane'"},
	} {
		if got := postgres.Together(c.records, c.most, c.with); got != c.want {
			t.Errorf("%v of %.0f: %s, not %s", c.with, c.records, got, c.want)
		}
	}
}
