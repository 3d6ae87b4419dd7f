package scriptcmd

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// copytree FROM TO copies a directory; relative sources are under the module.
func copyTree(ts *testscript.TestScript, neg bool, args []string) {
	from, to := filepath.Join(ts.Getenv("SOURCE"), args[0]), ts.MkAbs(args[1])
	ts.Check(os.MkdirAll(to, 0o755))
	ts.Check(filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o600)
	}))
}

// aged DURATION PATH... makes files (all files below a directory) this old.
func aged(ts *testscript.TestScript, neg bool, args []string) {
	age, err := time.ParseDuration(args[0])
	ts.Check(err)
	when := time.Now().Add(-age)
	for _, arg := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(arg), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			return os.Chtimes(path, when, when)
		}))
	}
}

// tree DIR FILE writes names, modes, sizes, times and hashes of everything
// below DIR to FILE, so that two states can be compared.
func tree(ts *testscript.TestScript, neg bool, args []string) {
	var out bytes.Buffer
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum := ""
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = fmt.Sprintf("%x", sha256.Sum256(data))
		}
		fmt.Fprintln(&out, path, info.Mode(), info.ModTime().UnixNano(), sum)
		return nil
	}))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out.Bytes(), 0o600))
}

// sameas A B compares two files byte for byte.
func sameAs(ts *testscript.TestScript, neg bool, args []string) {
	same := ts.ReadFile(args[0]) == ts.ReadFile(args[1])
	if same == neg {
		ts.Fatalf("%s and %s: same bytes is %v", args[0], args[1], same)
	}
}
