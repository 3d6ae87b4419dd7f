package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

// Put archives exactly size bytes of src and returns the entry of the verified
// archive. The bytes pass once: they are hashed, counted, compressed and
// written to a temporary file, which is synced and renamed. Then the file is
// read back and compared, and only then the catalogue gets its entry.
//
// When these bytes of this session are archived already, and that archive
// verifies, its entry is returned and nothing new stays. An archive that a
// killed run left without an entry is taken over if it verifies.
//
// An archive that was made and read back and cannot be entered into the catalogue
// is an [*UnenteredError]: the next Put of the same bytes takes it over.
//
// io.ErrUnexpectedEOF is returned when src has fewer bytes, a
// [*durable.SpaceError] when the disk is full. After an error no partial file
// is left; the caller may call again at any time.
func (s *Store) Put(ctx context.Context, m Meta, src io.Reader, size int64, now time.Time) (Entry, error) {
	e, err := s.put(ctx, m, source{src, size}, now)
	if err != nil {
		return Entry{}, fmt.Errorf("archive session %s: %w", m.Session, err)
	}
	return e, nil
}

// Existing returns the archive of a session's bytes with this hash (lower-case
// hexadecimal), if there is one whose file verifies: [Store.Put] would return the
// same. An error says that it cannot be made durable: a second try would seem to do it,
// as a system tells of a failed sync once.
func (s *Store) Existing(ctx context.Context, m Meta, sha256Hex string) (e Entry, ok bool, err error) {
	m, err = m.normalise()
	if err != nil {
		return Entry{}, false, nil
	}
	if e, err = s.load(ID(m, sha256Hex)); err != nil || s.VerifyFile(ctx, e) != nil {
		return Entry{}, false, nil
	}
	if err := s.syncNames(e); err != nil {
		return Entry{}, false, fmt.Errorf("archive session %s: %w", m.Session, err)
	}
	return e, true, nil
}

// source is what is to be archived.
type source struct {
	io.Reader
	size int64
}

// errKept ends the writing of an archive that turned out to be there already.
var errKept = errors.New("archived already")

func (s *Store) put(ctx context.Context, m Meta, src source, now time.Time) (Entry, error) {
	m, err := m.normalise()
	if err != nil {
		return Entry{}, err
	}
	dir, err := s.dirOf(m)
	if err != nil {
		return Entry{}, err
	}
	if err := s.pins.MakeDir(dir, 0o700); err != nil {
		return Entry{}, err
	}
	e := Entry{
		Schema: schema, Meta: m, Compression: s.compressionOf(m),
		CreatedAt: plainTime(now), ToolVersion: s.options.ToolVersion,
	}
	made, err := s.write(ctx, dir, e, src)
	if err == nil {
		err = s.inPlace(dir)
	}
	return made, err
}

// inPlace returns an error if an archive that was made in dir would not be found
// there by the next run: somebody has put another directory in its place.
func (s *Store) inPlace(dir string) error {
	return errors.Join(s.pins.InPlace(dir), s.pins.InPlace(s.catalogue.dir))
}

// write makes the archive of e in dir and enters it into the catalogue.
func (s *Store) write(ctx context.Context, dir string, e Entry, src source) (Entry, error) {
	var kept Entry
	path, err := s.pins.CreateNamed(dir, safeName(e.Session), 0o600, func(w io.Writer) (string, error) {
		prefix := safeName(e.Session) + "."
		earlier, err := s.namesIn(dir, prefix)
		if err != nil {
			return "", err
		}
		starts, err := e.fill(ctx, w, src, marksIn(earlier, prefix))
		if err != nil {
			return "", err
		}
		e.Begins = s.longest(e, starts)
		if kept, err = s.existing(ctx, dir, &e); err != nil {
			return "", err
		}
		if kept.ID != "" {
			return "", errKept
		}
		name, err := s.freeName(dir, e)
		s.step("named")
		return name, err
	})
	switch {
	case errors.Is(err, errKept):
		return kept, nil
	case errors.Is(err, durable.ErrExists):
		return s.afterRace(ctx, dir, e)
	case err != nil:
		return Entry{}, err
	}
	s.files.add(path)
	s.step("renamed")
	e.settleAt(path)
	if err := s.VerifyFile(ctx, e); err != nil {
		// What cannot be read back is no archive. The session is untouched.
		return Entry{}, errors.Join(fmt.Errorf("read back: %w", err), s.pins.RemoveFile(path))
	}
	s.step("verified")
	return s.enterOwn(ctx, e)
}

