package cmd

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/web"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/spf13/cobra"
	"github.com/spf13/viper"
)

// checkConfig is the error for the first key that cannot be used: one that
// nobody knows, or one whose value is of another kind. It names the file and the
// line, or the variable.
func (a *app) checkConfig(v *viper.Viper) error {
	if err := steps.CheckProfileNames(a.Run); err != nil {
		return err
	}
	known := slices.Sorted(maps.Keys(workspace.Defaults()))
	keys := v.AllKeys()
	for _, key := range slices.Sorted(slices.Values(keys)) {
		if !slices.Contains(known, key) && !steps.IsProfileKey(key, v.Get(key)) {
			return workspace.UnknownKey(&a.Run.Settings, key, append(known, steps.ProfileKeysLike(key)...))
		}
	}
	for _, key := range slices.Concat(known, profileKeysOf(v)) {
		value := v.Get(key)
		if err := workspace.CheckTargetList(key, value); err != nil {
			return workspace.BlamedOn(workspace.OriginOf(&a.Run.Settings, key), err)
		}
		if err := web.CheckScheduleList(a.Run, key, value); err != nil {
			return err
		}
		if !workspace.IsOfKind(key, value) {
			return workspace.WrongKind(&a.Run.Settings, key, workspace.KindOf(key), value)
		}
	}
	if err := v.UnmarshalExact(&a.Config); err != nil {
		return a.wrongKindAmong(v, err)
	}
	steps.AddBareProfiles(&a.Config, keys)
	return nil
}

// wrongKindAmong is the error for the key whose value made the whole unfit. Each is
// decoded alone for it, which takes as long as a short command does.
func (a *app) wrongKindAmong(v *viper.Viper, whole error) error {
	for _, key := range slices.Concat(slices.Sorted(maps.Keys(workspace.Defaults())), profileKeysOf(v)) {
		if !fits(key, v.Get(key)) {
			return workspace.WrongKind(&a.Run.Settings, key, workspace.KindOf(key), v.Get(key))
		}
	}
	return whole
}

// fits reports whether a value can be that of a key.
func fits(key string, value any) bool {
	if !workspace.IsOfKind(key, value) {
		return false
	}
	v := viper.New()
	v.Set(key, value)
	return v.UnmarshalExact(&workspace.Config{}) == nil
}

// configured reads the configuration and checks what it says.
func (a *app) configured(c *cobra.Command) error {
	if err := a.loadConfig(c); err != nil {
		return err
	}
	a.Global.Typed(c.Flags().Changed("store"), c.Flags().Changed("only-store"))
	return a.blameConfig(c, checkLimits(&a.Run.Settings))
}

// blameConfig makes a complaint about a flag that nobody typed one about the key
// that has filled it, and says in which file and line, or variable, that stands.
func (a *app) blameConfig(c *cobra.Command, err error) error {
	var f *failure.Error
	if c == nil || !errors.As(err, &f) || f.Exit != failure.ExitUsage {
		return err
	}
	name := workspace.LeadingFlag().FindStringSubmatch(f.Error())
	if name == nil {
		return err
	}
	flag := c.Flags().Lookup(name[1])
	if flag == nil || flag.Changed || len(flag.Annotations[workspace.ConfigAnnotation]) != 1 {
		return err
	}
	key := flag.Annotations[workspace.ConfigAnnotation][0]
	if a.Getenv(workspace.EnvName(key)) == "" && !a.fileConfig().IsSet(key) {
		return err // a default
	}
	told := *f
	told.Err = fmt.Errorf("%s: %s%s", workspace.OriginOf(&a.Run.Settings, key), key, strings.TrimPrefix(f.Error(), name[0]))
	return &told
}

// useDefaults falls back to the variables and the defaults if the configuration
// cannot be used; a variable that is wrong itself does not count.
func (a *app) useDefaults(c *cobra.Command) error {
	v := viper.New()
	for key, value := range workspace.Defaults() {
		v.SetDefault(key, value)
		if own := a.Getenv(workspace.EnvName(key)); own != "" && fits(key, workspace.EnvValue(key, own)) {
			v.Set(key, workspace.EnvValue(key, own))
		}
	}
	a.Config = workspace.Config{}
	if err := v.UnmarshalExact(&a.Config); err != nil {
		return err
	}
	return a.fillFlags(c.Flags(), v)
}

// profileKeysOf are the keys of profiles that are set.
func profileKeysOf(v *viper.Viper) []string {
	return slices.DeleteFunc(slices.Sorted(slices.Values(v.AllKeys())), func(key string) bool {
		return !strings.HasPrefix(key, "profiles.") || v.Get(key) == nil
	})
}
