package scriptcmd

import "github.com/rogpeppe/go-internal/testscript"

func makeFIFO(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("there are no FIFOs on this system")
}
