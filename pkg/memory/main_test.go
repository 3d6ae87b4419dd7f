package memory_test

import (
	"flag"
	"os"
	"testing"
)

// Tests that kill a process run this program again with a role in the
// environment.
func TestMain(m *testing.M) {
	flag.Bool("update", false, "write golden files")
	if role := os.Getenv("MEMORY_TEST_ROLE"); role != "" {
		os.Exit(play(role))
	}
	os.Exit(m.Run())
}
