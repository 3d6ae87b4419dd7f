package compact

import (
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
)

// EndMoves ends what killed runs have left between the two steps of a move,
// where the file system can only link and unlink: a log that has two names is
// no session to any store, and so no command would come to settle it. The
// caller holds the lock.
func (j Journal) EndMoves() error {
	intents, err := j.List()
	if err != nil {
		return err
	}
	for _, in := range intents {
		if err := in.endMoves(); err != nil {
			return err
		}
	}
	return nil
}

// endMoves leaves a log of an intent one name: the one where agents find it. A
// move aside is undone with that, and a move back is done.
func (in Intent) endMoves() error {
	if in.Rotation.Live == "" && in.Restore == nil {
		return nil
	}
	for _, pair := range in.movedPairs() {
		dir := filepath.Dir(pair.place)
		if err := durable.Sweep(dir, 0); err != nil { // a kill may have left half a log, or half an index
			return err
		}
		if !durable.SameFile(pair.place, pair.other) {
			continue
		}
		if err := durable.RemoveFile(pair.other); err != nil {
			return err
		}
	}
	return nil
}

// namesOfOne are two names between which a log is moved. The place is where it
// belongs.
type namesOfOne struct{ place, other string }

func (in Intent) movedPairs() []namesOfOne {
	const staged = ".next" // of a new log that is complete (package livelog)
	kept := in.Rotation.Kept
	pairs := []namesOfOne{{in.Rotation.Live, kept}, {in.Rotation.Live, kept + staged}, {kept, kept + staged}}
	if r := in.Restore; r != nil {
		pairs = append(pairs, namesOfOne{r.Path, kept}, namesOfOne{r.Path, r.Spare})
	}
	if u := in.Undo; u != nil {
		pairs = append(pairs, namesOfOne{u.Rotation.Live, u.Rotation.Kept}, namesOfOne{u.Fresh, u.FreshKept})
	}
	some := pairs[:0]
	for _, p := range pairs {
		if p.place != "" && p.other != "" && p.other != staged && p.place != p.other {
			some = append(some, p)
		}
	}
	return some
}
