package facts

import (
	"bytes"
	"fmt"
	"path"
	"slices"
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
)

// prover finds in the calls of tools what succeeded calls prove about the
// environment: the hosts that answered, the databases that let the agent in, the
// versions that programs print of themselves. It is for one goroutine.
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

// add takes in the next message of the log.
func (p *prover) add(m *session.Message) {
	p.result = m
	_ = p.reader.Add(m) // done returns none
	p.result = nil
}

// take returns what was found since the last time.
func (p *prover) take() []Fact {
	found := p.found
	p.found = nil
	return found
}

// done looks at a call whose result has come.
func (p *prover) done(a *work.Action) {
	if a.Failed || !a.Answered || p.result == nil || a.Result.Ordinal != p.result.Ordinal || len(p.seen) >= maxProved {
		return
	}
	if a.Kind == work.KindCommand {
		c := proof{action: a, prover: p, message: p.result}
		c.ofCommand()
	}
}

// proof is one call with what it printed.
type proof struct {
	*prover
	action  *work.Action
	message *session.Message
	printed []string // lines, when they were read
	host    string   // on which the command ran, "" for the agent's own
}

// lines are those of the output, of a long one the first.
func (c *proof) lines() []string {
	if c.printed == nil {
		c.printed = []string{}
		for i := range c.message.Parts {
			if p := &c.message.Parts[i]; p.Kind == session.PartText {
				text := p.Text[:min(len(p.Text), maxOutput)]
				for line := range bytes.Lines(text) {
					c.printed = append(c.printed, strings.TrimSpace(strings.ToValidUTF8(string(line), "")))
				}
			}
		}
	}
	return c.printed
}

// add makes a fact: about is what there can be only one of, value what it is,
// and quote the words of the log that prove it.
func (c *proof) add(about, value, quote, text string) {
	for _, s := range []string{quote, text} {
		if _, n := secrets.Redact(s); n > 0 || strings.Contains(s, secrets.Mark) || len(s) > maxProvedText || statements.Against(s) {
			return
		}
	}
	about = "proved." + about
	key := about + "\x00" + value
	if value == "" || c.seen[key] {
		return
	}
	c.seen[key] = true
	m := c.message
	c.found = append(c.found, Fact{
		Kind: Environment, Text: text, Confidence: provedConfidence, Quote: quote, Line: m.Line, Offset: m.Offset, End: m.Offset + m.Length,
		Time: m.Time, Speaker: session.RoleToolResult, MadeBy: MadeByRules, Topic: about, Value: value,
	})
}

// where is the machine that a fact is about, as a text and for its topic.
func (c *proof) where() (text, topic string) {
	if c.host != "" {
		return " on " + c.host, c.host
	}
	return "", c.action.Directory
}

// ofCommand looks at each simple command of a command line.
func (c *proof) ofCommand() {
	script := c.action.Command
	if inner, host := c.overSSH(script); host != "" {
		c.host, script = host, inner
	}
	for _, words := range programs(script) {
		c.connects(path.Base(words[0]), words[1:])
	}
	c.versions(script)
	c.remotes(script)
}

// overSSH returns what a command runs on another machine, and on which.
func (c *proof) overSSH(script string) (inner, host string) {
	commands := programs(script)
	if len(commands) == 0 || len(commands[0]) < 2 || commands[0][0] != "ssh" {
		return "", ""
	}
	words := commands[0]
	port, user := "", ""
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case w == "-p" && i+1 < len(words):
			i++
			port = words[i]
		case w == "-l" && i+1 < len(words):
			i++
			user = words[i] + "@"
		case strings.HasPrefix(w, "-") && len(w) == 2 && strings.Contains("BbcDEeFIiJLmOoQRSWw", w[1:]):
			i++
		case strings.HasPrefix(w, "-"):
		case !hostName().MatchString(w):
			return "", ""
		default:
			target := user + w
			host = w[strings.LastIndexByte(w, '@')+1:]
			text, quote := fmt.Sprintf("%s is reached with ssh as %s", host, target), "ssh "+target
			if target == host {
				text = fmt.Sprintf("%s is reached with ssh", host)
			}
			if port != "" {
				text, quote = text+" on port "+port, "ssh -p "+port+" "+target
			}
			c.add("ssh."+host, strings.TrimSpace(target+" "+port), quote, text+".")
			return strings.Join(words[i+1:], " "), host
		}
	}
	return "", ""
}

