package cmd

import (
	"errors"
	"os"

	"github.com/spf13/viper"
)

// withoutConfig falls back to the defaults if the configuration cannot be
// used. What was typed as a flag counts all the same.
func (a *app) withoutConfig(broken error) error {
	if broken == nil {
		return nil
	}
	v := viper.New()
	for key, value := range defaults() {
		v.SetDefault(key, value)
	}
	a.config = config{}
	return v.UnmarshalExact(&a.config)
}

// examineConfig reports a configuration that cannot be used, and one that
// others can change.
func (d *checkup) examineConfig(broken error) {
	d.check = "config"
	path := d.configFile()
	if broken != nil {
		advice := "docs/configuration.md lists the keys; the checks below use the defaults"
		if f := (*failure)(nil); errors.As(broken, &f) && f.hint != "" {
			advice = f.hint + "; the checks below use the defaults"
		}
		d.problem(path, broken.Error(), advice)
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		d.ok("", "no configuration file; defaults and variables are used")
		return
	}
	if writableByOthers(info) {
		d.warn(path, "others can change it", "chmod go-w it")
		return
	}
	d.ok(path, "the configuration is read")
}
