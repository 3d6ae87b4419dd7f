package cmd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// begun are the archives of a session of which pieces were forgotten, and with
// whose bytes a longer one begins: what stands there is not to come back with it.
// Where nothing was forgotten nothing is read. An archive whose entry is gone or
// cannot be used is left out: it must not stop every other session.
func (m memoryAdapter) begun(ctx context.Context, ref session.Ref, from compact.Archived) (ids []string, err error) {
	if from.ID == "" || m.archives == nil {
		return nil, nil
	}
	forgotten, err := m.store.ForgottenArchives(ctx)
	if err != nil {
		return nil, err
	}
	var shorter []archive.Entry
	for _, id := range forgotten {
		e, err := m.archives.Get(ctx, id)
		if errors.Is(err, archive.ErrNotFound) || errors.Is(err, archive.ErrUnusableEntry) {
			continue // it was pruned, or doctor tells of it: nobody knows its bytes, nor of which session it is
		}
		if err != nil {
			return nil, err
		}
		if e.Runtime == ref.Runtime && e.Agent == ref.Agent && e.Session == ref.ID && e.Bytes < from.Bytes {
			shorter = append(shorter, e)
		}
	}
	if len(shorter) == 0 {
		return nil, nil
	}
	return m.beginsWith(ctx, from, shorter)
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
