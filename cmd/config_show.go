package cmd

import (
	"os"
	"slices"

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
	if key == "yarnnn.dsn" && value != "" {
		return "(set)"
	}
	return value
}
