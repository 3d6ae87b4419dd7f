package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
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

// vet takes out of the listing of a store that a person has named what belongs to
// another program: nothing is archived, remembered or changed in the wrong name. A
// store that holds nothing of its runtime is an error that says what it holds. A
// store that was found where its runtime keeps it is not looked at.
func (run *Run) vet(ctx context.Context, store session.Store, listing *session.Listing) error {
	i := slices.IndexFunc(Runtimes(), func(k RuntimeKind) bool { return k.Name == store.Runtime() })
	if len(run.Global.Stores) == 0 || i < 0 || Runtimes()[i].Remote {
		return nil
	}
	own := append(cousins(store.Runtime()), Runtimes()[i].Traits().Formats...)
	formats, foreign := map[string]session.Format{}, map[string]session.Format{}
	listing.Refs = slices.DeleteFunc(listing.Refs, func(ref session.Ref) bool {
		format, known := formats[ref.Path] // several sessions may be in one file
		if !known {
			format = formatOf(ref)
			formats[ref.Path] = format
		}
		if !format.Claims() || slices.Contains(own, format) {
			return false
		}
		foreign[ref.Path] = format
		return true
	})
	tellForeign(listing, foreign, store.Runtime())
	if len(listing.Refs) > 0 {
		return nil
	}
	holds, others, err := survey(ctx, store.Root(), own)
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

// tellForeign says whose files were left out, in place of what the store says of them.
func tellForeign(listing *session.Listing, foreign map[string]session.Format, runtime string) {
	listing.Notices = slices.DeleteFunc(listing.Notices, func(n session.Notice) bool { return foreign[n.Path] != "" })
	for _, path := range slices.Sorted(maps.Keys(foreign)) {
		message := "it is " + whose(foreign[path]) + ", and left alone: this store was named as one of " + runtime
		listing.Notices = append(listing.Notices, session.Notice{Path: path, Message: message})
	}
}

// cousins are the formats that a runtime reads beside its own: forks keep the logs of
// their parents.
func cousins(runtime string) []session.Format {
	switch runtime {
	case session.RuntimePi, session.RuntimeOMP, session.RuntimeOpenClaw:
		return []session.Format{session.FormatPi, session.FormatOMP, session.FormatOpenClaw, session.FormatOpenClawIndex}
	}
	return nil
}

// formatOf is what the beginning of a log shows it to be; unknown for what is no file
// of its own, or cannot be read.
func formatOf(ref session.Ref) session.Format {
	if ref.Kind == session.KindDatabase {
		return session.FormatUnknown
	}
	format, err := detectFile(ref.Path, headerBytes)
	if err != nil {
		return session.FormatUnknown
	}
	return format
}

// headerBytes is how much of each log is read to see whose it is: its first records.
// A command that runs every minute does that with every log of a named store.
const headerBytes = 4 << 10

// detectFile recognises a file by up to so many of its first bytes.
func detectFile(path string, bytes int64) (session.Format, error) {
	file, err := durable.OpenRegular(path)
	if err != nil {
		return session.FormatUnknown, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return session.FormatUnknown, err
	}
	plain, _, err := jsonl.Decompress(file, info.Size())
	if err != nil {
		return session.FormatUnknown, err
	}
	defer plain.Close()
	head, err := io.ReadAll(io.LimitReader(plain, bytes))
	if err != nil && len(head) == 0 {
		return session.FormatUnknown, err
	}
	return session.Detect(path, head), nil
}

// whose says of which program a file is.
func whose(format session.Format) string {
	if name := format.Unread(); name != "" {
		return "a session of " + name + ", which sessctl does not read"
	}
	for _, kind := range Runtimes() {
		if slices.Contains(kind.Traits().Formats, format) {
			return "a session of " + kind.Name
		}
	}
	return "a file of the format " + string(format)
}

// mostSurveyed bounds how many files are looked at to say what a directory holds.
const mostSurveyed = 500

var errSurveyed = errors.New("enough files were seen")

// survey says in a few words what the files below a directory are, "" if there are
// none, and whether one of them is surely of no format of own.
func survey(ctx context.Context, root string, own []session.Format) (holds string, others bool, err error) {
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
		format, err := detectFile(path, session.HeadSize)
		counts[shown(format, err)]++
		others = others || format.Claims() && format != session.FormatSQLite && !slices.Contains(own, format)
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
