package cmd

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// begun are the archives of a session of which pieces were forgotten, and with
// whose bytes a longer one begins: what stands there is not to come back with it.
// Where nothing was forgotten nothing is read. An archive whose entry is gone or
// cannot be used stops no session: it is found by its id, which its bytes have.
func (m memoryAdapter) begun(ctx context.Context, ref session.Ref, from compact.Archived) (ids []string, err error) {
	if from.ID == "" || m.archives == nil {
		return nil, nil
	}
	entries, lost, err := m.forgotten(ctx, ref)
	if err != nil {
		return nil, err
	}
	shorter := slices.DeleteFunc(entries, func(e archive.Entry) bool { return e.Bytes >= from.Bytes })
	if len(shorter) > 0 {
		if ids, err = m.beginsWith(ctx, from, shorter); err != nil {
			return nil, err
		}
	}
	more, err := m.beginsWithLost(ctx, ref, from, lost)
	return append(ids, more...), err
}

// begunAndLost are the archives without an entry with whose bytes some archives of
// a session begin, and of which pieces were forgotten.
func (m memoryAdapter) begunAndLost(ctx context.Context, ref session.Ref, archives []compact.Archived) (ids []string, err error) {
	_, lost, err := m.forgotten(ctx, ref)
	for _, from := range archives {
		if err != nil {
			return nil, err
		}
		var more []string
		more, err = m.beginsWithLost(ctx, ref, from, lost)
		ids = append(ids, more...)
	}
	return ids, err
}

// forgotten are the archives of which pieces were forgotten: the entries of those of
// a session, and the ids of those of which nobody can tell whose they are.
func (m memoryAdapter) forgotten(ctx context.Context, ref session.Ref) (entries []archive.Entry, lost map[string]bool, err error) {
	ids, err := m.store.ForgottenArchives(ctx)
	if err != nil {
		return nil, nil, err
	}
	lost = map[string]bool{}
	for _, id := range ids {
		e, err := m.archives.Get(ctx, id)
		switch {
		case errors.Is(err, archive.ErrNotFound), errors.Is(err, archive.ErrUnusableEntry):
			lost[id] = true // it was pruned, or doctor tells of it
		case err != nil:
			return nil, nil, err
		case e.Runtime == ref.Runtime && e.Agent == ref.Agent && e.Session == ref.ID:
			entries = append(entries, e)
		}
	}
	return entries, lost, nil
}

// beginsWithLost are those of some archives without an entry with whose bytes an
// archive begins: a log was archived up to the end of a line, with or without what
// ends it.
func (m memoryAdapter) beginsWithLost(ctx context.Context, ref session.Ref, from compact.Archived, lost map[string]bool) (ids []string, err error) {
	if len(lost) == 0 {
		return nil, nil
	}
	log, err := archiver{store: m.archives}.Open(ctx, from)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	meta := archive.Meta{Runtime: ref.Runtime, Agent: ref.Agent, Session: ref.ID}
	read, lines := sha256.New(), bufio.NewReaderSize(log, 1<<16)
	for err == nil {
		var part []byte
		if part, err = lines.ReadSlice('\n'); err != nil {
			read.Write(part)
		} else {
			read.Write(part[:len(part)-1])
			ids = appendLost(ids, lost, meta, read)
			read.Write(part[len(part)-1:])
			ids = appendLost(ids, lost, meta, read)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil // the line goes on
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the archive %s: %w", from.ID, err)
	}
	return ids, nil
}

// appendLost appends the archive of the bytes that were hashed, if it is one of some.
func appendLost(ids []string, lost map[string]bool, of archive.Meta, read hash.Hash) []string {
	if id := archive.ID(of, hex.EncodeToString(read.Sum(nil))); lost[id] {
		return append(ids, id)
	}
	return ids
}

// beginsWith are those with whose bytes an archive begins.
func (m memoryAdapter) beginsWith(ctx context.Context, from compact.Archived, shorter []archive.Entry) (ids []string, err error) {
	slices.SortFunc(shorter, func(x, y archive.Entry) int { return cmp.Compare(x.Bytes, y.Bytes) })
	log, err := archiver{store: m.archives}.Open(ctx, from)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	hash, at := sha256.New(), int64(0)
	for _, e := range shorter {
		if _, err := io.CopyN(hash, log, e.Bytes-at); err != nil {
			return nil, fmt.Errorf("read the archive %s: %w", from.ID, err)
		}
		if at = e.Bytes; hex.EncodeToString(hash.Sum(nil)) == e.SHA256 {
			ids = append(ids, e.ID)
		}
	}
	return ids, nil
}
