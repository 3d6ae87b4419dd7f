// Command screen starts `sessctl browse` on a terminal of its own, waits until all
// sessions are in its tree, and quits.
//
//	screen SESSCTL   prints how many sessions there are
//
// HOME says whose they are. Nothing is known of them from an earlier run: the
// caches are in a directory of this program.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "screen: want the program")
		os.Exit(1)
	}
	count, err := browse(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "screen:", err)
		os.Exit(1)
	}
	fmt.Println(count)
}

// sessions is what the first line says as soon as the sessions are listed.
var sessions = regexp.MustCompile(`([1-9][\d,]*) sessions?,`)

// browse returns how many sessions the tree shows. How long the first frame and
// the tree have taken goes to stderr.
func browse(program string) (string, error) {
	caches, err := os.MkdirTemp("", "screen-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(caches)
	cmd := exec.Command(program, "--allow-root", "browse")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+caches, "TERM=xterm-256color", "SSH_TTY=/dev/pts/0", "TERM_PROGRAM=screen") // nobody answers questions
	began := time.Now()
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 100})
	if err != nil {
		return "", err
	}
	defer terminal.Close()
	count, err := read(terminal, began)
	if err != nil {
		return "", errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return count, cmd.Wait()
}

// read reads what the program draws, up to its end. When the tree is there it
// presses q.
func read(terminal io.ReadWriter, began time.Time) (count string, err error) {
	var drawn bytes.Buffer
	block := make([]byte, 64<<10)
	first := time.Duration(0)
	for {
		n, readErr := terminal.Read(block)
		drawn.Write(block[:n])
		text := ansi.Strip(drawn.String())
		if first == 0 && strings.Contains(text, "sessctl") {
			first = time.Since(began)
		}
		if found := sessions.FindStringSubmatch(text); count == "" && found != nil {
			count = strings.ReplaceAll(found[1], ",", "")
			fmt.Fprintf(os.Stderr, "first frame %s, tree %s\n", first.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
			if _, err := io.WriteString(terminal, "q"); err != nil {
				return "", err
			}
		}
		if readErr != nil && count != "" { // a terminal that nobody has open any more
			return count, nil
		}
		if readErr != nil {
			return "", fmt.Errorf("the tree was not shown: %w", readErr)
		}
	}
}
