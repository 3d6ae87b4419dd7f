package cmd

import "testing"

// Without a home directory nothing is kept or read below the working directory.
func TestNoHome(t *testing.T) {
	t.Setenv("HOME", "")
	a := testApp(&streams{}, invocation{settings: settings{getenv: func(string) string { return "" }}})
	if file := a.configFile(); file != "" {
		t.Errorf("the configuration is %s", file)
	}
	if file := a.cacheFile(); file != "" {
		t.Errorf("the cache is %s", file)
	}
}
