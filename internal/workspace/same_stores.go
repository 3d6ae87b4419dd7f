package workspace

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// A store may be named twice: by a link, as the directory above its sessions, as one
// of a runtime that reads the same format. A session that two stores have is listed,
// archived and counted with the first of them.

// storesOnce are the stores of which none is another one of its runtime under a
// second name. What was left out is noted.
func (s *Stores) storesOnce(stores []session.Store) []session.Store {
	once := stores[:0:0]
	for _, store := range stores {
		first := slices.IndexFunc(once, func(s session.Store) bool {
			return isStore(s, store) || s.Runtime() == store.Runtime() && SameFile(s.Root(), store.Root())
		})
		if first < 0 {
			once = append(once, store)
			continue
		}
		if closer := store.Capabilities().Closer; closer != nil {
			_ = closer.Close() // nothing was read
		}
		if store.Root() != once[first].Root() {
			s.noteSame(Note{Path: store.Root(), Message: "is the same store as " + once[first].Root() + ", and counted once"})
		}
	}
	return once
}

// usualName is the name under which a runtime's store is found without being named, if
// the path is another name of it: what was recorded of the store has that name.
func usualName(run *Run, kind RuntimeKind, path string) string {
	for _, root := range kind.Roots(run.Home(), run.Getenv, run.Config) {
		if root != path && SameFile(root, path) {
			run.noteSame(Note{Path: path, Message: "is the same store as " + root})
			return root
		}
	}
	return path
}

// noteSame keeps a note for SameStores, once.
func (s *Stores) noteSame(n Note) {
	if !slices.Contains(s.same, n) {
		s.same = append(s.same, n)
	}
}

// SameStores says which stores that were opened and listed are others under a second
// name, or have sessions that another one has.
func (s *Stores) SameStores() []Note { return s.same }

// StoresByRoot finds the store that a journal entry or a receipt is about. It has the
// name that it had then: that is how the paths begin that were recorded.
func (run *Run) StoresByRoot(stores []session.Store) compact.Stores {
	return func(runtime, root string) (session.Store, bool) {
		for _, s := range slices.Concat(stores, run.renamed) {
			if s.Runtime() == runtime && s.Root() == root {
				return s, true
			}
		}
		if !slices.ContainsFunc(stores, func(s session.Store) bool { return s.Runtime() == runtime && SameFile(s.Root(), root) }) {
			return nil, false
		}
		kind := slices.IndexFunc(Runtimes(), func(k RuntimeKind) bool { return k.Name == runtime })
		store := Runtimes()[kind].Open(root, run.Config)
		run.Pins.Top(store.Root())
		run.renamed = append(run.renamed, store)
		return store, true
	}
}

// listOnce takes out of the listing of a store the sessions that one before it has.
func listOnce(ctx context.Context, run *Run, store session.Store, listing *session.Listing) error {
	for _, first := range run.Opened {
		if isStore(first, store) {
			return nil
		}
		if !overlap(first, store) {
			continue
		}
		before, err := run.List(ctx, first)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue // whoever lists that store says so
		}
		if n := leaveOutAt(listing, store, placesOf(first, before.Refs)); n > 0 {
			run.noteSame(Note{Path: store.Root(), Message: "has " + wording.Plural(n, "session") + " of " + first.Runtime() + " in " + first.Root() + " too, counted once: there"})
		}
	}
	return nil
}

func isStore(a, b session.Store) bool { return a.Runtime() == b.Runtime() && a.Root() == b.Root() }

// overlap reports whether two stores may have a session in common: they are in one
// directory, or one is in the other and they read the same format.
func overlap(a, b session.Store) bool {
	alike := slices.ContainsFunc(TraitsOf(a.Runtime()).Formats, TraitsOf(b.Runtime()).Keeps) || slices.ContainsFunc(TraitsOf(b.Runtime()).Formats, TraitsOf(a.Runtime()).Keeps)
	return SameFile(a.Root(), b.Root()) || alike && OnePlace(a.Root(), b.Root())
}

// sessionPlace is where a session is, whatever names lead there: a file, and in a file
// of several sessions which of them.
type sessionPlace struct {
	device, inode uint64
	path, session string // a path where the system has no inodes
}

func placesOf(store session.Store, refs []session.Ref) map[sessionPlace]bool {
	places := make(map[sessionPlace]bool, len(refs))
	for _, ref := range refs {
		places[placeOf(store, ref)] = true
	}
	return places
}

func placeOf(store session.Store, ref session.Ref) sessionPlace {
	file := ref.Path
	if database := store.Capabilities().DatabaseFile; database != nil && ref.Kind == session.KindStored {
		file = database(ref)
	}
	info, err := os.Stat(file)
	if err == nil {
		if id := durable.Identify(info); id.Inode != 0 {
			return sessionPlace{device: id.Device, inode: id.Inode, session: ref.ID}
		}
		if direct, err := filepath.EvalSymlinks(file); err == nil {
			file = direct
		}
	}
	return sessionPlace{path: file, session: ref.ID}
}

// leaveOutAt takes what is in some places out of a listing, and the agents that have
// nothing else. It returns how many sessions that were.
func leaveOutAt(listing *session.Listing, store session.Store, places map[sessionPlace]bool) int {
	all := len(listing.Refs)
	gone, left := map[string]bool{}, map[string]bool{}
	listing.Refs = slices.DeleteFunc(listing.Refs, func(ref session.Ref) bool {
		out := places[placeOf(store, ref)]
		if out {
			gone[ref.Agent] = true
		} else {
			left[ref.Agent] = true
		}
		return out
	})
	listing.Agents = slices.DeleteFunc(listing.Agents, func(agent string) bool { return gone[agent] && !left[agent] })
	return all - len(listing.Refs)
}