// enterOwn is enter for a file that only this Put knows: it goes if another Put was
// faster, for nothing names it then.
func (s *Store) enterOwn(ctx context.Context, e Entry) (Entry, error) {
	entered, err := s.enter(ctx, e)
	if err != nil && ctx.Err() == nil {
		return Entry{}, &UnenteredError{Entry: e, Err: err}
	}
	if err == nil && !s.sameArchive(entered, e) {
		err = s.pins.RemoveFile(e.Path)
	}
	return entered, err
}

// UnenteredError is an archive that is whole, in its place, and not in the catalogue.
type UnenteredError struct {
	Entry Entry // as it would be in the catalogue
	Err   error
}

// Error implements error.
func (e *UnenteredError) Error() string {
	return fmt.Sprintf("the copy %s is made and verified, and cannot be entered in the catalogue: %v", e.Entry.Path, e.Err)
}

// Unwrap returns the cause.
func (e *UnenteredError) Unwrap() error { return e.Err }

// settleAt gives the entry its file, which is whole, whatever it named before.
func (e *Entry) settleAt(path string) {
	e.Path = path
	var others []string
	for _, other := range e.Superseded {
		if other != path {
			others = append(others, other)
		}
	}
	e.Superseded = others
}

// marksIn are the beginnings of hashes that names of archives have behind a prefix, nil
// if there are none.
func marksIn(files []string, prefix string) (marks map[string]bool) {
	for _, file := range files {
		_, rest, _ := strings.Cut(strings.TrimPrefix(file, prefix), ".")
		if hash, _, cut := strings.Cut(rest, "."); cut && len(hash) >= shortDigit {
			if marks == nil {
				marks = map[string]bool{}
			}
			marks[hash[:shortDigit]] = true
		}
	}
	return marks
}

// fill copies the source into the archive's file and completes the entry with
// what went through. It returns the hashes of beginnings that have one of the marks.
func (e *Entry) fill(ctx context.Context, w io.Writer, src source, marks map[string]bool) ([]string, error) {
	session, stored := newTally(), newTally()
	session.marks = marks
	if e.Compression == CompressionZstd {
		if err := compress(ctx, io.MultiWriter(w, stored), io.TeeReader(src, session), src.size); err != nil {
			return nil, err
		}
	} else {
		if err := copyInto(ctx, w, io.TeeReader(src, session), src.size); err != nil {
			return nil, err
		}
		stored = session
	}
	e.SHA256, e.Bytes, e.Lines = session.sha256(), session.bytes, session.lines()
	e.StoredSHA256, e.StoredBytes = stored.sha256(), stored.bytes
	e.ID = ID(e.Meta, e.SHA256)
	return session.starts, nil
}

func compress(ctx context.Context, w io.Writer, src io.Reader, size int64) error {
	c, err := newCompressor(w)
	if err != nil {
		return err
	}
	if err := copyInto(ctx, c, src, size); err != nil {
		return errors.Join(err, c.Close())
	}
	return c.Close()
}

// freeName is the first name for e that nothing has.
func (s *Store) freeName(dir string, e Entry) (string, error) {
	for _, name := range fileNames(e) {
		if _, err := s.pins.Lstat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
			return name, nil
		}
	}
	return "", fmt.Errorf("every name for it is taken in %s", dir)
}

// afterRace is reached when another Put made a file with our name since we
// chose it. Of the same bytes that is our archive too.
func (s *Store) afterRace(ctx context.Context, dir string, e Entry) (Entry, error) {
	for range 2 { // a file that goes meanwhile went because a third Put has entered its own
		s.files.forget(dir)
		if kept, err := s.existing(ctx, dir, &e); err != nil || kept.ID != "" {
			return kept, err
		}
	}
	return Entry{}, fmt.Errorf("another archive took its name in %s", dir)
}

