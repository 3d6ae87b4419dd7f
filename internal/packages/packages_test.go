package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func configurationText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var testRelease = release{version: "1.2.3", date: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}

// The configuration of the releases is understood to its last key.
func TestConfiguration(t *testing.T) {
	c, err := readConfiguration([]byte(configurationText(t)))
	if err != nil {
		t.Fatal(err)
	}
	if targets, err := chosenTargets(c.Builds[0], ""); err != nil || len(targets) != 6 {
		t.Errorf("%v (%v)", targets, err)
	}
	if _, err := chosenTargets(c.Builds[0], "linux/amd64,plan9/amd64"); err == nil {
		t.Error("a target that is not built is taken")
	}
	if name, err := testRelease.render(c.Archives[0].NameTemplate, target{"linux", "arm64"}); err != nil || name != "sessctl_1.2.3_linux_arm64" {
		t.Errorf("%q (%v)", name, err)
	}
}

// What would be built otherwise than by goreleaser is refused.
func TestConfigurationThatIsRefused(t *testing.T) {
	text := configurationText(t)
	for old, instead := range map[string]string{
		"binary: sessctl":                      "binary: sessctl\n    tags: [other]",
		"mod_timestamp: \"{{ .CommitTimestamp": "mod_timestamp: \"{{ .Timestamp",
		"wrap_in_directory: true":              "wrap_in_directory: false",
		"{src: NOTICE, info: *info}":           "{src: NOTICE, info: {owner: root, group: root}}",
		"algorithm: sha256":                    "algorithm: md5",
		"artifacts: binary":                    "artifacts: archive",
		"project_name: sessctl":                "project_name: sessctl\nsigns: []",
	} {
		changed := strings.Replace(text, old, instead, 1)
		if changed == text {
			t.Errorf("there is no %q", old)
		}
		if _, err := readConfiguration([]byte(changed)); err == nil {
			t.Errorf("%q passes", instead)
		}
	}
}

// Every package has what belongs into it, where its system looks for it.
func TestContentsOfPackages(t *testing.T) {
	c, err := readConfiguration([]byte(configurationText(t)))
	if err != nil {
		t.Fatal(err)
	}
	told := testRelease.nfpmConfiguration(c.NFPMs[0], target{"linux", "arm64"}, "/tmp/x/sessctl")
	if told["name"] != "sessctl" || told["arch"] != "arm64" || told["version"] != "1.2.3" || told["mtime"] != "2026-03-04T05:06:07Z" || told["license"] != "MIT" {
		t.Errorf("%v", told)
	}
	contents, _ := told["contents"].([]any)
	for format, want := range map[string][]string{
		"deb": {"/usr/bin/sessctl", "/usr/share/man/man1/", "/usr/share/zsh/vendor-completions/_sessctl", "/usr/share/doc/sessctl/copyright", "/usr/lib/systemd/user/", "/usr/share/doc/sessctl/docs/"},
		"rpm": {"/usr/bin/sessctl", "/usr/share/man/man7/", "/usr/share/zsh/site-functions/_sessctl", "/usr/share/licenses/sessctl/LICENSE", "/usr/share/fish/vendor_completions.d/sessctl.fish", "/usr/share/bash-completion/completions/sessctl"},
	} {
		var got []string
		for _, content := range contents {
			entry, _ := content.(map[string]any)
			if only, _ := entry["packager"].(string); only == "" || only == format {
				path, _ := entry["dst"].(string)
				got = append(got, path)
			}
		}
		for _, path := range want {
			if !slices.Contains(got, path) {
				t.Errorf("%s lacks %s: %v", format, path, got)
			}
		}
	}
}

// An archive is the same bytes whenever it is made, and has nothing of the machine
// that made it.
func TestArchiveIsReproducible(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	for _, name := range []string{"sessctl", "docs/a.md", "README.md"} {
		path := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		files[name] = path
	}
	var made [2][2]bytes.Buffer
	for i := range made {
		if err := errors.Join(testRelease.tar(&made[i][0], "top", files), testRelease.zip(&made[i][1], "top", files)); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(files["README.md"], time.Now(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(made[0][0].Bytes(), made[1][0].Bytes()) || !bytes.Equal(made[0][1].Bytes(), made[1][1].Bytes()) {
		t.Error("the second archive differs")
	}
	plain, err := gzip.NewReader(&made[0][0])
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for in := tar.NewReader(plain); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		if h.Uid != 0 || h.Uname != "root" || !h.ModTime.Equal(testRelease.date) || (h.Mode == 0o755) != (h.Name == "top/sessctl") {
			t.Errorf("%+v", h)
		}
	}
	if !slices.Equal(names, []string{"top/README.md", "top/docs/a.md", "top/sessctl"}) {
		t.Errorf("%v", names)
	}
}

// go install refuses a module that replaces another one.
func TestModuleReplacesNothing(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if first, _, _ := strings.Cut(strings.TrimSpace(line), " "); first == "replace" || first == "exclude" {
			t.Errorf("go.mod: %s", line)
		}
	}
}
