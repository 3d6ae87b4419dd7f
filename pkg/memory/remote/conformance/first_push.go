package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// FirstPushes is demanded of a memory that many can connect to, beside the
// [Requirements]: of three memories that push under one name for the first time
// at one instant at most one gets it and stores something, the others are refused
// with ErrOtherMemory, and one that pushes again alone gets a name that nobody
// has. open connects to the same shared memory, which may have other records.
func FirstPushes(ctx context.Context, open func(context.Context) (remote.Memory, error)) error {
	const atOnce, rounds = 3, 8
	list := make([]remote.Memory, atOnce)
	for i := range list {
		m, err := open(ctx)
		if err != nil {
			return err
		}
		defer m.Close()
		list[i] = m
	}
	for round := range rounds {
		if err := firstPushes(ctx, list, fmt.Sprintf("twin%d", round)); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	return nil
}

// firstPushes is one round of FirstPushes.
func firstPushes(ctx context.Context, list []remote.Memory, host string) error {
	batch := func(i int) remote.Batch {
		r := corpus(len(list))[i]
		r.ID += host
		return remote.Batch{Host: host, Memory: fmt.Sprintf("memory%d", i), Records: []memory.Shared{{Exported: memory.Exported{Record: r}, Digest: 1}}}
	}
	refused := make([]error, len(list))
	var ready, all sync.WaitGroup
	ready.Add(len(list))
	for i, m := range list {
		all.Go(func() {
			ready.Done()
			ready.Wait() // for the others
			_, refused[i] = m.Push(ctx, batch(i))
		})
	}
	all.Wait()
	owner, owners := 0, 0
	for i, err := range refused {
		switch {
		case err == nil:
			owner = i
			owners++
		case !errors.Is(err, remote.ErrOtherMemory):
			return err
		}
	}
	if owners > 1 {
		return fmt.Errorf("%d memories have got one name", owners)
	}
	if owners == 0 { // none went on: the name is free
		if _, err := list[owner].Push(ctx, batch(owner)); err != nil {
			return fmt.Errorf("nobody has the name, and it is refused: %w", err)
		}
	}
	return owned(ctx, list, host, owner, batch)
}

// owned: the host is that of its owner, has its record only, and the owner alone
// may push on.
func owned(ctx context.Context, list []remote.Memory, host string, owner int, batch func(i int) remote.Batch) error {
	for i, m := range list {
		if _, err := m.Push(ctx, batch(i)); (err == nil) != (i == owner) {
			return fmt.Errorf("the name is that of memory %d, and the push of memory %d ends with %w", owner, i, err)
		}
	}
	c, err := list[owner].Count(ctx)
	if h := c.Host(host); err == nil && (h.Memory != fmt.Sprintf("memory%d", owner) || h.Records != 1) {
		err = fmt.Errorf("the name is that of memory %d with one record, and what is there is %+v", owner, h)
	}
	return err
}
