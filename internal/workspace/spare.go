package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory"
)

// Archiving comes first. Everything else that a run needs may be broken: the memory,
// the places, the records of runs, the events. That is told once, the run is
// incomplete, and sessions are archived all the same. What is to be changed needs all
// of it.

// TellNoMemory tells that memory cannot be used, and what is lacking because of it:
// once in a run, whatever its steps lack. Each step has it on record.
func (run *Run) TellNoMemory(lacking string, err error) {
	told := false
	for of := run; of != nil; of = of.Outer {
		told = told || of.noMemoryTold
		of.noMemoryTold = true
	}
	what, hint := obstacle(run.MemoryDir(), err)
	if errors.Is(err, memory.ErrCorrupt) && hint == "" {
		hint = AdviseRebuild
	}
	n := Note{Path: run.MemoryDir(), Message: lacking + ": " + what, Hint: hint}
	if told {
		run.Incomplete++
		run.Passed = append(run.Passed, n)
		return
	}
	run.PassOver(n)
}

// unremembered is what a run lacks without memory.
const unremembered = "sessions are archived and not remembered"

// TellUnentered tells that archives are made and the catalogue does not have them.
// The next run enters them.
func (run *Run) TellUnentered(err *archive.UnenteredError) {
	what, hint := obstacle(run.CatalogueDir(), err.Err)
	for _, known := range []syscall.Errno{syscall.EACCES, syscall.EROFS} {
		if errors.Is(err, known) {
			what = known.Error() // the same for all entries
		}
	}
	run.PassOver(Note{Path: run.CatalogueDir(), Message: "archives are made and verified, and cannot be entered in the catalogue: " + what, Hint: hint})
}

// unfinished is what a run lacks that cannot look after what earlier runs began.
const unfinished = "what earlier runs left unfinished is not looked after"

// PassOverBroken tells that a part of the data directory cannot be used, and what for.
func (run *Run) PassOverBroken(path, lacking string, err error) {
	what, hint := obstacle(path, err)
	run.PassOver(Note{Path: path, Message: lacking + ": " + what, Hint: hint})
}

// obstacle says in plain words what is at a path, where that explains an error, and
// what can be done about it.
func obstacle(path string, err error) (what, hint string) {
	info, lookErr := os.Lstat(path)
	target, linkErr := os.Readlink(path)
	_, followErr := os.Stat(path)
	isDir := filepath.Ext(path) == ""
	switch {
	case lookErr == nil && linkErr == nil && errors.Is(followErr, fs.ErrNotExist):
		return fmt.Sprintf("it is a link to %s, where nothing is", target), "mount the disk that it leads to, or remove the link"
	case lookErr == nil && isDir && info.Mode().IsRegular():
		return "a file is in the place of the directory", "move the file away and run it again"
	case lookErr == nil && !isDir && info.IsDir():
		return "a directory is in the place of the file", "move the directory away and run it again"
	case errors.Is(err, memory.ErrNewerSchema):
		return err.Error(), "use the newer sessctl; or move the memory away, and sessctl memory reindex --from-archives makes it again"
	}
	body := failure.Explain(err)
	if space := (*durable.SpaceError)(nil); errors.As(err, &space) {
		return space.Err.Error(), body.Hint
	}
	return body.Message, body.Hint
}

// cannotBeWritten reports whether an error is that no archive can be made in a place:
// each session says so.
func cannotBeWritten(place string, err error) bool {
	info, lookErr := os.Stat(place)
	if errors.Is(lookErr, syscall.ENOTDIR) || lookErr == nil && !info.IsDir() {
		return true
	}
	_, linkErr := os.Readlink(place)
	return linkErr == nil || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}
