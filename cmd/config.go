package cmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

func fromConfig(fs *pflag.FlagSet, flag, key string) {
	if err := fs.SetAnnotation(flag, workspace.ConfigAnnotation, []string{key}); err != nil {
		panic(err) // the flag's name is misspelt in the source
	}
}

// loadConfig reads the layers once and fills every flag of the command that
// the user did not type.
func (a *app) loadConfig(c *cobra.Command) error {
	v, err := a.readConfig()
	if err != nil {
		return err
	}
	if err := a.checkConfig(v); err != nil {
		return err
	}
	if err := cmp.Or(a.Config.CheckStores(), a.Config.CheckThresholds()); err != nil {
		return workspace.BlameKey(&a.Run.Settings, err)
	}
	return a.fillFlags(c.Flags(), v)
}

// fillFlags fills every flag that was not typed.
func (a *app) fillFlags(fs *pflag.FlagSet, v *viper.Viper) error {
	var failed error
	fs.VisitAll(func(f *pflag.Flag) {
		if key := f.Annotations[workspace.ConfigAnnotation]; len(key) == 1 && !f.Changed && failed == nil {
			failed = a.fillFlag(f, v, key[0])
		}
	})
	return failed
}

func (a *app) readConfig() (*viper.Viper, error) {
	v := viper.New()
	for key, value := range workspace.Defaults() {
		v.SetDefault(key, value)
	}
	if err := a.readConfigFiles(v); err != nil {
		return nil, err
	}
	for key := range workspace.Defaults() {
		if value := a.Getenv(workspace.EnvName(key)); value != "" {
			v.Set(key, workspace.EnvValue(key, value))
		}
	}
	return v, nil
}

// readConfigFiles reads what fleet join has written, and over it the configuration file.
func (a *app) readConfigFiles(v *viper.Viper) error {
	fleet := workspace.FleetFile(&a.Run.Settings)
	required := a.Global.ConfigFile != "" && !workspace.Exists(fleet)
	return cmp.Or(readConfigFile(v, fleet, false), readConfigFile(v, workspace.ConfigFile(&a.Run.Settings), required))
}

func readConfigFile(v *viper.Viper, path string, required bool) error {
	text, err := durable.ReadSmall(path, workspace.MaxConfig)
	if errors.Is(err, fs.ErrNotExist) && !required {
		return nil
	}
	if err != nil {
		return failure.Usage("", "read configuration: %w", err)
	}
	v.SetConfigType("yaml")
	if err := v.MergeConfig(bytes.NewReader(text)); err != nil {
		return failure.Usage("the file is YAML, see docs/configuration.md", "%s: read configuration: %w", path, workspace.OneLine(err))
	}
	return nil
}

// fillFlag sets a flag from a key; the error names the file and the line, or the
// variable.
func (a *app) fillFlag(f *pflag.Flag, v *viper.Viper, key string) error {
	var err error
	if list, ok := f.Value.(pflag.SliceValue); ok {
		err = list.Replace(v.GetStringSlice(key))
	} else if value := v.GetString(key); value != "" {
		err = f.Value.Set(value)
	}
	if err != nil {
		if kind := workspace.KindOf(key); kind != workspace.AText {
			return workspace.WrongKind(&a.Run.Settings, key, kind, v.Get(key))
		}
		return failure.Usage(workspace.KeysHint, "%s: %s: %w", workspace.OriginOf(&a.Run.Settings, key), key, err)
	}
	return nil
}

// withoutData are the commands that work on sessions alone, or on none.
func withoutData() []string {
	return []string{"sessctl", "sizes", "stores", "replay-context", "config", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}
}

// checkDataDir refuses to work below whatever the working directory is: the next
// run, elsewhere, would find neither the archives nor the lock.
func (a *app) checkDataDir(c *cobra.Command) error {
	if filepath.IsAbs(a.DataDir()) || slices.Contains(withoutData(), topCommand(c).Name()) {
		return nil
	}
	home := "there is no home directory"
	if named := a.Getenv("HOME"); named != "" {
		home = fmt.Sprintf("HOME is %q, which is no absolute path", named)
	}
	return failure.Usage("name one with --data-dir or SESSCTL_DATA_DIR, or set HOME", "%s, so there is no place for archives and memory", home)
}

// fileConfig is what the configuration files alone say, nothing without one.
func (a *app) fileConfig() *viper.Viper {
	file := viper.New()
	_ = a.readConfigFiles(file) // it was read once already, without error
	return file
}

// configKeys returns every key with its value and the layer that set it.
func configKeys(a *app) []workspace.ConfigKey {
	file := a.fileConfig()
	merged, err := a.readConfig()
	if err != nil {
		return nil
	}
	var keys []workspace.ConfigKey
	for _, key := range slices.Concat(slices.Collect(maps.Keys(workspace.Defaults())), profileKeysOf(merged)) {
		origin := "default"
		if file.IsSet(key) {
			origin = "file"
		}
		if a.Getenv(workspace.EnvName(key)) != "" {
			origin = workspace.EnvName(key)
		}
		keys = append(keys, workspace.ConfigKey{Key: key, Value: workspace.ShownValue(key, merged.Get(key)), Origin: origin})
		if key == "data_dir" {
			keys[len(keys)-1] = workspace.DataDirKey(a.Run, merged.GetString(key), origin)
		}
	}
	slices.SortFunc(keys, func(x, y workspace.ConfigKey) int {
		if x.Key < y.Key {
			return -1
		}
		return 1
	})
	return keys
}

func newConfigCommand(a *app) *cobra.Command {
	config := &cobra.Command{
		Use:     "config",
		Short:   "Show the configuration",
		Example: "  sessctl config show",
	}
	config.AddCommand(&cobra.Command{
		Use:     "show",
		Short:   "Show every key, its value and where the value comes from",
		Example: "  sessctl config show",
		RunE:    func(*cobra.Command, []string) error { return runConfigShow(a) },
	})
	return config
}

func runConfigShow(a *app) error {
	keys := configKeys(a)
	if a.JSON {
		return a.printJSON(map[string]any{"schema": 1, "file": workspace.ConfigFile(&a.Run.Settings), "file_exists": workspace.Exists(workspace.ConfigFile(&a.Run.Settings)), "data_dir": a.DataDir(), "keys": keys})
	}
	if !workspace.Exists(workspace.ConfigFile(&a.Run.Settings)) {
		a.Notice(workspace.Note{Path: workspace.ConfigFile(&a.Run.Settings), Message: "no configuration file; defaults and variables are used"})
	}
	t := table{empty: "no keys", columns: []column{{name: "KEY"}, {name: "VALUE", least: 20}, {name: "FROM", least: 7}}}
	for _, k := range keys {
		t.rows = append(t.rows, []string{k.Key, wording.Visible(fmt.Sprint(k.Value)), k.Origin})
	}
	return a.printList(t, t.rows)
}
