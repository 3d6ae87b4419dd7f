package cmd

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addHostsFlags(o *selection.HostsOption, fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.Hosts, "host", nil, "ask sessctl on these `hosts` by ssh instead, separated by commas")
}

// read takes the command line for the other hosts: the flags that were given,
// and these words behind them.
func read(o *selection.HostsOption, c *cobra.Command, words ...string) error {
	if !o.Asked() {
		return nil
	}
	for i, host := range o.Hosts {
		if err := recall.CheckHost(host); err != nil {
			return err
		}
		if slices.Contains(o.Hosts[:i], host) {
			return failure.Usage("", "--host: %s is named twice", host)
		}
	}
	o.Arguments = []string{"sessctl", c.Name(), "--json"}
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case slices.Contains(recall.OfThisHost(), f.Name):
			err = failure.Usage("each host uses its own configuration", "--host does not go with --%s, which is of this host", f.Name)
		case !slices.Contains(recall.OfThisRun(), f.Name):
			o.Arguments = append(o.Arguments, "--"+f.Name+"="+f.Value.String())
		}
	})
	if len(words) > 0 {
		o.Arguments = append(append(o.Arguments, "--"), words...)
	}
	return err
}

// askHosts asks all hosts and hands each document on, in the order of --host. The
// error is the outcome of the whole: a host without an answer is named, and the
// rest stands.
func askHosts[Document any](ctx context.Context, a *app, o *selection.HostsOption, take func(host string, there Document)) ([]selection.HostAnswer, error) {
	answers := make([]selection.HostAnswer, len(o.Hosts))
	err := session.Spread(ctx, recall.MostHosts, len(o.Hosts), func(_, i int) {
		answers[i] = recall.AskHost(ctx, o, o.Hosts[i])
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
		if err := json.Unmarshal(answer.Document, &there); err != nil {
			recall.Refuse(answer, "document", "its answer is not the output of this command: "+err.Error(), "sessctl may be much older there: see sessctl version")
		} else {
			take(answer.Host, there)
		}
		answer.Answered = answer.Error == nil
	}
	return answers, recall.HostsOutcome(a.Run, answers)
}

// completeHosts are the hosts that ~/.ssh/config names.
func completeHosts(a *app, _ *cobra.Command) (hosts []selection.Candidate) {
	for _, host := range recall.KnownHosts(a.Home()) {
		hosts = append(hosts, selection.Candidate{ID: host})
	}
	return hosts
}

// hostColumn puts the host of each row before all other columns, if there is one.
func (t table) hostColumn(hosts []string) table {
	t.columns = append([]column{{name: "HOST", least: 6}}, t.columns...)
	t.rows = recall.WithHosts(hosts, t.rows)
	if warn := t.warn; warn != nil {
		t.warn = func(row, column int) bool { return column > 0 && warn(row, column-1) }
	}
	return t
}

// printListOf prints a list, with the host of each row if several were asked, and
// says so if it is empty.
func (a *app) printListOf(asked bool, hosts []string, t table, rows [][]string) error {
	if len(rows) == 0 && !a.OutTTY {
		a.Notice(workspace.Note{Message: t.empty})
	}
	if asked {
		t, rows = t.hostColumn(hosts), recall.WithHosts(hosts, rows)
	}
	return a.printList(t, rows)
}
