package cmd

import (
	"cmp"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

// version is set by the linker (-X github.com/sessctl/sessctl/cmd.version=...)
// in released binaries.
var version string

// versionInfo is `version --json`.
type versionInfo struct {
	Schema  int    `json:"schema"`
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Date    string `json:"date"`
	Go      string `json:"go"`
	System  string `json:"system"`
}

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the version",
		Example: "  sessctl version --json",
		RunE: func(*cobra.Command, []string) error {
			v := ownVersion()
			if a.JSON {
				return a.printJSON(v)
			}
			_, err := fmt.Fprintln(a.Out, v)
			return err
		},
	}
}

// String is the version for people.
func (v versionInfo) String() string {
	return fmt.Sprintf("sessctl %s (%s, %s)", v.Version, v.Go, v.System)
}

// ownVersion is the version of this program. Every start asks for it several times.
var ownVersion = sync.OnceValue(func() versionInfo {
	info, _ := debug.ReadBuildInfo()
	return resolveVersion(version, info)
})

// versionLine is what --version prints.
func versionLine() string {
	return ownVersion().String()
}

// resolveVersion prefers what the linker injected over what the build
// recorded; "dev" if neither knows. Commit and date are those that the build
// recorded. A program that was installed from the module proxy has no record of
// them; then they are taken from the version, if it names a commit.
func resolveVersion(injected string, info *debug.BuildInfo) versionInfo {
	v := versionInfo{Schema: 1, Version: injected, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	if info != nil {
		if v.Version == "" && info.Main.Version != "(devel)" {
			v.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Commit = s.Value
			case "vcs.time":
				v.Date = s.Value
			}
		}
		commit, date := commitOf(info.Main.Version)
		v.Commit, v.Date = cmp.Or(v.Commit, commit), cmp.Or(v.Date, date)
	}
	if v.Version == "" {
		v.Version = "dev"
	}
	return v
}

// pseudoVersion is how Go names a commit without a tag: its time and the
// beginning of its hash.
var pseudoVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[-.](\d{14})-([0-9a-f]{12})(?:\+.*)?$`) })

// commitOf returns the commit, 12 digits of it, and its date that a version names;
// both are empty if it names none.
func commitOf(version string) (commit, date string) {
	if !strings.Contains(version, "-") {
		return "", "" // without the expression, which every start would compile
	}
	m := pseudoVersion().FindStringSubmatch(version)
	if m == nil {
		return "", ""
	}
	made, err := time.Parse("20060102150405", m[1])
	if err != nil {
		return "", ""
	}
	return m[2], made.Format(time.RFC3339)
}

// programVersion is what receipts and archives record.
func programVersion() string {
	return ownVersion().Version
}
