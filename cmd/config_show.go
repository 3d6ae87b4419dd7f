package cmd

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"
)

// configKey is one key of `config show`.
type configKey struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"` // default, file or the variable's name
}

// configKeys returns every key with its value and the layer that set it.
func configKeys(a *app) []configKey {
	file := viper.New()
	if f, err := os.Open(a.configFile()); err == nil {
		defer f.Close()
		file.SetConfigType("yaml")
		_ = file.ReadConfig(f) // it was read once already, without error
	}
	merged, err := a.readConfig()
	if err != nil {
		return nil
	}
	var keys []configKey
	for key := range defaults() {
		origin := "default"
		if file.IsSet(key) {
			origin = "file"
		}
		if a.getenv(envName(key)) != "" {
			origin = envName(key)
		}
		keys = append(keys, configKey{Key: key, Value: shownValue(key, merged.Get(key)), Origin: origin})
	}
	slices.SortFunc(keys, func(x, y configKey) int {
		if x.Key < y.Key {
			return -1
		}
		return 1
	})
	return keys
}

// shownValue keeps to itself what may hold a password.
func shownValue(key string, value any) any {
	if (key == "yarnnn.dsn" || key == "events.url") && value != "" {
		return "(set)"
	}
	return value
}

func newConfigCommand(a *app) *cobra.Command {
	config := &cobra.Command{
		Use:   "config",
		Short: "Show the configuration",
		Args:  usageArgs(cobra.NoArgs),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	config.AddCommand(&cobra.Command{
		Use:     "show",
		Short:   "Show every key, its value and where the value comes from",
		Example: "  sessctl config show",
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(*cobra.Command, []string) error { return runConfigShow(a) },
	})
	return config
}

func runConfigShow(a *app) error {
	keys := configKeys(a)
	if a.global.JSON {
		return a.printJSON(map[string]any{"schema": 1, "file": a.configFile(), "data_dir": a.dataDir(), "keys": keys})
	}
	rows := make([][]string, 0, len(keys))
	for _, k := range keys {
		rows = append(rows, []string{k.Key, visible(fmt.Sprint(k.Value)), k.Origin})
	}
	return a.printRows(rows)
}