// connects finds the machine or the account that a command works with.
func (c *proof) connects(program string, arguments []string) {
	flags := flagsOf(arguments)
	switch program {
	case "psql", "pg_dump", "pg_restore", "createdb", "vacuumdb":
		c.database("PostgreSQL", program, flags, [4][]string{{"-h", "--host"}, {"-p", "--port"}, {"-U", "--username"}, {"-d", "--dbname"}})
	case "mysql", "mysqldump", "mariadb", "mariadb-dump":
		c.database("MySQL", program, flags, [4][]string{{"-h", "--host"}, {"-P", "--port"}, {"-u", "--user"}, {"-D", "--database"}})
	case "redis-cli", "valkey-cli":
		c.database("Redis", program, flags, [4][]string{{"-h"}, {"-p"}, nil, {"-n"}})
	case "kubectl", "helm", "oc", "k9s":
		c.account(program, "Kubernetes: context ", flags, "--context", "--kube-context")
	case "aws":
		c.account(program, "AWS: profile ", flags, "--profile")
	case "gcloud":
		c.account(program, "Google Cloud: project ", flags, "--project")
	case "curl", "wget", "http", "xh":
		c.answers(program, arguments)
	case "docker", "podman":
		c.container(program, arguments, flags)
	}
}

// account tells which account of a service let the agent in, by the flag that names
// it, and the namespace in it.
func (c *proof) account(program, of string, flags flagValues, names ...string) {
	name, space := flags.first(names...), flags.first("-n", "--namespace")
	if name == "" {
		return
	}
	text, quote := of+name, program+" "+names[0]+" "+name
	if space != "" {
		text, quote = text+", namespace "+space, quote+" -n "+space
	}
	c.add("account."+of+name+"."+space, strings.TrimSpace(name+" "+space), quote, text+".")
}

// database tells which database let the agent in: host, port, user and name.
// [flagsOf] has no passwords.
func (c *proof) database(kind, program string, flags flagValues, names [4][]string) {
	host, port, user, name := flags.first(names[0]...), flags.first(names[1]...), flags.first(names[2]...), flags.first(names[3]...)
	if host == "" || !hostName().MatchString(host) {
		return
	}
	text, quote, value := kind+" is at "+host, program+" "+names[0][0]+" "+host, host
	if port != "" {
		text, quote, value = text+":"+port, quote+" "+names[1][0]+" "+port, value+":"+port
	}
	for i, v := range []string{user, name} {
		if v != "" && names[i+2] != nil && plainWord().MatchString(v) {
			text += []string{", user ", ", database "}[i] + v
			quote += " " + names[i+2][0] + " " + v
		}
	}
	c.add("database."+kind+"."+host+"."+name, value, quote, text+".")
}

// answers tells which address answered: one with a port, or that of a machine
// that has no name of its own. Public pages are no environment.
func (c *proof) answers(program string, arguments []string) {
	for _, l := range c.lines() {
		if refusedStatus().MatchString(l) {
			return
		}
	}
	for _, a := range arguments {
		m := webAddress().FindStringSubmatch(a)
		if m == nil || m[3] == "" && !private().MatchString(m[2]) {
			continue
		}
		address := m[1] + "://" + m[2] + m[3] + m[4]
		on, topic := c.where()
		c.add("answers."+topic+m[2]+m[3], m[2]+m[3], address, address+" answers"+on+".")
	}
}

// container tells on which ports containers listen.
func (c *proof) container(program string, arguments []string, flags flagValues) {
	on, topic := c.where()
	if len(arguments) > 0 && arguments[0] == "run" {
		name, port := flags.first("--name"), flags.first("-p", "--publish")
		if m := published().FindStringSubmatch(port); m != nil && name != "" {
			c.add("container."+topic+"."+name, m[1], "--name "+name+" -p "+port, fmt.Sprintf("The container %s listens on port %s%s.", name, m[1], on))
		}
	}
	if len(arguments) == 0 || arguments[0] != "ps" {
		return
	}
	for _, l := range c.lines() {
		m := listedPort().FindStringSubmatch(l)
		fields := strings.Fields(l)
		if m == nil || len(fields) == 0 || fields[0] == "CONTAINER" {
			continue
		}
		name := fields[0]
		if containerID().MatchString(name) { // the whole table: names come last
			name = fields[len(fields)-1]
		}
		c.add("container."+topic+"."+name, m[1], name+" "+m[0], fmt.Sprintf("The container %s listens on port %s%s.", name, m[1], on))
	}
}

