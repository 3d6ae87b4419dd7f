package cmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/hooks"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// hostsOption is --host: the question is asked of sessctl on these hosts, by the
// user's own ssh, and the answers are shown as one.
type hostsOption struct {
	Hosts []string

	arguments []string // of the command there
}

func (o *hostsOption) addFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.Hosts, "host", nil, "ask sessctl on these `hosts` by ssh instead, separated by commas")
}

// asked reports whether other hosts are to be asked.
func (o *hostsOption) asked() bool { return len(o.Hosts) > 0 }

// ofThisHost are the flags that name something on this host.
func ofThisHost() []string { return []string{"config", "data-dir", "store"} }

// ofThisRun are the flags that say how this run goes, whoever answers.
func ofThisRun() []string { return []string{"host", "json", "quiet", "workers", "allow-root", "pprof"} }

// read takes the command line for the other hosts: the flags that were given,
// and these words behind them.
func (o *hostsOption) read(c *cobra.Command, words ...string) error {
	if !o.asked() {
		return nil
	}
	for i, host := range o.Hosts {
		if err := checkHost(host); err != nil {
			return err
		}
		if slices.Contains(o.Hosts[:i], host) {
			return usageError("", "--host: %s is named twice", host)
		}
	}
	o.arguments = []string{"sessctl", c.Name(), "--json"}
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case slices.Contains(ofThisHost(), f.Name):
			err = usageError("each host uses its own configuration", "--host does not go with --%s, which is of this host", f.Name)
		case !slices.Contains(ofThisRun(), f.Name):
			o.arguments = append(o.arguments, "--"+f.Name+"="+f.Value.String())
		}
	})
	if len(words) > 0 {
		o.arguments = append(append(o.arguments, "--"), words...)
	}
	return err
}

// checkHost refuses what ssh would take for an option or the shell for more than
// a name.
func checkHost(host string) error {
	odd := strings.IndexFunc(host, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) >= 0
	if host == "" || strings.HasPrefix(host, "-") || odd {
		return usageError("write --host alpha,bob@beta: names that ssh knows", "--host: %q is not the name of a host", host)
	}
	return nil
}

// hostAnswer is what became of the question on one host: `hosts` of --json.
type hostAnswer struct {
	Host     string     `json:"host"`
	Answered bool       `json:"answered"`
	Exit     int        `json:"exit_code"` // of sessctl there, or of ssh
	Error    *errorBody `json:"error"`     // why there is no answer, else null

	document []byte
}

// mostAnswer bounds, in bytes, what one host may answer.
const mostAnswer = 64 << 20

// mostHosts is how many hosts are asked at the same time.
const mostHosts = 16

// askHosts asks all hosts and hands each document on, in the order of --host. The
// error is the outcome of the whole: a host without an answer is named, and the
// rest stands.
func askHosts[Document any](ctx context.Context, a *app, o *hostsOption, take func(host string, there Document)) ([]hostAnswer, error) {
	answers := make([]hostAnswer, len(o.Hosts))
	err := session.Spread(ctx, mostHosts, len(o.Hosts), func(_, i int) {
		answers[i] = o.askHost(ctx, o.Hosts[i])
	})
	if err != nil {
		return nil, err
	}
	for i := range answers {
		answer := &answers[i]
		if answer.Error != nil {
			continue
		}
		var there Document
		if err := json.Unmarshal(answer.document, &there); err != nil {
			answer.refuse("document", "its answer is not the output of this command: "+err.Error(), "sessctl may be much older there: see sessctl version")
		} else {
			take(answer.Host, there)
		}
		answer.Answered = answer.Error == nil
	}
	return answers, a.hostsOutcome(answers)
}

// hostsOutcome names the hosts that gave no answer. One that does not know the
// agent, or has no memory yet, has answered, if another has more to say.
func (a *invocation) hostsOutcome(answers []hostAnswer) error {
	some := slices.ContainsFunc(answers, func(h hostAnswer) bool { return h.Answered })
	exit := exitOK
	for i := range answers {
		h := &answers[i]
		if some && h.Error != nil && slices.Contains([]string{"unknown_agent", "no_memory"}, h.Error.Code) {
			a.notice(note{Path: h.Host, Message: h.Error.Message})
			h.Answered, h.Error = true, nil
		}
		switch {
		case !h.Answered:
			exit = max(exit, exitPartly)
			a.tell(note{Path: h.Host, Message: h.Error.Message, Hint: h.Error.Hint})
		case h.Exit > exitUsage:
			exit = max(exit, h.Exit)
		}
	}
	switch {
	case !some:
		return &outcomeError{exit: exitFailed}
	case exit != exitOK:
		return &outcomeError{exit: exit}
	}
	return nil
}

