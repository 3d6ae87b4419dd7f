package smallpackages_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestLedgerAppendReads holds that an append reads no more of a long ledger than of one
// that fills its last file of leaves: what the kernel has counted for this process.
func TestLedgerAppendReads(t *testing.T) {
	const lastFile = 4096
	reads := map[int]int64{}
	for _, n := range []int{10, lastFile - 6, 25*lastFile + 10, 100*lastFile + 10} {
		l := manyLeaves(t, n)
		mustAppend(t, l, ledgerLeaf(n)) // with its order
		before := readSoFar(t)
		mustAppend(t, l, ledgerLeaf(n+1))
		reads[n] = readSoFar(t) - before
	}
	t.Logf("bytes that an append reads, by the leaves there are: %v", reads)
	most := reads[10] + 64<<10
	if reads[25*lastFile+10] > most || reads[100*lastFile+10] > most {
		t.Errorf("%v: more than %d", reads, most)
	}
}

// readSoFar is how many bytes this process has read.
func readSoFar(t *testing.T) (n int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip(err)
	}
	if _, err := fmt.Sscanf(strings.SplitN(string(text), "\n", 2)[0], "rchar: %d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}
