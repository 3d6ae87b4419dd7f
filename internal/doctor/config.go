package doctor

import (
	"errors"
	"maps"
	"os"
	"slices"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
)

// examineConfig reports a configuration that cannot be used, and one that
// others can change.
func examineConfig(run *workspace.Run, report *findings, config Configuration) {
	report.check = "config"
	path := workspace.ConfigFile(&run.Settings)
	if broken := config.Broken; broken != nil {
		const without = "; the checks below use the variables and the defaults"
		advice := "docs/configuration.md lists the keys" + without
		if f := (*failure.Error)(nil); errors.As(broken, &f) && f.Hint != "" {
			advice = f.Hint + without
		}
		report.problem(path, broken.Error(), advice)
		return
	}
	for _, err := range config.Unusable {
		unusableSetting(report, path, err)
	}
	if len(config.Unusable) > 0 {
		return
	}
	meant := workspace.Mistyped(os.Environ())
	for _, name := range slices.Sorted(maps.Keys(meant)) {
		report.warn("", "the variable "+name+" belongs to no setting and has no effect", "did you mean "+meant[name]+"? docs/configuration.md lists them")
	}
	info, err := os.Stat(path)
	if err != nil {
		report.ok("", "no configuration file; defaults and variables are used")
		return
	}
	if writableByOthers(info) {
		report.warn(path, "others can change it", "chmod go-w it")
		return
	}
	report.ok(path, "the configuration is read")
}

func unusableSetting(report *findings, path string, err error) {
	advice := "docs/configuration.md lists the keys"
	if f := (*failure.Error)(nil); errors.As(err, &f) && f.Hint != "" {
		advice = f.Hint
	}
	report.problem(path, err.Error(), advice)
}