// asksVersion tells whether a command asks a program for its version.
func asksVersion(program string, arguments []string) bool {
	if program == "lsb_release" {
		return true
	}
	if program == "cat" && len(arguments) == 1 && strings.HasSuffix(arguments[0], "os-release") {
		return true
	}
	if program == "kubectl" || program == "oc" {
		return slices.Contains(arguments, "version") && !slices.Contains(arguments, "--client")
	}
	if len(arguments) != 1 || !plainWord().MatchString(program) {
		return false
	}
	switch arguments[0] {
	case "--version", "-version", "version", "-V":
		return true
	case "-v":
		return program == "node" || program == "ruby" || program == "php" || program == "npm"
	}
	return false
}

// versions tells the versions that programs print of themselves.
func (c *proof) versions(script string) {
	var asked []string
	for _, words := range programs(script) {
		if program := path.Base(words[0]); asksVersion(program, words[1:]) {
			asked = append(asked, program)
		}
	}
	on, topic := c.where()
	for _, program := range asked {
		for _, l := range c.lines() {
			name, number := versionIn(l, program, len(asked) == 1 || len(c.lines()) <= 2)
			if number == "" {
				continue
			}
			c.add("version."+topic+"."+strings.ToLower(program), number, l[:min(len(l), 100)], fmt.Sprintf("Version: %s %s%s.", name, number, on))
			break
		}
	}
}

// versionIn reads a version from a line that a program printed of itself. alone
// tells that a line with nothing but a number is of this program.
func versionIn(line, program string, alone bool) (name, number string) {
	if program == "kubectl" || program == "oc" {
		if m := serverVersion().FindStringSubmatch(line); m != nil {
			return "Kubernetes", m[1]
		}
		return "", ""
	}
	if program == "lsb_release" || program == "cat" {
		if m := distribution().FindStringSubmatch(line); m != nil {
			return m[1], m[2]
		}
		return "", ""
	}
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
func (c *proof) remotes(script string) {
	if !strings.Contains(script, "git ") {
		return
	}
	for _, l := range c.lines() {
		m := remoteAddress().FindStringSubmatch(l)
		if m == nil || strings.Contains(l, "(fetch)") && strings.HasPrefix(l, "upstream") {
			continue
		}
		address := m[1] + strings.TrimSuffix(m[2], ".git")
		bare := address[strings.IndexByte(address, '@')+1:] // one repository, however git names its user
		c.add("remote."+c.action.Directory+"."+bare, bare, address, "The repository is at "+address+".")
	}
}

var (
	hostName      = expression(`^(?:[\w.-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*$`)
	plainWord     = expression(`^[A-Za-z0-9][\w.+-]*$`)
	webAddress    = expression(`^(https?)://(?:[^/@\s]*@)?([A-Za-z0-9.-]+)(:\d{2,5})?(/[\w./-]*)?`)
	private       = expression(`^(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|[^.]+|.*\.(?:local|lan|internal|intern|corp|home|localdomain|svc|test))$`)
	refusedStatus = expression(`^(?:HTTP/\S+ )?[45]\d\d\b|(?i:connection refused|could not resolve)`)
	published     = expression(`^(?:[\d.]+:)?(\d{2,5}):\d{2,5}(?:/\w+)?$`)
	listedPort    = expression(`(?:[\d.]+|\[::\]|:::?):(\d{2,5})->\d{2,5}/\w+`)
	containerID   = expression(`^[0-9a-f]{12}$`)
	distribution  = expression(`^(?:PRETTY_NAME="|Description:\s*)?"?([A-Z]\w+(?: GNU/Linux| Linux)?) (\d+(?:\.\d+)*)\b`)
	serverVersion = expression(`^Server Version: v?(\d+\.\d+(?:\.\d+)*)`)
	versionLine   = expression(`^((?:[A-Za-z(][\w.+/@()-]* ?){0,4}?)(?:version |Version |v|go)?"?(\d+\.\d+(?:\.\d+)*)\b`)
	remoteAddress = expression(`^(?:(?:origin|upstream|[\w-]+)\s+|To |remote:\s+)?((?:ssh|https?|git)://(?:[\w.-]+@)?[\w.-]+(?::\d+)?/|(?:[\w.-]+@)?[\w.-]+\.[a-z]{2,}:)([\w.-]+(?:/[\w.-]+)+?)(?:/-/merge_requests.*|/pull/.*|\.git)?(?: \((?:push|fetch)\))?$`)
)
