package cmd

import "github.com/sessctl/sessctl/internal/workspace"

// testApp is an app with these streams whose run is run.
func testApp(st *streams, run workspace.Run) *app {
	wire(&run, st)
	return &app{streams: st, Run: &run}
}
