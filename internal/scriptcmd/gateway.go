package scriptcmd

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sessctl/sessctl/internal/fakegateway"
)

// gatewayKey is where a script's gateway is kept.
type gatewayKey struct{}

// scriptGateway is the gateway of one script, if it has started one.
type scriptGateway struct{ *fakegateway.Gateway }

// gateway start DIR starts a gateway of a state directory, gateway configure
// writes the configuration by which its socket is reached, gateway behave HOW
// changes what it does (package fakegateway has the list), gateway stop stops
// it.
func gateway(ts *testscript.TestScript, neg bool, args []string) {
	g := ts.Value(gatewayKey{}).(*scriptGateway)
	switch {
	case neg || len(args) == 0:
		ts.Fatalf("usage: gateway start DIR | configure | behave HOW | stop")
	case args[0] == "start":
		started, err := fakegateway.Start(ts.MkAbs(args[1]), ts.Getenv("TMPDIR"))
		ts.Check(err)
		g.Gateway = started
		ts.Defer(func() { _ = started.Stop() }) // it may be stopped already
	case args[0] == "behave":
		g.Behave(fakegateway.Behaviour(strings.Join(args[1:], "")))
	case args[0] == "configure":
		ts.Check(g.Configure())
	case args[0] == "stop":
		ts.Check(g.Stop())
	}
}
