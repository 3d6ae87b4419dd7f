// Command systems is go vet of the packages that are named, tests included, for the
// system that GOOS and GOARCH say. It reads types from the sources, where go vet would
// compile all that is imported, the standard library too, for the sake of its types:
// a tenth of the work, and the same findings.
package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "systems:", err)
		os.Exit(1)
	}
}

func run(patterns []string) error {
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax | packages.NeedModule, Tests: true}, patterns...)
	if err != nil {
		return fmt.Errorf("load packages: %w", err)
	}
	if len(loaded) == 0 || packages.PrintErrors(loaded) > 0 {
		return fmt.Errorf("%d packages, not all without errors", len(loaded))
	}
	graph, err := checker.Analyze(vet.Suite, loaded, nil)
	if err != nil {
		return fmt.Errorf("vet: %w", err)
	}
	return errors.Join(graph.PrintText(os.Stderr, -1), found(graph))
}

// found is an error where something was found, or could not be looked for.
func found(graph *checker.Graph) error {
	var broken error
	findings := false
	for _, a := range graph.Roots {
		findings = findings || len(a.Diagnostics) > 0
		broken = errors.Join(broken, a.Err)
	}
	if findings {
		return errors.Join(broken, errors.New("vet has findings"))
	}
	return broken
}
