package workspace

import (
	"context"
	"slices"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
)

// piece is a part of a log as memory stores it: its record's id, and its bytes.
type piece struct {
	id string
	memory.ByteRange
}

// touches reports whether a piece has some of the bytes of a part of the same log.
func (p piece) touches(part memory.ByteRange) bool {
	return p.From < part.To && part.From < p.To
}

// PieceJudge tells what memory lacks of archives. It is the one judge of that: whatever
// remembers or rebuilds a session leaves nothing that is missing here.
type PieceJudge struct {
	Run         *Run
	Memories    *memory.Store
	Archives    *archive.Store
	OutputLimit int64 // as in compact.Policy
}

// MissingPieces is [PieceJudge.Missing] under the present limit for outputs.
func MissingPieces(ctx context.Context, run *Run, memories *memory.Store, archives *archive.Store, e archive.Entry) (missing, forgotten int, err error) {
	return PieceJudge{run, memories, archives, run.OutputLimit()}.Missing(ctx, e)
}

// Missing counts what memory lacks of the pieces of an archive, and what it has
// forgotten of them. A piece is there
//   - under its own id, also if another log of the session says the same at this place
//     and was remembered last;
//   - as the pieces of a longer archive that begins with these bytes: a rebuild makes
//     those only, and the piece at the end of this archive is longer there.
//
// It is forgotten under its own id, or with a piece that had some of its bytes and that
// is not made any more.
func (j PieceJudge) Missing(ctx context.Context, e archive.Entry) (missing, forgotten int, err error) {
	made, err := j.pieces(ctx, e)
	if err != nil {
		return 0, 0, err
	}
	absent, forgotten, err := j.lacking(ctx, made)
	if err != nil || len(absent) == 0 {
		return 0, forgotten, err
	}
	same, err := j.sharing(ctx, e)
	if err != nil {
		return 0, 0, err
	}
	for _, id := range same {
		longer, err := wherever(ctx, j.Run, j.Archives, id)
		if err != nil || longer.Bytes <= e.Bytes {
			continue
		}
		said, err := j.pieces(ctx, longer)
		if err != nil {
			return 0, 0, err
		}
		made = append(made, said...)
		if absent, err = j.notAmong(ctx, said, absent); err != nil {
			return 0, 0, err
		}
	}
	buried, err := j.Memories.ForgottenRanges(ctx, same, idsOf(made))
	lacked := len(absent)
	absent = slices.DeleteFunc(absent, func(p piece) bool { return slices.ContainsFunc(buried, p.touches) })
	return len(absent), forgotten + lacked - len(absent), err
}

// pieces makes the pieces of an archive again, as remembering it would.
func (j PieceJudge) pieces(ctx context.Context, e archive.Entry) (pieces []piece, err error) {
	compactor := &compact.Compactor{Archiver: oneArchive{Archiver{Store: j.Archives, Now: j.Run.Now}, e}}
	policy := j.Run.RecoveryPolicy()
	policy.OutputLimit = j.OutputLimit
	log, source := ArchivedLog(e), memory.Source{Agent: e.Agent, Session: e.Session}
	for r, err := range compactor.Pieces(ctx, ArchiveReader(&j.Run.Settings, e), log.Ref, log.Archived, policy) {
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, piece{MemoryRecord(source, r).ID, memory.ByteRange{From: r.FirstByte, To: r.EndByte}})
	}
	return pieces, nil
}

// idsOf are the ids of some pieces.
func idsOf(pieces []piece) []string {
	ids := make([]string, 0, len(pieces))
	for _, p := range pieces {
		ids = append(ids, p.id)
	}
	return ids
}

// lacking are those of some pieces that memory neither has nor has forgotten, and how
// many it has forgotten.
func (j PieceJudge) lacking(ctx context.Context, pieces []piece) (lacked []piece, forgotten int, err error) {
	absent, forgotten, err := j.Memories.Lacking(ctx, idsOf(pieces))
	slices.Sort(absent)
	for _, p := range pieces {
		if _, found := slices.BinarySearch(absent, p.id); found {
			lacked = append(lacked, p)
		}
	}
	return lacked, forgotten, err
}

// sharing are an archive and those of which records or forgotten pieces are
// and that share its bytes: it begins with theirs, or they with its own.
func (j PieceJudge) sharing(ctx context.Context, e archive.Entry) ([]string, error) {
	named, err := j.Memories.ArchivesOf(ctx, memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}, compact.CategoryHistory)
	if err != nil {
		return nil, err
	}
	forgotten, err := j.Memories.ForgottenArchives(ctx)
	if err != nil {
		return nil, err
	}
	return sharingBytes(ctx, j.Run, j.Archives, e, append(named, forgotten...))
}

// notAmong are those of some pieces whose bytes memory does not have as the pieces of a
// longer archive, which begins with them.
func (j PieceJudge) notAmong(ctx context.Context, said, pieces []piece) ([]piece, error) {
	absent, _, err := j.lacking(ctx, said)
	return slices.DeleteFunc(pieces, func(p piece) bool {
		touches := func(other piece) bool { return p.touches(other.ByteRange) }
		return slices.ContainsFunc(said, touches) && !slices.ContainsFunc(absent, touches)
	}), err
}
