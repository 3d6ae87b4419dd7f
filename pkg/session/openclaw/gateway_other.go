//go:build !linux

package openclaw

// stateOpen cannot be seen here.
func stateOpen(int, string) (open, known bool) { return false, false }

// gatewayWithOpen finds nothing here: the gateway's lock has to do.
func gatewayWithOpen(string) int { return 0 }
