package compact

import "context"

// early is a summary that is made beside the storing of what it sums up.
type early struct {
	made   chan struct{} // closed when it is
	result Summary
	err    error
	broken any // what it panicked with
}

// alone is a [Summarizer] that asks nobody, and so needs no longer than the storing.
type alone interface {
	Summarizer
	// Alone does nothing: it says that Summary may run beside the storing.
	Alone()
}

// begin begins the summary of what was listened to, if nobody has to be asked for it;
// else it is nil.
func begin(ctx context.Context, of Summarizer) *early {
	s, isAlone := of.(alone)
	if !isAlone {
		return nil
	}
	e := &early{made: make(chan struct{})}
	go func() {
		defer close(e.made)
		defer func() { e.broken = recover() }()
		e.result, e.err = s.Summary(ctx)
	}()
	return e
}

// wait waits for the summary, and panics where it did.
func (e *early) wait() (Summary, error) {
	if e == nil {
		return Summary{}, nil
	}
	<-e.made
	if e.broken != nil {
		panic(e.broken)
	}
	return e.result, e.err
}
