package cmd

import (
	"fmt"
	"os"
	"runtime/pprof"
)

// startProfile begins the CPU profile that --pprof asks for.
func (a *app) startProfile() error {
	if a.Global.Profile == "" {
		return nil
	}
	f, err := os.OpenFile(a.Global.Profile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("make profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return fmt.Errorf("start profile: %w", err)
	}
	a.profile = f
	return nil
}

func (a *app) stopProfile() {
	if a.profile != nil {
		pprof.StopCPUProfile()
		a.profile.Close()
	}
}
