package pi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// Place implements [session.Restorer]. A rotated name, which is this tool's,
// stands for the log's own.
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	if err := ctx.Err(); err != nil {
		return session.Place{}, err
	}
	below, err := filepath.Rel(s.base, path)
	if err != nil || !filepath.IsLocal(below) {
		return session.Place{}, fmt.Errorf("%s: %w", path, session.ErrElsewhere)
	}
	n, ok, _ := parseName(filepath.Base(path))
	if !ok || strings.Count(filepath.ToSlash(below), "/") > 1 || strings.HasPrefix(below, ".") {
		return session.Place{}, unsupported(path, "no place for a session of pi")
	}
	path = filepath.Join(filepath.Dir(path), n.live)
	p := session.Place{Path: path, Ref: session.Ref{
		Runtime: session.RuntimePi, Agent: agentOf(filepath.Base(filepath.Dir(path))), ID: session.CleanID(n.id()),
		Store: s.root, Path: path, Kind: session.KindLive,
	}}
	d, name, err := s.directoryOf(path)
	if errors.Is(err, fs.ErrNotExist) {
		now = now.UTC()
		p.Aside = path + rotatedMark + now.Format(stampForm)
		p.Spare = path + rotatedMark + now.Add(time.Second).Format(stampForm)
		return p, nil
	}
	if err != nil {
		return p, err
	}
	defer d.close()
	if err := d.inPlace(); err != nil {
		return p, err
	}
	return p, d.place(&p, name, now)
}

// place completes what the directory tells.
func (d *directory) place(p *session.Place, name string, now time.Time) (err error) {
	now = now.UTC().Truncate(time.Millisecond)
	if p.Aside, err = d.freeName(name, now); err != nil {
		return err
	}
	if p.Spare, err = d.freeName(name, now.Add(time.Second)); err != nil {
		return err
	}
	info, err := d.statIfThere(name)
	if err != nil {
		return err
	}
	if info == nil {
		p.Like, err = d.neighbour()
		return err
	}
	if reason := unusable(info); reason != "" {
		return unsupported(p.Path, reason)
	}
	p.There, p.Like = true, info
	p.Ref.Bytes, p.Ref.ModTime = info.Size(), info.ModTime()
	if h, err := d.readHead(name); err == nil && h.Found {
		p.Ref.ID = session.CleanID(h.ID)
	}
	return nil
}

// neighbour is the log that was changed last, nil if there is none.
func (d *directory) neighbour() (last os.FileInfo, err error) {
	found, err := names(d.root)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", d.path, err)
	}
	for _, name := range found {
		if _, ok, _ := parseName(name); !ok {
			continue
		}
		info, err := d.stat(name)
		if err != nil || unusable(info) != "" {
			continue
		}
		if last == nil || info.ModTime().After(last.ModTime()) || info.ModTime().Equal(last.ModTime()) && name > last.Name() {
			last = info
		}
	}
	return last, nil
}

// Unused implements [session.Restorer]. pi takes no locks.
func (s *Store) Unused(_ context.Context, path string, now time.Time, quiet time.Duration) error {
	d, name, err := s.directoryOf(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.close()
	info, err := d.statIfThere(name)
	if err != nil || info == nil {
		return err
	}
	return session.CheckQuiet(path, info, now, quiet)
}
