package openclaw_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
)

// A process that has the log open, for reading or for writing, keeps it from
// being rotated, whether the log has changed or not.
func TestRotateWhileSomebodyHoldsTheLog(t *testing.T) {
	for _, flag := range []int{os.O_RDONLY, os.O_WRONLY | os.O_APPEND, os.O_RDWR} {
		s := newMain(t)
		r := s.plan(s.ref(mainID + ".jsonl"))
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
	s := newMain(t)
	r := s.plan(s.ref(mainID + ".jsonl"))
	before := s.tree()
	s.SetStep(func(name string) error {
		if name != "check" {
			return nil
		}
		f, err := os.OpenFile(r.Live, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			t.Errorf("the log is not leased: %v", err)
		}
		return nil
	})
	wantBusy(t, s.rotate(r), "another process has it open")
	wantTree(t, before, s.tree())
}

// When the index is switched already, the caller must keep its plan.
func TestRotateBegunAndHeld(t *testing.T) {
	s := newMain(t)
	r := s.plan(s.ref(mainID + ".jsonl"))
	s.killAfter("index")
	if err := s.rotate(r); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	s.alive()
	holder, err := os.Open(r.Live)
	if err != nil {
		t.Fatal(err)
	}
	err = s.rotate(r)
	var busy *session.BusyError
	if !errors.As(err, &busy) || !busy.Begun {
		t.Errorf("%v", err)
	}
	holder.Close()
	s.mustRotate(r)
	s.wantRotated(r)
}