// enter writes the entry of a verified archive and returns the one that is in
// the catalogue then: that of another Put, if it was faster.
func (s *Store) enter(ctx context.Context, e Entry) (Entry, error) {
	path := s.entryPath(e.ID)
	if err := s.pins.MakeDir(s.catalogue.dir, 0o700); err != nil {
		return Entry{}, err
	}
	err := s.pins.CreateFile(path, 0o600, encodeEntry(e))
	if err == nil {
		s.step("entered")
		s.options.tellEntered(e)
		return e, nil
	}
	if !errors.Is(err, durable.ErrExists) {
		return Entry{}, err
	}
	first, err := s.load(e.ID)
	if err == nil && s.VerifyFile(ctx, first) == nil {
		return first, s.syncNames(first)
	}
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	// That entry is damaged, or what it names is. This archive is good.
	if err := s.pins.ReplaceFile(path, 0o600, encodeEntry(e)); err != nil {
		return e, err
	}
	s.options.tellEntered(e)
	return e, nil
}

// existing returns the entry of an archive of e's bytes that verifies, or an
// entry without id when there is none. An archive that does not verify,
// whatever the cause, is noted in e and left alone: a second copy is cheap,
// trusting it is not.
func (s *Store) existing(ctx context.Context, dir string, e *Entry) (Entry, error) {
	if old, err := s.load(e.ID); err == nil {
		err := s.VerifyFile(ctx, old)
		if err == nil {
			return old, s.syncNames(old)
		}
		offSite := errors.Is(err, ErrMissing) && old.Remote != nil
		if offSite && s.copied != nil && s.copied(ctx, old) == nil {
			return old, nil
		}
		if old.StoredSHA256 == e.StoredSHA256 {
			e.Remote = old.Remote // a copy of this very file
		}
		e.Others = slices.DeleteFunc(old.Sources(), func(path string) bool { return path == e.Source })
		if e.Superseded = old.Superseded; !offSite {
			e.Superseded = append(e.Superseded, old.Path)
		}
	}
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	return s.adopt(ctx, dir, *e)
}

// adopt takes over a file without an entry: a run was killed before it could
// write one, or the entry was lost.
func (s *Store) adopt(ctx context.Context, dir string, e Entry) (Entry, error) {
	files, err := s.namesIn(dir, safeName(e.Session)+".")
	if err != nil {
		return Entry{}, err
	}
	for _, file := range files {
		name, ok := parseName(file, e)
		if !ok {
			continue
		}
		found := e
		found.settleAt(filepath.Join(dir, file))
		found.CreatedAt, found.Compression = name.createdAt, name.compression
		adoptable, err := s.adoptable(ctx, &found)
		if err != nil && ctx.Err() == nil {
			err = &UnenteredError{Entry: found, Err: err}
		}
		if err != nil {
			return Entry{}, err
		}
		if !adoptable {
			continue
		}
		if found.StoredSHA256 != e.StoredSHA256 {
			found.Remote = nil // that is a copy of another file
		}
		s.step("found")
		if err := s.syncFound(found.Path); errors.Is(err, fs.ErrNotExist) {
			continue // it was another Put's, which was not the first and removed it
		} else if err != nil {
			return Entry{}, err
		}
		if s.alone(dir) {
			entered, err := s.enter(ctx, found)
			if err != nil && ctx.Err() == nil {
				err = &UnenteredError{Entry: found, Err: err}
			}
			return entered, err
		}
		named, err := s.nameOwn(dir, e, &found)
		if err != nil {
			return Entry{}, err
		}
		if named {
			return s.enterOwn(ctx, found)
		}
	}
	return Entry{}, nil
}

