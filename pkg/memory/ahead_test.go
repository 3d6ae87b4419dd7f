package memory

import (
	"errors"
	"slices"
	"testing"
)

// What is read ahead comes in its order, with its errors, and has ended when the
// loop has.
func TestReadAhead(t *testing.T) {
	failed := errors.New("failed")
	ended := false
	numbers := func(yield func(int, error) bool) {
		defer func() { ended = true }()
		for i := range 1000 {
			var err error
			if i == 700 {
				err = failed
			}
			if !yield(i, err) {
				return
			}
		}
	}
	var got []int
	for i, err := range ahead(numbers, aheadBy) {
		if (err != nil) != (i == 700) {
			t.Fatalf("%d: %v", i, err)
		}
		got = append(got, i)
	}
	if len(got) != 1000 || !slices.IsSorted(got) || !ended {
		t.Errorf("%d of 1000, ended %v", len(got), ended)
	}
	for _, most := range []int{0, 1, aheadBy, 500} {
		ended = false
		n := 0
		for range ahead(numbers, aheadBy) {
			if n++; n > most {
				break
			}
		}
		if !ended {
			t.Errorf("left after %d, the sequence goes on", most)
		}
	}
}

// A sequence that panics does so where it is read: it must not look like one
// that is complete.
func TestReadAheadPanics(t *testing.T) {
	defer func() {
		if p := recover(); p != "torn" {
			t.Errorf("panic: %v", p)
		}
	}()
	for range ahead(func(yield func(int, error) bool) {
		yield(1, nil)
		panic("torn")
	}, 1) {
	}
	t.Error("the sequence seems complete")
}
