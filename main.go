// Command sessctl keeps the session logs of LLM agents small without losing a
// word. See the README for a first run and docs/ for everything else.
package main

import (
	"os"

	"github.com/sessctl/sessctl/cmd"
)

func main() {
	os.Exit(cmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
