package cmd

import (
	"testing"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
)

// Without a home directory nothing is kept or read below the working directory.
func TestNoHome(t *testing.T) {
	t.Setenv("HOME", "")
	a := testApp(&streams{}, workspace.Run{Settings: workspace.Settings{Getenv: func(string) string { return "" }}})
	if file := workspace.ConfigFile(&a.Run.Settings); file != "" {
		t.Errorf("the configuration is %s", file)
	}
	if file := selection.CacheFile(&a.Run.Settings); file != "" {
		t.Errorf("the cache is %s", file)
	}
}
