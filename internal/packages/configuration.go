package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	"go.yaml.in/yaml/v3"
)

// configuration is what is read of .goreleaser.yaml. A key that is not here is an
// error: what goreleaser would build must be what is built here.
type configuration struct {
	Version     int       `yaml:"version"`
	ProjectName string    `yaml:"project_name"`
	Before      before    `yaml:"before"`
	Builds      []build   `yaml:"builds"`
	Archives    []archive `yaml:"archives"`
	NFPMs       []nfpm    `yaml:"nfpms"`
	SBOMs       []sbom    `yaml:"sboms"`
	Checksum    checksum  `yaml:"checksum"`
	Snapshot    untouched `yaml:"snapshot"`
	Changelog   any       `yaml:"changelog"`
}

type before struct {
	Hooks []string `yaml:"hooks"`
}

type build struct {
	ID           string   `yaml:"id"`
	Main         string   `yaml:"main"`
	Binary       string   `yaml:"binary"`
	Env          []string `yaml:"env"`
	Goos         []string `yaml:"goos"`
	Goarch       []string `yaml:"goarch"`
	Flags        []string `yaml:"flags"`
	Ldflags      []string `yaml:"ldflags"`
	ModTimestamp string   `yaml:"mod_timestamp"`
}

type archive struct {
	ID              string     `yaml:"id"`
	IDs             []string   `yaml:"ids"`
	Formats         []string   `yaml:"formats"`
	FormatOverrides []override `yaml:"format_overrides"`
	NameTemplate    string     `yaml:"name_template"`
	WrapInDirectory bool       `yaml:"wrap_in_directory"`
	BuildsInfo      fileInfo   `yaml:"builds_info"`
	Files           []file     `yaml:"files"`
}

type override struct {
	Goos    string   `yaml:"goos"`
	Formats []string `yaml:"formats"`
}

type file struct {
	Src  string   `yaml:"src"`
	Info fileInfo `yaml:"info"`
}

// fileInfo is the same for every file: root's, with the date of the commit.
type fileInfo struct {
	Owner string `yaml:"owner"`
	Group string `yaml:"group"`
	MTime string `yaml:"mtime"`
}

// nfpm has what goreleaser calls otherwise than nfpm; the rest is passed on.
type nfpm struct {
	ID               string         `yaml:"id"`
	IDs              []string       `yaml:"ids"`
	PackageName      string         `yaml:"package_name"`
	FileNameTemplate string         `yaml:"file_name_template"`
	Formats          []string       `yaml:"formats"`
	Bindir           string         `yaml:"bindir"`
	MTime            string         `yaml:"mtime"`
	Contents         []any          `yaml:"contents"`
	Rest             map[string]any `yaml:",inline"`
}

type sbom struct {
	ID        string   `yaml:"id"`
	Artifacts string   `yaml:"artifacts"`
	Documents []string `yaml:"documents"`
	Cmd       string   `yaml:"cmd"`
	Args      []string `yaml:"args"`
	Env       []string `yaml:"env"`
}

type checksum struct {
	NameTemplate string `yaml:"name_template"`
	Algorithm    string `yaml:"algorithm"`
}

// untouched is for goreleaser alone.
type untouched struct {
	VersionTemplate string `yaml:"version_template"`
}

func readConfiguration(text []byte) (c configuration, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil {
		return c, err
	}
	return c, c.check()
}

const (
	commitDate      = "{{ .CommitDate }}"
	commitTimestamp = "{{ .CommitTimestamp }}"
)

// check refuses what is not done here.
func (c configuration) check() error {
	var problems []error
	want := func(is bool, format string, a ...any) {
		if !is {
			problems = append(problems, fmt.Errorf(format, a...))
		}
	}
	want(len(c.Builds) == 1 && len(c.Archives) == 1 && len(c.NFPMs) == 1 && len(c.SBOMs) == 1, "there is not one build, one archive, one package and one SBOM")
	if len(problems) > 0 {
		return problems[0]
	}
	archive, packages, sbom := c.Archives[0], c.NFPMs[0], c.SBOMs[0]
	want(c.Builds[0].ModTimestamp == commitTimestamp, "mod_timestamp is not %s", commitTimestamp)
	want(archive.WrapInDirectory, "wrap_in_directory is not set")
	infos := []fileInfo{archive.BuildsInfo}
	for _, f := range archive.Files {
		infos = append(infos, f.Info)
	}
	for _, info := range infos {
		want(info == fileInfo{"root", "root", commitDate}, "a file of the archive is not root's with the date of the commit")
	}
	want(packages.MTime == commitDate, "the date of the packages is not %s", commitDate)
	want(packages.FileNameTemplate == "{{ .ConventionalFileName }}", "packages have another name than their systems give them")
	want(sbom.Artifacts == "binary" && len(sbom.Documents) == 1, "an SBOM is not of one program")
	want(c.Checksum.Algorithm == "sha256", "checksums are not SHA-256")
	return errors.Join(problems...)
}

// render fills in a template of the configuration, for one target.
func (r release) render(text string, t target) (string, error) {
	parsed, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = parsed.Execute(&out, map[string]string{
		"ProjectName": "sessctl", "Version": r.version, "Os": t.os, "Arch": t.arch,
		"CommitDate": r.date.Format(time.RFC3339), "CommitTimestamp": fmt.Sprint(r.date.Unix()),
	})
	return out.String(), err
}
