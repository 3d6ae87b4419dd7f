package smallpackages_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sessctl/sessctl/internal/scriptcmd"
)

const fixture = `
-- three.txt --
one
two
three
-- dir/a.json --
{"id":"7","list":[{"n":1},{"n":2}]}
-- dir/b.json --
{"id":"8"}
`

// TestScriptcmdCommands: each command does what it says, and fails where a check of a
// script would have to.
func TestScriptcmdCommands(t *testing.T) {
	for i, c := range []struct {
		script string
		passes bool
	}{
		{"file it dir/a*\ncmp $it dir/a.json", true},
		{"file it dir/*", false},
		{"file it dir/none*", false},
		{"file it dir/* last\ncmp $it dir/b.json", true},
		{"file it dir/* first\ncmp $it dir/b.json", false},
		{"id it dir/* last\nmkdir $it\nexists b", true},
		{"read it three.txt\nmkdir $it", true},
		{"read it dir/*", false},
		{"count 2 dir/*", true},
		{"count 1 dir/*", false},
		{"count 0 dir/none*", true},
		{"! count 2 dir/*", false},
		{"holds '\"8\"' dir/*.json", true},
		{"holds '\"9\"' dir/*.json", false},
		{"! holds '\"9\"' dir/*.json", true},
		{"! holds '\"9\"' none/*", false},
		{"chmod 640 three.txt\nmode 640 three.txt", true},
		{"chmod 640 three.txt\nmode 600 three.txt", false},
		{"lines three.txt 2\nstdout '^two\\n$'", true},
		{"lines three.txt 1-2\nstdout '^one\\ntwo\\n$'", true},
		{"lines three.txt -1\nstdout '^three\\n$'", true},
		{"lines three.txt 4", false},
		{"lines three.txt -4", false},
		{"append three.txt three.txt 1\nlines three.txt 4\nstdout one", true},
		{"append none.txt three.txt", false},
		{"replace '^two$' 2 three.txt\ngrep '^2$' three.txt", true},
		{"replace four 4 three.txt", false},
		{"replace 7 9 dir/*.json", false},
		{"overwrite three.txt 4 T\ngrep Two three.txt", true},
		{"overwrite three.txt 4 t", false},
		{"overwrite three.txt 13 xx", false},
		{"shorten three.txt 4\nlines three.txt -1\nstdout one", true},
		{"shorten three.txt 99", false},
		{"remove dir/*\ncount 0 dir/*", true},
		{"remove none*", false},
		{"sameas dir/a.json dir/a.json\n! sameas dir/a.json dir/b.json", true},
		{"sameas dir/a.json dir/b.json", false},
		{"jsonhas dir/a.json list.len 2\n! jsonhas dir/a.json id 8", true},
		{"jsonhas dir/a.json list.1.n 1", false},
		{"jsonget n dir/a.json list.1.n\nmkdir $n\nexists 2", true},
		{"jsonget n dir/b.json list", false},
		{"replace 7 NESTED dir/a.json\nnest dir/a.json 2 [ ]\ngrep '\\[\\[1\\]\\]' dir/a.json", true},
		{"nest dir/a.json 2 [ ]", false},
	} {
		if passed := run(t, fmt.Sprint(i), c.script); passed != c.passes {
			t.Errorf("%q: passes is %v, want %v", c.script, passed, c.passes)
		}
	}
}

// run reports whether a script passes.
func run(t *testing.T, name, script string) bool {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".txtar")
	if err := os.WriteFile(path, []byte(script+fixture), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	func() {
		defer func() {
			if stopped := recover(); stopped != nil && stopped != any(r) {
				panic(stopped)
			}
		}()
		testscript.RunT(r, testscript.Params{Files: []string{path}, Cmds: scriptcmd.Commands(), Setup: func(e *testscript.Env) error {
			scriptcmd.Setup(e)
			return nil
		}})
	}()
	return !r.failed
}

// recorder notes that a script has failed, where a test would fail.
type recorder struct{ failed bool }

func (r *recorder) Skip(...any)                        { panic(r) }
func (r *recorder) Fatal(...any)                       { r.FailNow() }
func (r *recorder) FailNow()                           { r.failed = true; panic(r) }
func (r *recorder) Parallel()                          {}
func (r *recorder) Log(...any)                         {}
func (r *recorder) Verbose() bool                      { return false }
func (r *recorder) Run(_ string, f func(testscript.T)) { f(r) }
