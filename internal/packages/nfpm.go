package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// packages has nfpm make the packages of a target.
func (r release) packages(ctx context.Context, n nfpm, t target, program string) error {
	text, err := yaml.Marshal(r.nfpmConfiguration(n, t, program))
	if err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(program), "nfpm.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	for _, format := range n.Formats {
		if err := r.command(ctx, "", nil, filepath.Join(r.tools, "nfpm"), "package", "--config", path, "--packager", format, "--target", r.dir+"/"); err != nil {
			return err
		}
	}
	return nil
}

// nfpmConfiguration is what nfpm is told, in its own words, of which most are those of
// goreleaser.
func (r release) nfpmConfiguration(n nfpm, t target, program string) map[string]any {
	c := maps.Clone(n.Rest)
	c["name"] = n.PackageName
	c["arch"], c["platform"] = t.arch, t.os
	c["version"], c["version_schema"] = r.version, "semver"
	c["mtime"] = r.date.Format(time.RFC3339)
	binary := map[string]any{"src": program, "dst": filepath.ToSlash(filepath.Join(n.Bindir, filepath.Base(program))), "file_info": map[string]any{"mode": 0o755}}
	c["contents"] = append(slices.Clone(n.Contents), binary)
	return c
}
