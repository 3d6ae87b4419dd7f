//go:build unix

package scriptcmd

import (
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

func makeFIFO(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o600))
}
