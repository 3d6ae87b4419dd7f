package recall

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
	"unicode/utf8"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/hooks"
)

// OfThisHost are the flags that name something on this host.
func OfThisHost() []string { return []string{"config", "data-dir", "store", "only-store"} }

// OfThisRun are the flags that say how this run goes, whoever answers.
func OfThisRun() []string { return []string{"host", "json", "quiet", "workers", "allow-root", "pprof"} }

// CheckHost refuses what ssh would take for an option or the shell for more than
// a name.
func CheckHost(host string) error {
	if !IsHostName(host) {
		return failure.Usage("write --host alpha,bob@beta: names that ssh knows", "--host: %q is not the name of a host", host)
	}
	return nil
}

// longestHost is how many characters the name of a host may have.
const longestHost = 255

// IsHostName reports whether ssh takes a text for the name of a host, as people write
// it: what comes from another host may be anything.
func IsHostName(host string) bool {
	odd := strings.IndexFunc(host, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) >= 0
	return host != "" && utf8.ValidString(host) && utf8.RuneCountInString(host) <= longestHost && !strings.HasPrefix(host, "-") && !odd
}

// KnownHosts are the hosts that .ssh/config of a home directory names.
func KnownHosts(home string) (hosts []string) {
	text, err := durable.ReadSmall(filepath.Join(home, ".ssh", "config"), 1<<20)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 || !strings.EqualFold(words[0], "Host") {
			continue
		}
		for _, host := range words[1:] {
			if IsHostName(host) && !strings.ContainsAny(host, "*?!") {
				hosts = append(hosts, host)
			}
		}
	}
	return hosts
}

// mostAnswer bounds, in bytes, what one host may answer.
const mostAnswer = 64 << 20

// MostHosts is how many hosts are asked at the same time.
const MostHosts = 16

// HostsOutcome names the hosts that gave no answer. One that does not know the
// agent, or has no memory yet, has answered, if another has more to say.
func HostsOutcome(run *workspace.Run, answers []selection.HostAnswer) error {
	some := slices.ContainsFunc(answers, func(h selection.HostAnswer) bool { return h.Answered })
	exit := failure.ExitOK
	for i := range answers {
		h := &answers[i]
		if some && h.Error != nil && slices.Contains([]string{"unknown_agent", "no_memory"}, h.Error.Code) {
			run.Notice(workspace.Note{Path: h.Host, Message: h.Error.Message})
			h.Answered, h.Error = true, nil
		}
		switch {
		case !h.Answered:
			exit = max(exit, failure.ExitPartly)
			run.Tell(workspace.Note{Path: h.Host, Message: h.Error.Message, Hint: h.Error.Hint})
		case h.Exit > failure.ExitUsage:
			exit = max(exit, h.Exit)
		}
	}
	switch {
	case !some:
		return &failure.Outcome{Exit: failure.ExitFailed}
	case exit != failure.ExitOK:
		return &failure.Outcome{Exit: exit}
	}
	return nil
}

// Refuse refuses options that mean this host alone.
func Refuse(h *selection.HostAnswer, code, message, hint string) {
	h.Error = &failure.ErrorBody{Code: code, Message: message, Hint: hint}
}

// AskHost runs sessctl on one host. Nobody is asked for a password, and a host
// that is not there ends the wait after seconds.
func AskHost(ctx context.Context, o *selection.HostsOption, host string) selection.HostAnswer {
	answer := selection.HostAnswer{Host: host}
	words := make([]string, len(o.Arguments))
	for i, w := range o.Arguments {
		words[i] = hooks.QuoteWord(w)
	}
	program := exec.CommandContext(ctx, "ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10",
		"-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3", "--", host, strings.Join(words, " "))
	out, complaints := &bounded{most: mostAnswer}, &bounded{most: 64 << 10}
	program.Stdout, program.Stderr = out, complaints
	err := program.Run()
	answer.Document = out.Bytes()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		answer.Exit = ended.ExitCode()
	case err != nil:
		answer.Exit = -1
		Refuse(&answer, "ssh", err.Error(), "ssh must be in the PATH")
		return answer
	}
	switch {
	case out.full:
		Refuse(&answer, "too_long", fmt.Sprintf("it answered more than %s", wording.Bytes(mostAnswer)), "ask for less, as with --limit or --agent")
	case !json.Valid(answer.Document):
		explainSilence(&answer, complaints.String())
	}
	return answer
}

// explainSilence says why there is no document: sessctl there printed an error,
// or ssh did.
func explainSilence(h *selection.HostAnswer, complaints string) {
	var printed failure.ErrorDocument
	if start := strings.IndexByte(complaints, '{'); start >= 0 && json.Unmarshal([]byte(complaints[start:]), &printed) == nil && printed.Error.Message != "" {
		h.Error = &printed.Error
		return
	}
	lines := strings.Split(strings.TrimSpace(complaints), "\n")
	said := cmp.Or(strings.TrimSpace(lines[len(lines)-1]), "no answer")
	switch h.Exit {
	case exitOfShell:
		Refuse(h, "no_program", said, "sessctl must be in the PATH that a command of ssh gets there")
	case exitOfSSH:
		Refuse(h, "ssh", said, "ssh "+h.Host+" true must work without a question")
	default:
		Refuse(h, "failed", fmt.Sprintf("%s (exit code %d)", said, h.Exit), "")
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

// NoticeOf tells the notes of another host as ours.
func NoticeOf(run *workspace.Run, host string, notes []workspace.Note) {
	for _, n := range notes {
		n.Message = n.Text()
		n.Path = host
		run.Notice(n)
	}
}

// WithHosts puts the host of each row before its other cells.
func WithHosts(hosts []string, rows [][]string) [][]string {
	with := make([][]string, len(rows))
	for i := range rows {
		with[i] = append([]string{wording.Visible(hosts[i])}, rows[i]...)
	}
	return with
}

// OnHost is a command line that runs on the host of a row. People and agents run what
// they are shown: a host whose name is none is only told.
func OnHost(host, command string) string {
	switch {
	case host == "" || command == "":
		return command
	case !IsHostName(host):
		return fmt.Sprintf("%s (on a host that calls itself %q)", command, host)
	}
	return "ssh -- " + hooks.QuoteWord(host) + " " + command
}