func (h *hostAnswer) refuse(code, message, hint string) {
	h.Error = &errorBody{Code: code, Message: message, Hint: hint}
}

// askHost runs sessctl on one host. Nobody is asked for a password, and a host
// that is not there ends the wait after seconds.
func (o *hostsOption) askHost(ctx context.Context, host string) hostAnswer {
	answer := hostAnswer{Host: host}
	words := make([]string, len(o.arguments))
	for i, w := range o.arguments {
		words[i] = hooks.QuoteWord(w)
	}
	program := exec.CommandContext(ctx, "ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10",
		"-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3", "--", host, strings.Join(words, " "))
	out, complaints := &bounded{most: mostAnswer}, &bounded{most: 64 << 10}
	program.Stdout, program.Stderr = out, complaints
	err := program.Run()
	answer.document = out.Bytes()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		answer.Exit = ended.ExitCode()
	case err != nil:
		answer.Exit = -1
		answer.refuse("ssh", err.Error(), "ssh must be in the PATH")
		return answer
	}
	switch {
	case out.full:
		answer.refuse("too_long", fmt.Sprintf("it answered more than %s", formatBytes(mostAnswer)), "ask for less, as with --limit or --agent")
	case !json.Valid(answer.document):
		answer.explainSilence(complaints.String())
	}
	return answer
}

// explainSilence says why there is no document: sessctl there printed an error,
// or ssh did.
func (h *hostAnswer) explainSilence(complaints string) {
	var printed errorDocument
	if start := strings.IndexByte(complaints, '{'); start >= 0 && json.Unmarshal([]byte(complaints[start:]), &printed) == nil && printed.Error.Message != "" {
		h.Error = &printed.Error
		return
	}
	lines := strings.Split(strings.TrimSpace(complaints), "\n")
	said := cmp.Or(strings.TrimSpace(lines[len(lines)-1]), "no answer")
	switch h.Exit {
	case exitOfShell:
		h.refuse("no_program", said, "sessctl must be in the PATH that a command of ssh gets there")
	case exitOfSSH:
		h.refuse("ssh", said, "ssh "+h.Host+" true must work without a question")
	default:
		h.refuse("failed", fmt.Sprintf("%s (exit code %d)", said, h.Exit), "")
	}
}

// Exit codes of ssh(1) and of sh(1) where there is no such program.
const (
	exitOfSSH   = 255
	exitOfShell = 127
)

// bounded keeps the first bytes that are written to it, and drops the rest.
type bounded struct {
	bytes.Buffer
	most int
	full bool
}

// Write implements io.Writer. It never fails, so that the program ends by itself.
func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - b.Len()
	if len(p) > room {
		b.full = true
		b.Buffer.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}

// noticeOf tells the notes of another host as ours.
func (a *invocation) noticeOf(host string, notes []note) {
	for _, n := range notes {
		n.Message = n.text()
		n.Path = host
		a.notice(n)
	}
}

// completeHosts are the hosts that ~/.ssh/config names.
func completeHosts(a *app, _ *cobra.Command) (hosts []candidate) {
	text, err := durable.ReadSmall(filepath.Join(a.home(), ".ssh", "config"), 1<<20)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 || !strings.EqualFold(words[0], "Host") {
			continue
		}
		for _, host := range words[1:] {
			if checkHost(host) == nil && !strings.ContainsAny(host, "*?!") {
				hosts = append(hosts, candidate{id: host})
			}
		}
	}
	return hosts
}

// hostColumn puts the host of each row before all other columns, if there is one.
func (t table) hostColumn(hosts []string) table {
	t.columns = append([]column{{name: "HOST", least: 6}}, t.columns...)
	t.rows = withHosts(hosts, t.rows)
	if warn := t.warn; warn != nil {
		t.warn = func(row, column int) bool { return column > 0 && warn(row, column-1) }
	}
	return t
}

// printListOf prints a list, with the host of each row if several were asked, and
// says so if it is empty.
func (a *app) printListOf(asked bool, hosts []string, t table, rows [][]string) error {
	if len(rows) == 0 && !a.OutTTY {
		a.notice(note{Message: t.empty})
	}
	if asked {
		t, rows = t.hostColumn(hosts), withHosts(hosts, rows)
	}
	return a.printList(t, rows)
}

// withHosts puts the host of each row before its other cells.
func withHosts(hosts []string, rows [][]string) [][]string {
	with := make([][]string, len(rows))
	for i := range rows {
		with[i] = append([]string{visible(hosts[i])}, rows[i]...)
	}
	return with
}

// onHost is a command line that runs on the host of a row.
func onHost(host, command string) string {
	if host == "" || command == "" {
		return command
	}
	return "ssh " + hooks.QuoteWord(host) + " " + command
}
