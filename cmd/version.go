package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"

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
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo()
			v := resolveVersion(version, info)
			if a.global.JSON {
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

// versionLine is what --version prints.
func versionLine() string {
	info, _ := debug.ReadBuildInfo()
	return resolveVersion(version, info).String()
}

// resolveVersion prefers what the linker injected over what the build
// recorded; "dev" if neither knows.
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
	}
	if v.Version == "" {
		v.Version = "dev"
	}
	return v
}

// programVersion is what receipts and archives record.
func programVersion() string {
	info, _ := debug.ReadBuildInfo()
	return resolveVersion(version, info).Version
}
