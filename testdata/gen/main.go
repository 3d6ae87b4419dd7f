// Command gen writes the sample home and the small session files of testdata.
//
// The stories under story/ are short plays: who says what, which command runs
// and what it prints. The program turns them into session logs in the formats
// of OpenClaw (file era) and pi, and adds what a real log has besides: ids,
// times, usage, thinking, details. It is seeded, so it always writes the same
// bytes. Nothing in it is or was a real conversation.
package main

//go:generate go run . ..

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

//go:embed story
var stories embed.FS

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen TESTDATA-DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// run writes every file below root.
func run(root string) error {
	files := map[string][]byte{}
	for _, add := range []func(map[string][]byte) error{coordinator, librarian, piStore, smallSessions, codexHome, claudeStore, claudeHistory, editorTasks, gooseRows, cursorHome, geminiHome} {
		if err := add(files); err != nil {
			return err
		}
	}
	for name, data := range files {
		target := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// story reads all acts of a story, in the order of their names.
func story(name string) ([]act, error) {
	dir := path.Join("story", name)
	entries, err := fs.ReadDir(stories, dir)
	if err != nil {
		return nil, err
	}
	var acts []act
	for _, e := range entries {
		text, err := fs.ReadFile(stories, path.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		acts = append(acts, act{topic: e.Name(), items: parse(string(text))})
	}
	return acts, nil
}
