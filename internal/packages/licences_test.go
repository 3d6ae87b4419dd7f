package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Everything that is in the program has a licence text, and the packages bring it.
func TestLicencesOfAllModules(t *testing.T) {
	modules, err := modulesOf(t.Context(), filepath.Join("..", ".."), []string{runtime.GOOS})
	if err != nil || len(modules) < 10 {
		t.Fatalf("%d modules, %v", len(modules), err)
	}
	text, err := licencesOf(modules)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "doc", "THIRD-PARTY-LICENSES")
	if err := writeText(file, text); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	for _, want := range []string{"the Go standard library: LICENSE", "github.com/spf13/cobra v", "Redistribution and use in source and binary forms", "Apache License", "Permission is hereby granted"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("there is no %q", want)
		}
	}
	for _, want := range []string{"dst: /usr/share/doc/sessctl/THIRD-PARTY-LICENSES", "{src: bin/share/**/*"} {
		if !strings.Contains(configurationText(t), want) {
			t.Errorf(".goreleaser.yaml lacks %q", want)
		}
	}
}

// A module without a licence text is refused; that of a part of it is taken too.
func TestModuleWithoutLicence(t *testing.T) {
	root := t.TempDir()
	part := filepath.Join(root, "internal", "part")
	if err := os.MkdirAll(part, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := module{name: "example.com/new v1.0.0", root: root, dirs: []string{part}}
	put(filepath.Join(part, "LICENSE.txt"), "terms of a part\n")
	put(filepath.Join(root, "license.go"), "package license\n")
	if _, err := licencesOf([]module{m}); err == nil || !strings.Contains(err.Error(), m.name) {
		t.Errorf("a module without a licence: %v", err)
	}
	put(filepath.Join(root, "SQLITE-LICENSE"), "terms\r\nof all\n")
	text, err := licencesOf([]module{m, {name: "example.com/same v2.0.0", root: root}})
	if err != nil || strings.Count(string(text), "terms\nof all") != 1 || !strings.Contains(string(text), "terms of a part") || !strings.Contains(string(text), "example.com/same v2.0.0: SQLITE-LICENSE") {
		t.Errorf("%s, %v", text, err)
	}
	put(filepath.Join(root, "NOTICE"), "")
	if _, err := licencesOf([]module{m}); err == nil {
		t.Error("an empty file is taken for terms")
	}
}
