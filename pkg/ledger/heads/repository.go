package heads

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/ledger"
)

// Repository is a git repository, with a working directory or without one, in which each
// head is a commit. If its branch has an upstream, the head is read from there, and the
// commit is put behind what is there and pushed; the branch itself follows with the next
// pull. Else the branch has it.
//
// The commit is made without the index: one that a killed git has left locked would keep
// all later heads out, and what a person has prepared in it stays as it is. It is synced
// as a head in a file is.
type Repository struct {
	Dir  string
	As   string            // name of the ledger: the head is in As.head
	Tell func(text string) // called where a lock is removed; nil for nobody
}

// Name implements [Place].
func (g Repository) Name() string { return "git:" + g.Dir }

func (g Repository) file() string { return g.As + ".head" }

// git runs git. A lock in its way that a killed one has left is removed, once.
func (g Repository) git(ctx context.Context, in []byte, args ...string) ([]byte, error) {
	out, err := g.once(ctx, in, args...)
	if err != nil && g.unlock(ctx, err) {
		out, err = g.once(ctx, in, args...)
	}
	return out, err
}

func (g Repository) once(ctx context.Context, in []byte, args ...string) ([]byte, error) {
	own := []string{"-C", g.Dir, "-c", "user.name=sessctl", "-c", "user.email=sessctl@localhost", "-c", "core.fsync=committed,reference"}
	return run(ctx, in, environment(), "git", append(own, args...)...)
}

// environment is that of git, without what a hook of another repository is told: it would
// be taken for this one.
func environment() []string {
	others := []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"}
	all := slices.DeleteFunc(os.Environ(), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains(others, name)
	})
	return append(all, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}

// leftAfter is how old a lock is that nobody holds any more. Git has one on a branch for
// milliseconds.
const leftAfter = 10 * time.Minute

// unlock removes the lock on a branch of this repository that an error of git names, if a
// killed one has left it.
func (g Repository) unlock(ctx context.Context, failed error) bool {
	named := regexp.MustCompile(`Unable to create '(.+\.lock)': File exists`).FindStringSubmatch(failed.Error())
	if named == nil {
		return false
	}
	common, err := g.once(ctx, nil, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return false
	}
	lock, dir := named[1], strings.TrimSpace(string(common))
	if !filepath.IsAbs(lock) {
		lock = filepath.Join(g.Dir, lock)
	}
	if in, err := filepath.Rel(dir, lock); err != nil || !filepath.IsLocal(in) {
		return false
	}
	if info, err := os.Lstat(lock); err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < leftAfter {
		return false
	}
	if err := durable.RemoveFile(lock); err != nil {
		return false
	}
	if g.Tell != nil {
		g.Tell(lock + " was left by a git that was killed, and is removed")
	}
	return true
}

// answer is the line that git prints, "" where it has none.
func (g Repository) answer(ctx context.Context, args ...string) (string, error) {
	line, err := g.git(ctx, nil, args...)
	if exitCode(err) == 1 {
		return "", nil
	}
	return string(bytes.TrimSpace(line)), err
}

// upstream is a branch of another repository; empty for none.
type upstream struct{ remote, ref string }

// follows is what the branch follows, which need not be there yet.
func (g Repository) follows(ctx context.Context) (upstream, error) {
	branch, err := g.answer(ctx, "symbolic-ref", "-q", "--short", "HEAD")
	if err != nil || branch == "" {
		return upstream{}, err
	}
	remote, err := g.answer(ctx, "config", "branch."+branch+".remote")
	if err != nil || remote == "" {
		return upstream{}, err
	}
	ref, err := g.answer(ctx, "config", "branch."+branch+".merge")
	if err != nil || ref == "" {
		return upstream{}, err
	}
	return upstream{remote, ref}, nil
}

// fetched is the branch that the commit of an upstream gets here.
const fetched = "refs/sessctl/heads"

// tip is the id of the commit that the head is read from, "" if there is none.
func (g Repository) tip(ctx context.Context, from upstream) (string, error) {
	name := "HEAD"
	if from.ref != "" {
		name = fetched
		_, err := g.git(ctx, nil, "fetch", "-q", from.remote, "+"+from.ref+":"+fetched)
		if err != nil && strings.Contains(err.Error(), "couldn't find remote ref") {
			return "", nil
		}
		if err != nil {
			return "", err
		}
	}
	return g.answer(ctx, "rev-parse", "-q", "--verify", name+"^{commit}")
}

// Last implements [Place].
func (g Repository) Last(ctx context.Context) ([]byte, error) {
	from, err := g.follows(ctx)
	if err != nil {
		return nil, err
	}
	tip, err := g.tip(ctx, from)
	if err != nil {
		return nil, err
	}
	var blob string
	if tip != "" {
		blob, err = g.answer(ctx, "rev-parse", "-q", "--verify", tip+":"+g.file())
	}
	if err == nil && blob == "" {
		err = fmt.Errorf("%s: %w", g.file(), fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	return g.git(ctx, nil, "cat-file", "blob", blob)
}

// Keep implements [Place].
func (g Repository) Keep(ctx context.Context, head ledger.Head) error {
	to, err := g.follows(ctx)
	if err != nil {
		return err
	}
	parent, err := g.tip(ctx, to)
	if err != nil {
		return err
	}
	commit, err := g.commit(ctx, parent, head)
	if err != nil {
		return err
	}
	if to.ref != "" {
		_, err = g.git(ctx, nil, "push", "-q", to.remote, commit+":"+to.ref)
		return err
	}
	if _, err = g.git(ctx, nil, "update-ref", "-m", "sessctl", "HEAD", commit, parent); err != nil {
		return err
	}
	// The working directory follows if there is one and nobody has the index, as an editor
	// of a commit's message may for hours.
	_, _ = g.once(ctx, nil, "checkout", "-q", "HEAD", "--", ":/"+g.file()) // the head is kept without it
	return nil
}

// commit makes a commit of a head behind another one, "" for none, and returns its id.
// Other files stay what they are there.
func (g Repository) commit(ctx context.Context, parent string, head ledger.Head) (string, error) {
	blob, err := g.git(ctx, head.Note, "hash-object", "-w", "--stdin")
	if err != nil {
		return "", err
	}
	files, err := g.others(ctx, parent)
	if err != nil {
		return "", err
	}
	files = fmt.Appendf(files, "100644 blob %s\t%s\x00", bytes.TrimSpace(blob), g.file())
	tree, err := g.git(ctx, files, "mktree", "-z", "--missing")
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", string(bytes.TrimSpace(tree)), "-m", fmt.Sprintf("%s: %d entries", g.As, head.N)}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	id, err := g.git(ctx, nil, args...)
	return string(bytes.TrimSpace(id)), err
}

// others lists the files of a commit beside that of the head, as mktree reads them.
func (g Repository) others(ctx context.Context, commit string) (files []byte, err error) {
	if commit == "" {
		return nil, nil
	}
	all, err := g.git(ctx, nil, "ls-tree", "-z", "--full-tree", commit)
	for entry := range bytes.SplitAfterSeq(all, []byte{0}) {
		if !bytes.HasSuffix(entry, []byte("\t"+g.file()+"\x00")) {
			files = append(files, entry...)
		}
	}
	return files, err
}
