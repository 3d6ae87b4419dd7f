//go:build linux && amd64

package faults

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// olderMemory is a home whose memory is of version 2: 24 records of agent a,
// 23 of agent b.
func olderMemory(h *Home) error {
	path, err := fixture("pkg/memory/testdata/version-2.tar.zst")
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	unpacked, err := zstd.NewReader(f)
	if err != nil {
		return err
	}
	defer unpacked.Close()
	for entries := tar.NewReader(unpacked); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry.Typeflag == tar.TypeDir {
			continue
		}
		content, err := io.ReadAll(entries)
		if err != nil {
			return err
		}
		to := filepath.Join(h.Data(), filepath.FromSlash(entry.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, content, 0o600)); err != nil {
			return err
		}
	}
}

// fixture is the path of a file of the project.
func fixture(path string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, path), nil
		}
	}
	return "", fmt.Errorf("%s: not in the project", path)
}

// broughtUpToDate checks that the memory has what it had of agent b, in files of
// this version only.
func broughtUpToDate(h *Home) error {
	code, out, err := h.Run("memory", "export", "--vectors")
	if err != nil || code != 0 {
		return fmt.Errorf("memory export: exit %d, %v: %s", code, err, out)
	}
	if records, vectors := strings.Count(out, `"id":`), strings.Count(out, `"vector":`); records != 23 || vectors != 22 {
		return fmt.Errorf("memory has %d records and %d vectors, want 23 and 22", records, vectors)
	}
	return filepath.WalkDir(filepath.Join(h.Data(), "memory"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".f32") {
			err = fmt.Errorf("%s is left", path)
		}
		return err
	})
}
