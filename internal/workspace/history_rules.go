package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/operate"
)

// By which rules something was deleted is in the ledger: of the configuration what says
// when sessions and archives go. Each run that changes something compares it with what
// was entered last.

// rulesFile has the hash of the rules that the ledger has, so that a run need not read
// all leaves to know it.
func rulesFile(run *Run) string { return filepath.Join(run.LedgerDir(), "settings") }

// mostRules bounds the text of the rules in a leaf, in bytes.
const mostRules = 1500

// changedRules is the leaf of the rules of the configuration, nil if the ledger has them.
func changedRules(ctx context.Context, run *Run) *ledger.Leaf {
	rules := deletionRules(&run.Config)
	noted, err := run.Pins.ReadSmall(rulesFile(run), 1<<10)
	if err == nil && string(noted) == hashOfRules(rules) {
		return nil
	}
	if known, err := LedgerOf(run).State(ctx); err == nil && known.Settings == hashOfRules(rules) {
		_ = noteRules(run) // else the next run looks again
		return nil
	}
	return &ledger.Leaf{Kind: ledger.Settings, At: run.Now().UnixMilli(), SHA256: hashOfRules(rules), Why: strings.ToValidUTF8(rules[:min(len(rules), mostRules)], "")}
}

// noteRules notes which rules the ledger has. A note that is lost costs the next run a
// look at the leaves.
func noteRules(run *Run) error {
	return run.Pins.ReplaceFile(rulesFile(run), 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, hashOfRules(deletionRules(&run.Config)))
		return err
	})
}

func hashOfRules(rules string) string {
	sum := sha256.Sum256([]byte(rules))
	return hex.EncodeToString(sum[:])
}

// deletionRules are the rules of what is deleted, in words, always in the same order.
func deletionRules(c *Config) string {
	rules := []string{
		"clean.max_age=" + c.Clean.MaxAge, "clean.grace=" + c.Clean.Grace, fmt.Sprintf("archive.supersede=%t", c.Archive.Supersede),
		"archive.local_keep=" + c.Archive.LocalKeep, "archive.retain=" + c.Archive.Retain,
	}
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		p := c.Profiles[name]
		for step, of := range map[string]any{operate.StepClean: p.Clean, operate.StepArchivePrune: p.ArchivePrune} {
			text, err := json.Marshal(of)
			if err == nil && slices.Contains(p.Steps, step) {
				rules = append(rules, "profiles."+name+"."+step+"="+strings.ReplaceAll(string(text), `"`, ""))
			}
		}
	}
	slices.Sort(rules[5:])
	return strings.Join(rules, " ")
}
