package facts

import (
	"bytes"
	"path"
	"strings"

	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/statements"
	"github.com/sessctl/sessctl/pkg/work"
)

// provedConfidence is of what a command that succeeded proves: it is so, but
// less worth than what a person says, of which a session keeps the surest.
const provedConfidence = 0.75

// Bounds of what a command may prove.
const (
	maxOutput     = 4 << 10 // bytes of an output that are looked at
	maxProved     = 200     // facts of one session
	maxProvedText = 160     // bytes of what one names
	maxCommands   = 24      // simple commands of a line that are looked at
)

// prover finds in the calls of tools what succeeded calls prove about the
// environment: the versions that programs print of themselves, and where the
// repository is. It is for one goroutine.
type prover struct {
	reader *work.Reader
	result *session.Message // that is being read
	found  []Fact           // since they were last taken
	seen   map[string]bool  // topics and values that were found
}

func newProver() *prover {
	p := &prover{seen: map[string]bool{}}
	p.reader = work.NewReader(func(a *work.Action) error { p.done(a); return nil })
	return p
}

// take takes in the next message of the log and returns what it proves.
func (p *prover) take(m *session.Message) []Fact {
	p.result, p.found = m, nil
	_ = p.reader.Add(m) // done returns none
	p.result = nil
	return p.found
}

// done looks at a command whose result has come.
func (p *prover) done(a *work.Action) {
	if a.Failed || !a.Answered || a.Kind != work.KindCommand || p.result == nil || a.Result.Ordinal != p.result.Ordinal || len(p.seen) >= maxProved {
		return
	}
	lines := printed(p.result)
	p.versions(a, lines)
	p.remotes(a, lines)
}

// printed are the lines of an output, of a long one the first.
func printed(m *session.Message) (lines []string) {
	for i := range m.Parts {
		if part := &m.Parts[i]; part.Kind == session.PartText {
			for line := range bytes.Lines(part.Text[:min(len(part.Text), maxOutput)]) {
				lines = append(lines, strings.TrimSpace(strings.ToValidUTF8(string(line), "")))
			}
		}
	}
	return lines
}

// add makes a fact: about is what there can be only one of, value what it is,
// and quote the words of the log that prove it.
func (p *prover) add(about, value, quote, text string) {
	for _, s := range []string{quote, text} {
		if _, n := secrets.Redact(s); n > 0 || strings.Contains(s, secrets.Mark) || len(s) > maxProvedText || statements.Against(s) {
			return
		}
	}
	about = "proved." + about
	key := about + "\x00" + value
	if value == "" || p.seen[key] {
		return
	}
	p.seen[key] = true
	m := p.result
	p.found = append(p.found, Fact{
		Kind: Environment, Text: text, Confidence: provedConfidence, Quote: quote, Line: m.Line, Offset: m.Offset, End: m.Offset + m.Length,
		Time: m.Time, Speaker: session.RoleToolResult, MadeBy: MadeByRules, Topic: about, Value: value,
	})
}

// versions tells the versions that programs print of themselves.
func (p *prover) versions(a *work.Action, lines []string) {
	asked := askedVersions(a.Command)
	for _, program := range asked {
		for _, l := range lines {
			if name, number := versionIn(l, program, len(asked) == 1 || len(lines) <= 2); number != "" {
				p.add("version."+a.Directory+"."+strings.ToLower(program), number, l[:min(len(l), 100)], "Version: "+name+" "+number+".")
				break
			}
		}
	}
}

// askedVersions are the programs that a command line asks for their versions.
func askedVersions(script string) (asked []string) {
	commands := work.SimpleCommands(script)
	for _, words := range commands[:min(len(commands), maxCommands)] {
		for len(words) > 0 && beforeProgram().MatchString(words[0]) {
			words = words[1:]
		}
		if len(words) == 2 && versionFlag().MatchString(words[1]) && plainWord().MatchString(path.Base(words[0])) {
			asked = append(asked, path.Base(words[0]))
		}
	}
	return asked
}

// versionIn reads a version from a line that a program printed of itself. alone
// tells that a line with nothing but a number is of this program.
func versionIn(line, program string, alone bool) (name, number string) {
	m := versionLine().FindStringSubmatch(line)
	if m == nil {
		return "", ""
	}
	name = strings.TrimRight(strings.TrimSpace(m[1]), "_-/")
	stem := strings.TrimRight(strings.ToLower(program), "0123456789.")
	switch {
	case name == "" && (alone || program == "node" && line[0] == 'v'):
		return program, m[2]
	case name != "" && (alone && len(name) < 40 || strings.Contains(strings.ToLower(name), stem[:min(len(stem), 4)])):
		return name, m[2]
	}
	return "", ""
}

// remotes tells where the repository is.
func (p *prover) remotes(a *work.Action, lines []string) {
	if !strings.Contains(a.Command, "git ") {
		return
	}
	for _, l := range lines {
		m := remoteAddress().FindStringSubmatch(l)
		if m == nil || strings.Contains(l, "(fetch)") && strings.HasPrefix(l, "upstream") {
			continue
		}
		address := m[1] + strings.TrimSuffix(m[2], ".git")
		bare := address[strings.IndexByte(address, '@')+1:] // one repository, however git names its user
		p.add("remote."+a.Directory+"."+bare, bare, address, "The repository is at "+address+".")
	}
}

var (
	// beforeProgram is what may stand before the program of a command.
	beforeProgram = expression(`^(?:[A-Za-z_]\w*=.*|time|env|exec|sudo)$`)
	versionFlag   = expression(`^(?:--version|-version|version|-V|-v)$`)
	plainWord     = expression(`^[A-Za-z0-9][\w.+-]*$`)
	versionLine   = expression(`^((?:[A-Za-z(][\w.+/@()-]* ?){0,4}?)(?:version |Version |v|go)?"?(\d+\.\d+(?:\.\d+)*)\b`)
	remoteAddress = expression(`^(?:(?:origin|upstream|[\w-]+)\s+|To |remote:\s+)?((?:ssh|https?|git)://(?:[\w.-]+@)?[\w.-]+(?::\d+)?/|(?:[\w.-]+@)?[\w.-]+\.[a-z]{2,}:)([\w.-]+(?:/[\w.-]+)+?)(?:/-/merge_requests.*|/pull/.*|\.git)?(?: \((?:push|fetch)\))?$`)
)
