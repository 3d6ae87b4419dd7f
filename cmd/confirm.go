package cmd

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// confirm asks a question on the terminal. Without one nobody is asked: the
// answer must have been given before, with --yes.
func (a *app) confirm(question string) error {
	in, ok := a.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || !a.ErrTTY || a.global.JSON {
		return &failure{code: "not_confirmed", exit: exitUsage, hint: "say --yes, or --dry-run to see what would be done", err: fmt.Errorf("nobody can be asked here: %s", question)}
	}
	_, _ = fmt.Fprintf(a.Err, "%s [y/N] ", visible(question))
	line, _ := bufio.NewReader(in).ReadString('\n') // no answer is no
	if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
		return nil
	}
	return &failure{code: "not_confirmed", exit: exitFailed, err: fmt.Errorf("nothing was done")}
}
