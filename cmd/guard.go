package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sessctl/sessctl/pkg/durable"
)

// lock makes the data directory and takes its lock.
func (a *app) lock(ctx context.Context) (*durable.FileLock, error) {
	if err := a.guard(ctx); err != nil {
		return nil, err
	}
	if err := durable.MakeDir(a.dataDir(), 0o700); err != nil {
		return nil, &failure{code: "permission", exit: exitFailed, path: a.dataDir(), hint: "choose another place with --data-dir", err: fmt.Errorf("make data directory: %w", err)}
	}
	return durable.Lock(filepath.Join(a.dataDir(), "lock"))
}

// atWork says whether a state-changing sessctl runs.
func (a *app) atWork() bool {
	state, err := durable.LookAtLock(filepath.Join(a.dataDir(), "lock"))
	return err == nil && state.Held
}

// guard refuses to change anything where it would harm the user: as root in
// another user's files, whose new files would then be root's, and in a data
// directory that everybody can change. Reading is not guarded.
func (a *app) guard(ctx context.Context) error {
	dir, info, err := nearest(a.dataDir())
	if err != nil {
		return nil // making the directory says what is wrong
	}
	if os.Geteuid() == 0 && !a.global.AllowRoot {
		if uid, known := durable.Owner(info); known && uid != 0 {
			return refuseRoot(dir, uid)
		}
		if !a.listed {
			if _, _, err := a.listStores(ctx); ctx.Err() != nil {
				return err // what else is wrong with the stores is told when they are used
			}
		}
		if a.foreign.path != "" {
			return refuseRoot(a.foreign.path, a.foreign.uid)
		}
	}
	if dir != a.dataDir() || runtime.GOOS == "windows" {
		return nil
	}
	if info.Mode().Perm()&0o002 != 0 {
		return &failure{code: "permission", exit: exitFailed, path: dir, hint: "chmod 700 " + dir, err: fmt.Errorf("everybody can change what is in the data directory %s", dir)}
	}
	return a.guardLink(dir)
}

// guardLink refuses a data directory that somebody else has pointed elsewhere.
func (a *app) guardLink(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	if uid, known := durable.Owner(info); known && uid != os.Geteuid() && uid != 0 {
		return &failure{code: "permission", exit: exitFailed, path: dir, hint: "choose another place with --data-dir", err: fmt.Errorf("the data directory %s is a symbolic link of user %d", dir, uid)}
	}
	return nil
}

func refuseRoot(path string, uid int) error {
	return &failure{
		code: "root", exit: exitFailed, path: path,
		hint: fmt.Sprintf("run it as that user (sudo -u '#%d' sessctl ...), or say --allow-root", uid),
		err:  fmt.Errorf("%s belongs to user %d, and this is root: nothing is changed", path, uid),
	}
}

// nearest is a directory, or the nearest one above it that exists.
func nearest(dir string) (string, os.FileInfo, error) {
	for {
		info, err := os.Stat(dir)
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return dir, info, err
		}
		dir = filepath.Dir(dir)
	}
}

// foreignFile is a session that belongs to another user.
type foreignFile struct {
	path string
	uid  int
}

// findForeign returns the first session, or store, of another user. Only root
// is asked: for others the system itself keeps users apart.
func findForeign(all inventory) foreignFile {
	if os.Geteuid() != 0 {
		return foreignFile{}
	}
	seen := map[string]bool{}
	for _, s := range all.sessions {
		for _, path := range []string{s.Path, filepath.Dir(s.Path), s.Store} {
			if seen[path] {
				continue
			}
			seen[path] = true
			info, err := os.Lstat(path)
			if err != nil {
				continue
			}
			if uid, known := durable.Owner(info); known && uid != 0 {
				return foreignFile{path, uid}
			}
		}
	}
	return foreignFile{}
}
