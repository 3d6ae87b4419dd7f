package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// List lists a store. What is known to be another program's is not in it, see vet,
// nor is what a store before it has, see listOnce.
func (run *Run) List(ctx context.Context, store session.Store) (session.Listing, error) {
	listing, err := store.List(ctx)
	if err == nil {
		err = run.vet(ctx, store, &listing)
	}
	if err == nil {
		err = listOnce(ctx, run, store, &listing)
	}
	return listing, err
}

// vet takes out of a listing what belongs to another program: nothing is archived,
// remembered or changed in the wrong name. Every log of a store that a person has named
// is looked at, and a store that holds nothing of its runtime is an error that says
// what it holds. In a store that was found where its runtime keeps it, only the logs
// are of which the listing itself has something to tell; whose the others are is asked
// before one is remembered or changed ([logfile.NotOwn]).
func (run *Run) vet(ctx context.Context, store session.Store, listing *session.Listing) error {
	i := slices.IndexFunc(Runtimes(), func(k RuntimeKind) bool { return k.Name == store.Runtime() })
	if i < 0 || Runtimes()[i].Remote {
		return nil
	}
	traits, named := Runtimes()[i].Traits(), run.IsNamed(store)
	takeOut(listing, traits, !named)
	if !named || len(listing.Refs) > 0 || slices.ContainsFunc(run.found, func(s session.Store) bool { return isStore(s, store) }) {
		return nil
	}
	holds, others, err := survey(ctx, store.Root(), traits)
	switch {
	case err != nil || holds == "":
		return err
	case len(listing.Agents) > 0 && !others: // of agents that have not said anything yet, perhaps
		listing.Notices = append(listing.Notices, session.Notice{Path: store.Root(), Message: "no session of " + store.Runtime() + " is in it: " + holds})
		return nil
	}
	return &failure.Error{
		Code: "no_store", Exit: failure.ExitFailed, Path: store.Root(), Hint: "name its runtime and the directory of its sessions: --store runtime=path; runtimes: " + RuntimeNames(),
		Err: fmt.Errorf("%s holds no session of %s: %s", store.Root(), store.Runtime(), holds),
	}
}

// takeOut takes the logs of other programs out of a listing, and says whose they are in
// place of what the store says of them. With doubted it looks only at those that the
// store says something of.
func takeOut(listing *session.Listing, traits session.Traits, doubted bool) {
	told := map[string]bool{}
	for _, n := range listing.Notices {
		told[n.Path] = true
	}
	formats, foreign := map[string]session.Format{}, map[string]session.Format{}
	listing.Refs = slices.DeleteFunc(listing.Refs, func(ref session.Ref) bool {
		if doubted && !told[ref.Path] {
			return false
		}
		format, known := formats[ref.Path] // several sessions may be in one file
		if !known {
			format = formatOf(ref)
			formats[ref.Path] = format
		}
		if !format.Claims() || traits.Keeps(format) {
			return false
		}
		foreign[ref.Path] = format
		return true
	})
	listing.Notices = slices.DeleteFunc(listing.Notices, func(n session.Notice) bool { return foreign[n.Path] != "" })
	for _, path := range slices.Sorted(maps.Keys(foreign)) {
		message := session.ReasonForeign.Text(foreign[path].Whose(), traits.Runtime)
		listing.Notices = append(listing.Notices, session.Notice{Path: path, Message: message})
	}
}

// formatOf is what the beginning of a log shows it to be; unknown for what is no file
// of its own, or cannot be read.
func formatOf(ref session.Ref) session.Format {
	if ref.Kind == session.KindDatabase {
		return session.FormatUnknown
	}
	format, err := logfile.FormatOf(ref.Path, headerBytes)
	if err != nil {
		return session.FormatUnknown
	}
	return format
}

// headerBytes is how much of each log is read to see whose it is: its first records.
// A command that runs every minute does that with every log of a named store.
const headerBytes = 4 << 10

// mostSurveyed bounds how many files are looked at to say what a directory holds.
const mostSurveyed = 500

var errSurveyed = errors.New("enough files were seen")

// survey says in a few words what the files below a directory are, "" if there are
// none, and whether one of them is surely not the runtime's.
func survey(ctx context.Context, root string, of session.Traits) (holds string, others bool, err error) {
	counts, seen := map[string]int{}, 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil || !d.Type().IsRegular():
			return nil // what cannot be read is told by the listing
		case seen == mostSurveyed:
			return errSurveyed
		}
		seen++
		format, err := logfile.FormatOf(path, session.HeadSize)
		counts[shown(format, err)]++
		others = others || format.Claims() && format != session.FormatSQLite && !of.Keeps(format)
		return nil
	})
	if err != nil && !errors.Is(err, errSurveyed) {
		return "", false, err
	}
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, wording.Plural(counts[what], what))
	}
	holds = strings.Join(parts, ", ")
	if errors.Is(err, errSurveyed) {
		holds += " and more"
	}
	return holds, others, nil
}

// shown is what a file is called in a survey.
func shown(format session.Format, err error) string {
	switch {
	case err != nil:
		return "unreadable file"
	case format.Unread() != "":
		return format.Unread() + " file"
	case format.Claims():
		return string(format) + " file"
	}
	return "other file"
}
