package rank

import "testing"

func TestRarity(t *testing.T) {
	for s, want := range map[shares]float64{{}: 0, {all: 8}: 0, {person: 4, all: 8}: 0, {person: 8, all: 8}: 0, {person: 2, all: 8}: 1, {person: 1, all: 32}: 4} {
		if got := rarityOf(s); got != want {
			t.Errorf("%+v: %v, want %v", s, got, want)
		}
	}
}
