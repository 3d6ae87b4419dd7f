package cmd

import "testing"

// What hosts have alike is one hit: the first, which counts the others with theirs.
// A quotation is not left out for an agent's own words.
func TestFoldHosts(t *testing.T) {
	of := func(host, text string, duplicates int, stored *storedBy) recallHit {
		return recallHit{Host: host, Text: text, Duplicates: duplicates, Stored: stored}
	}
	own := &storedBy{}
	for name, x := range map[string]struct {
		hits       []recallHit
		hosts      string
		duplicates int // of the first
	}{
		"others":                  {[]recallHit{of("a", "heron", 0, nil), of("b", "walrus", 0, nil)}, "ab", 0},
		"alike":                   {[]recallHit{of("a", "heron", 1, nil), of("b", "walrus", 0, nil), of("c", "heron", 2, nil)}, "ab", 4},
		"own words behind":        {[]recallHit{of("a", "heron", 0, nil), of("b", "heron", 0, own)}, "a", 1},
		"a quotation behind them": {[]recallHit{of("a", "heron", 0, own), of("b", "heron", 0, nil)}, "ab", 0},
		"own words of both":       {[]recallHit{of("a", "heron", 0, own), of("b", "heron", 0, own)}, "a", 1},
	} {
		kept, hosts := foldHosts(x.hits), ""
		for _, h := range kept {
			hosts += h.Host
		}
		if hosts != x.hosts || kept[0].Duplicates != x.duplicates {
			t.Errorf("%s: hits of %s, %d the same as the first", name, hosts, kept[0].Duplicates)
		}
	}
}
