package cmd

import (
	"testing"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/recall"
)

// What hosts have alike is one hit: the first, which counts the others with theirs.
// A quotation is not left out for an agent's own words.
func TestFoldHosts(t *testing.T) {
	of := func(host, text string, duplicates int, stored *audit.StoredBy) recall.Hit {
		return recall.Hit{Host: host, Text: text, Duplicates: duplicates, Stored: stored}
	}
	own := &audit.StoredBy{}
	for name, x := range map[string]struct {
		hits       []recall.Hit
		hosts      string
		duplicates int // of the first
	}{
		"others":                  {[]recall.Hit{of("a", "heron", 0, nil), of("b", "walrus", 0, nil)}, "ab", 0},
		"alike":                   {[]recall.Hit{of("a", "heron", 1, nil), of("b", "walrus", 0, nil), of("c", "heron", 2, nil)}, "ab", 4},
		"own words behind":        {[]recall.Hit{of("a", "heron", 0, nil), of("b", "heron", 0, own)}, "a", 1},
		"a quotation behind them": {[]recall.Hit{of("a", "heron", 0, own), of("b", "heron", 0, nil)}, "ab", 0},
		"own words of both":       {[]recall.Hit{of("a", "heron", 0, own), of("b", "heron", 0, own)}, "a", 1},
	} {
		kept, hosts := recall.FoldHosts(x.hits), ""
		for _, h := range kept {
			hosts += h.Host
		}
		if hosts != x.hosts || kept[0].Duplicates != x.duplicates {
			t.Errorf("%s: hits of %s, %d the same as the first", name, hosts, kept[0].Duplicates)
		}
	}
}

// What is printed to be run is safe to run: the name of a host comes from another one.
func TestOnHost(t *testing.T) {
	const command = "sessctl archives show a"
	for host, want := range map[string]string{
		"":                         command,
		"beta":                     "ssh -- beta " + command,
		"bob@beta":                 "ssh -- bob@beta " + command,
		"-oProxyCommand=touch x":   command + ` (on a host that calls itself "-oProxyCommand=touch x")`,
		"two words":                command + ` (on a host that calls itself "two words")`,
		"line\nfeed":               command + ` (on a host that calls itself "line\nfeed")`,
		"-oProxyCommand=sh,beta":   command + ` (on a host that calls itself "-oProxyCommand=sh,beta")`,
		"bidi\u202eoverride":       command + ` (on a host that calls itself "bidi\u202eoverride")`,
		"'quoted'":                 `ssh -- ''\''quoted'\''' ` + command,
		"-":                        command + ` (on a host that calls itself "-")`,
		"host-with-dash.example-1": "ssh -- host-with-dash.example-1 " + command,
	} {
		if got := recall.OnHost(host, command); got != want {
			t.Errorf("%q: %s, want %s", host, got, want)
		}
	}
}
