package pi_test

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// A process that has the log open keeps it from being rotated, whether it has
// changed or not.
func TestRotateWhileSomebodyHoldsTheLog(t *testing.T) {
	for _, flag := range []int{os.O_RDONLY, os.O_WRONLY | os.O_APPEND} {
		s := newOne(t)
		r := s.plan(s.ref(name))
		holder, err := os.OpenFile(r.Live, flag, 0)
		if err != nil {
			t.Fatal(err)
		}
		before := s.tree()
		wantBusy(t, s.rotate(r), "another process has it open")
		wantTree(t, before, s.tree())
		holder.Close()
		s.mustRotate(r)
		s.wantRotated(r)
	}
}

// An agent that opens the log while it is being rotated waits, and is noticed
// before anything has changed.
func TestRotateNoticesAnOpeningAgent(t *testing.T) {
	s := newOne(t)
	r := s.plan(s.ref(name))
	before := s.tree()
	s.SetStep(func(step string) error {
		if step == "check" {
			if _, err := os.OpenFile(r.Live, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0); !errors.Is(err, syscall.EWOULDBLOCK) {
				t.Errorf("the log is not leased: %v", err)
			}
		}
		return nil
	})
	wantBusy(t, s.rotate(r), "another process has it open")
	wantTree(t, before, s.tree())
}
