package faults_test

import (
	"testing"

	"github.com/sessctl/sessctl/internal/faults"
	"github.com/sessctl/sessctl/internal/tier"
)

// No fault at no call of a server loses a line, leaves a token or a job in
// pieces, or lets something be forgotten that was accepted.
func TestServeFaults(t *testing.T) {
	program := faults.BuiltProgram(t)
	for n, row := range faults.Servings() {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			bench, err := faults.NewServingBench(program, place(t), row)
			if err != nil {
				t.Fatal(err)
			}
			all := faults.ServingFaults()
			share := 4
			switch {
			case tier.Long():
				share = 0
			case tier.Smoke():
				all, share = all[n:n+1], 1
			}
			for _, f := range all {
				r, err := bench.Try(f, share)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: %d runs, %d violations", f.Name, r.Runs, len(r.Violations))
				for _, v := range r.Violations {
					t.Errorf("%s: %s", f.Name, v)
				}
			}
		})
	}
}
