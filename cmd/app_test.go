package cmd

// testApp is an app with these streams whose run is run.
func testApp(st *streams, run invocation) *app {
	run.wire(st)
	return &app{streams: st, invocation: &run}
}
