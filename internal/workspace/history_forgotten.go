package workspace

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/memory"
)

// EnterForgotten enters in the ledger what was forgotten of each archive: where it stood,
// not what it said.
func EnterForgotten(run *Run, selection memory.Selection, gone memory.Removed) {
	var leaves []ledger.Leaf
	owners := ownersOf(run, selection, gone)
	for _, id := range slices.Sorted(maps.Keys(gone.Places)) {
		leaves = append(leaves, ledger.Leaf{
			Kind: ledger.Forgotten, At: run.Now().UnixMilli(), Runtime: owners[id].Runtime, Agent: owners[id].Agent, Session: selection.Session,
			Archive: id, Count: len(gone.Places[id]), Ranges: rangesOf(gone.Places[id]),
		})
	}
	Enter(run, leaves...)
}

// ownersOf are the agents of archives of which something was forgotten, as far as they
// are known: of several agents the catalogue tells which one's each is.
func ownersOf(run *Run, selection memory.Selection, gone memory.Removed) map[string]agentset.ID {
	owners := map[string]agentset.ID{}
	for id := range gone.Places {
		owners[id] = agentset.ID{Runtime: selection.Runtime, Agent: selection.Agent.String()}
	}
	if selection.Agent.Pairs() == nil {
		return owners
	}
	var entries []archive.Entry
	if archives, err := run.OpenArchive(); err == nil {
		entries, _ = archives.List(context.Background(), archive.Filter{Agent: selection.Agent})
	}
	for id := range gone.Places {
		owners[id] = agentset.ID{Runtime: selection.Runtime}
	}
	for _, e := range entries {
		if _, is := owners[e.ID]; is {
			owners[e.ID] = agentset.ID{Runtime: e.Runtime, Agent: e.Agent}
		}
	}
	return owners
}

// rangesOf joins the places that touch each other, as far as a leaf has room for them.
func rangesOf(places []memory.Place) string {
	const most = 1000
	places = slices.SortedFunc(slices.Values(places), func(a, b memory.Place) int { return cmp.Compare(a.First, b.First) })
	var joined []memory.Place
	for _, p := range places {
		last := len(joined) - 1
		switch {
		case p.End == 0: // no piece of a log
		case last >= 0 && p.First <= joined[last].End:
			joined[last].End = max(joined[last].End, p.End)
		default:
			joined = append(joined, p)
		}
	}
	var text []string
	length := 0
	for _, p := range joined {
		one := fmt.Sprintf("%d-%d", p.First, p.End)
		if length += len(one) + 1; length > most {
			text = append(text, "...")
			break
		}
		text = append(text, one)
	}
	return strings.Join(text, ",")
}
