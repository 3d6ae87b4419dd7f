package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// archive writes the program and what goes with it into one file.
func (r release) archive(a archive, t target, program string) error {
	name, err := r.render(a.NameTemplate, t)
	if err != nil {
		return err
	}
	files := map[string]string{filepath.Base(program): program} // in the archive -> where it is
	for _, f := range a.Files {
		found, err := matching(f.Src)
		if err != nil {
			return err
		}
		for _, path := range found {
			files[filepath.ToSlash(path)] = path
		}
	}
	format := a.Formats[0]
	for _, o := range a.FormatOverrides {
		if o.Goos == t.os {
			format = o.Formats[0]
		}
	}
	pack := map[string]func(io.Writer, string, map[string]string) error{"tar.gz": r.tar, "zip": r.zip}[format]
	if pack == nil {
		return fmt.Errorf("archives of the format %s are not made here", format)
	}
	out, err := os.Create(filepath.Join(r.dir, name+"."+format))
	if err != nil {
		return err
	}
	return errors.Join(pack(out, name, files), out.Close())
}

// matching are the files of a pattern: /**/* are all below a directory.
func matching(pattern string) (files []string, err error) {
	root, all := strings.CutSuffix(pattern, "/**/*")
	if !all {
		files, err = filepath.Glob(pattern)
	} else {
		err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files = append(files, path)
			}
			return err
		})
	}
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no file is called %s", pattern)
	}
	return files, err
}

// mode is what a file of an archive may be used for.
func mode(name, program string) fs.FileMode {
	if name == program || name == program+".exe" {
		return 0o755
	}
	return 0o644
}

func (r release) tar(w io.Writer, dir string, files map[string]string) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(compressed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, err := os.ReadFile(files[name])
		if err != nil {
			return err
		}
		header := &tar.Header{Name: path.Join(dir, name), Mode: int64(mode(name, "sessctl")), Size: int64(len(text)), ModTime: r.date, Uname: "root", Gname: "root", Format: tar.FormatPAX}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), compressed.Close())
}

func (r release) zip(w io.Writer, dir string, files map[string]string) error {
	out := zip.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, err := os.ReadFile(files[name])
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: path.Join(dir, name), Method: zip.Deflate, Modified: r.date}
		header.SetMode(mode(name, "sessctl"))
		f, err := out.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := f.Write(text); err != nil {
			return err
		}
	}
	return out.Close()
}

// checksums writes the SHA-256 of everything in the directory, as sha256sum -c
// takes them.
func (r release) checksums(nameTemplate string) error {
	name, err := r.render(nameTemplate, target{})
	if err != nil {
		return err
	}
	made, err := os.ReadDir(r.dir)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, f := range made {
		text, err := os.ReadFile(filepath.Join(r.dir, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(text), f.Name())
	}
	return os.WriteFile(filepath.Join(r.dir, name), []byte(lines.String()), 0o644)
}
