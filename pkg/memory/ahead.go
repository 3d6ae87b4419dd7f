package memory

import "iter"

// aheadBy is how many records are read ahead of those that are stored: several
// batches (see textBatch), because a whole batch is stored before the next record is
// taken, and few enough that nobody sees them in the memory of the process. Pages of
// vectors are large: one is enough.
const (
	aheadBy    = 256
	pagesAhead = 1
)

// ahead reads a sequence on another processor, up to n values ahead of the loop
// over it: reading, cutting and redacting a log takes about as long as storing it.
// Order and errors are those of the sequence, which has ended when the loop over
// it has, also when the loop is left early. It must not yield what it changes
// afterwards.
func ahead[T any](sequence iter.Seq2[T, error], n int) iter.Seq2[T, error] {
	type step struct {
		value T
		err   error
	}
	return func(yield func(T, error) bool) {
		steps, stop := make(chan step, n), make(chan struct{})
		var broken any = "memory: the sequence of records did not return"
		go func() {
			defer close(steps)
			defer func() {
				if p := recover(); p != nil {
					broken = p
				}
			}()
			for value, err := range sequence {
				select {
				case steps <- step{value, err}:
				case <-stop:
					broken = nil
					return
				}
			}
			broken = nil
		}()
		done := func() {
			close(stop)
			for range steps { // until the sequence has ended
			}
		}
		for s := range steps {
			if !yield(s.value, s.err) {
				done()
				return
			}
		}
		if broken != nil {
			panic(broken)
		}
	}
}
