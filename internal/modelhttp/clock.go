package modelhttp

import (
	"context"
	"time"
)

// Clock is how time passes while a server is asked. The zero value is real
// time.
type Clock struct {
	Now   func() time.Time                                 // nil is time.Now
	Sleep func(ctx context.Context, d time.Duration) error // nil sleeps, and returns ctx.Err() if ctx is done first
}

func (c Clock) orReal() Clock {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	return c
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
