package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory"
)

// OpenFixing opens the workspace and finishes what can be finished.
func OpenFixing(ctx context.Context, run *workspace.Run) (*workspace.Workspace, error) {
	all, _, err := run.ListStores(ctx)
	if f := (*failure.Error)(nil); err != nil && !(errors.As(err, &f) && f.Code == "no_store") {
		return nil, err
	}
	return workspace.Open(ctx, run, workspace.Mode{Reason: "compact", Recover: &workspace.Recovery{Sessions: all.Sessions, Policy: run.RecoveryPolicy()}})
}

// AdviseFix is what to do about what --fix mends.
const AdviseFix = "sessctl doctor --fix, or the next compaction, does it"

// AdviseMemory is what to do about a problem of the memory in dir; path is where
// it is.
func AdviseMemory(path, dir string) string {
	if strings.HasPrefix(path, memory.ForgottenDir(dir)) {
		return AdviseFix + ", as long as the memory knows what was forgotten; else " + workspace.AdviseForgotten
	}
	if strings.HasPrefix(path, memory.StoredDir(dir)) {
		return AdviseFix + ", as long as the memory has what agents stored; else put the file back from a backup"
	}
	return "lost vectors: sessctl memory reindex --pending; a damaged database: sessctl memory reindex --from-archives"
}

// AdviseSetAside is what to do about a damaged memory that is kept.
const AdviseSetAside = "keep it for what is in no archive: facts, lessons of a model, sessions that were never archived or whose archives were pruned; without those it can go once sessctl archives verify and sessctl memory verify end with 0"

// SetAside lists the damaged memories that are kept.
func SetAside(a *workspace.Settings) (paths []string) {
	entries, err := os.ReadDir(a.DataDir())
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if ok, _ := filepath.Match("memory.damaged-*", e.Name()); ok {
			paths = append(paths, filepath.Join(a.DataDir(), e.Name()))
		}
	}
	return paths
}
