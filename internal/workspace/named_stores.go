package workspace

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/flat"
)

// A person names stores in two ways: --store adds one to those that are found, and
// --only-store is in the place of all that are found. The keys stores and only_stores
// and their variables mean the same.

// NamedStores are all stores that a person has named, as runtime=path.
func (o *Options) NamedStores() []string { return slices.Concat(o.OnlyStores, o.Stores) }

// OnlyNamed reports whether nothing is looked for beside the stores that are named.
func (o *Options) OnlyNamed() bool { return o.onlyNamed || len(o.OnlyStores) > 0 }

// LeaveOut forgets the named stores that something holds of. Where only named ones are
// read, it stays so if none is left.
func (o *Options) LeaveOut(what func(named string) bool) {
	o.onlyNamed = o.OnlyNamed()
	o.Stores, o.OnlyStores = slices.DeleteFunc(o.Stores, what), slices.DeleteFunc(o.OnlyStores, what)
}

// Typed says which of the two flags were typed: then the stores of a lower layer that
// would be added to those of --only-store do not count.
func (o *Options) Typed(store, only bool) {
	o.addedHere = store
	if only && !store {
		o.Stores = nil
	}
}

// OpenStores returns the stores of this run: those that are found under the home
// directory and those of --store, or only those that --only-store and --store name.
//
// They are opened once: all of a run happens in the directories that it has found
// first, also where somebody puts a link in the place of one.
func (run *Run) OpenStores() ([]session.Store, error) {
	if run.Opened != nil {
		return slices.Clone(run.Opened), nil
	}
	stores := foundStores(run)
	named, err := namedStores(run)
	if err != nil {
		return nil, err
	}
	run.found, run.named = stores, named
	return keepOpen(run, slices.Concat(stores, named)), nil
}

// foundStores opens what is found where runtimes keep their sessions.
func foundStores(run *Run) (stores []session.Store) {
	if run.Global.OnlyNamed() {
		return nil
	}
	for _, kind := range Runtimes() {
		for _, root := range kind.Roots(run.Home(), run.Getenv, run.Config) {
			stores = append(stores, WithTailCache(run, kind.Open(root, run.Config)))
		}
	}
	return stores
}

func namedStores(run *Run) (stores []session.Store, err error) {
	for _, named := range run.Global.NamedStores() {
		name, path, ok := strings.Cut(named, "=")
		i := slices.IndexFunc(Runtimes(), func(k RuntimeKind) bool { return k.Name == name })
		if i < 0 {
			return nil, failure.Usage(wording.DidYouMean(name, RuntimeList(), "write --store runtime=path; known runtimes: "+RuntimeNames()), "store %s: unknown runtime %q", named, name)
		}
		if !ok {
			return nil, failure.Usage("write --store "+name+"=PATH", "store %q has no path", named)
		}
		if Runtimes()[i].Remote {
			stores = append(stores, Runtimes()[i].Open(path, run.Config))
			continue
		}
		path = Absolute(path)
		if info, err := os.Stat(path); err != nil {
			return nil, &failure.Error{Code: "no_store", Exit: failure.ExitFailed, Path: path, Err: fmt.Errorf("open store %s=%s: %w", name, path, wording.Pathless(err))}
		} else if !info.IsDir() {
			return nil, &failure.Error{Code: "no_store", Exit: failure.ExitFailed, Path: path, Err: fmt.Errorf("open store %s: not a directory", path)}
		}
		path = usualName(run, Runtimes()[i], path)
		stores = append(stores, WithTailCache(run, flat.Open(context.Background(), Runtimes()[i].Open(path, run.Config), path)))
	}
	return stores, nil
}

// keepOpen leaves out what --runtime does not mean, and remembers the others to be
// closed.
func keepOpen(run *Run, stores []session.Store) []session.Store {
	stores = slices.DeleteFunc(stores, func(s session.Store) bool {
		return run.Global.Runtime != "" && s.Runtime() != run.Global.Runtime
	})
	if run.Opened == nil {
		run.Pin()
	}
	stores = run.storesOnce(stores)
	run.Opened = stores
	for _, store := range stores {
		run.Pins.Top(store.Root())
	}
	return slices.Clone(stores)
}

// IsNamed reports whether a person has named a store, perhaps by another of its names.
func (s *Stores) IsNamed(store session.Store) bool {
	return slices.ContainsFunc(s.named, func(n session.Store) bool {
		return isStore(n, store) || n.Runtime() == store.Runtime() && SameFile(n.Root(), store.Root())
	})
}

// Named are the stores that a person has named, of these.
func (s *Stores) Named(stores []session.Store) []session.Store {
	return slices.DeleteFunc(slices.Clone(stores), func(store session.Store) bool { return !s.IsNamed(store) })
}

// NothingFound reports whether an error says that there is no store, where none was
// named: what does not need one can go on.
func NothingFound(run *Run, err error) bool {
	return IsNoStore(err) && len(run.Global.NamedStores()) == 0
}

// TellStores says before a change which stores it acts on, if --store was typed: who
// meant that one alone has still time.
func TellStores(run *Run) {
	stores, err := run.OpenStores()
	if err != nil || !run.Global.addedHere || len(stores) < 2 {
		return // what is wrong with them is told when they are listed
	}
	var places []string
	for _, s := range stores {
		places = append(places, s.Runtime()+" in "+shownRoot(s))
	}
	run.Notice(Note{Message: fmt.Sprintf("acts on %d stores: %s", len(stores), strings.Join(places, ", ")), Hint: "--store adds to what is found; --only-store names all there are"})
}

// shownRoot is the place of a store for a message: that of a server may hold a password.
func shownRoot(s session.Store) string {
	if i := slices.IndexFunc(Runtimes(), func(k RuntimeKind) bool { return k.Name == s.Runtime() }); i >= 0 && Runtimes()[i].Remote {
		return "its database"
	}
	return s.Root()
}