// syncFound makes an archive durable that another Put may have left half way.
func (s *Store) syncFound(path string) error {
	root, err := s.pins.OpenDir(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	defer root.Close()
	return durable.SyncFileIn(root, filepath.Base(path))
}

// alone reports whether only this catalogue can name the archives of a directory:
// it lies below the directory of the catalogue. Any other, such as OpenClaw's
// session_archive, may be shared.
func (s *Store) alone(dir string) bool {
	below, err := filepath.Rel(filepath.Dir(s.catalogue.dir), dir)
	return err == nil && filepath.IsLocal(below)
}

// nameOwn gives a file that was found a name of our own, beside the one that it
// has: if that is another catalogue's, its prune takes only its name away. It
// reports false where that cannot be done; a second copy is made then. A name that
// is there and may not be durable is an error.
func (s *Store) nameOwn(dir string, e Entry, found *Entry) (bool, error) {
	e.Compression = found.Compression
	name, err := s.freeName(dir, e)
	if err != nil {
		return false, nil
	}
	own := filepath.Join(dir, name)
	if err := s.pins.LinkFile(found.Path, own); err != nil {
		if durable.SameFile(s.pins, found.Path, own) || diskFails(err) {
			return false, err
		}
		return false, nil
	}
	s.files.add(own)
	found.settleAt(own)
	found.CreatedAt = e.CreatedAt
	return true, nil
}

// diskFails tells a disk that is full or broken, which ends the run, from a file
// system that has no second names.
func diskFails(err error) bool {
	return slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EROFS}, func(kind error) bool { return errors.Is(err, kind) })
}

// listings are the names of directories, each read once: a run that archives
// thousands of sessions of one agent would otherwise read its directory
// thousands of times. What another process adds meanwhile is not in them; a file
// without an entry that is overlooked so costs a second copy, no more.
type listings struct {
	mutex sync.Mutex
	names map[string][]string // sorted
}

// namesIn returns the names in a directory that begin with a prefix.
func (s *Store) namesIn(dir, prefix string) ([]string, error) {
	return s.files.of(s.pins, dir, prefix)
}

// of returns the names in a directory that begin with a prefix.
func (l *listings) of(pins *durable.Pins, dir, prefix string) ([]string, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	names, known := l.names[dir]
	if !known {
		entries, err := pins.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if l.names == nil {
			l.names = map[string][]string{}
		}
		l.names[dir] = names
	}
	first, _ := slices.BinarySearch(names, prefix)
	last := first
	for last < len(names) && strings.HasPrefix(names[last], prefix) {
		last++
	}
	return names[first:last], nil
}

// add notes a file that was made since its directory was read.
func (l *listings) add(path string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	names, known := l.names[filepath.Dir(path)]
	at, there := slices.BinarySearch(names, filepath.Base(path))
	if known && !there {
		l.names[filepath.Dir(path)] = slices.Insert(names, at, filepath.Base(path))
	}
}

// forget makes a directory be read anew.
func (l *listings) forget(dir string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.names, dir)
}

// adoptable reports whether the file of found is a whole archive of its bytes
// that no other entry names. It completes the entry with what is stored.
func (s *Store) adoptable(ctx context.Context, found *Entry) (bool, error) {
	stored, err := s.measureFile(ctx, found.Path)
	if err != nil {
		return false, ctx.Err() // cannot be read: not adopted
	}
	found.StoredSHA256, found.StoredBytes = stored.sha256(), stored.bytes
	if s.Verify(ctx, *found) != nil {
		return false, ctx.Err()
	}
	taken := false
	err = s.each(ctx, func(_ string, other Entry, err error) {
		taken = taken || err == nil && other.ID != found.ID && s.sameArchive(other, *found)
	})
	return err == nil && !taken, err
}

// syncNames makes an archive durable that another run made: it may have been
// killed after a file got its name and before that was synced.
func (s *Store) syncNames(e Entry) error {
	return errors.Join(s.pins.SyncDir(filepath.Dir(e.Path)), s.pins.SyncDir(s.catalogue.dir))
}

// sameArchive reports whether two entries name one file, however the path is
// spelt.
func (s *Store) sameArchive(a, b Entry) bool {
	if a.Path == b.Path {
		return true
	}
	if !strings.EqualFold(filepath.Base(a.Path), filepath.Base(b.Path)) {
		return false
	}
	fa, errA := s.pins.Lstat(a.Path)
	fb, errB := s.pins.Lstat(b.Path)
	return errA == nil && errB == nil && os.SameFile(fa, fb)
}
