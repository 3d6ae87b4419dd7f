//go:build linux && amd64

package faults

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/ledger"
)

// supersedings are the commands that remove an archive with whose bytes a later one
// begins: its file goes at once, and what names it must lead into the later one.
func supersedings() []Command {
	return []Command{
		{
			Name: "archive --supersede", Runtime: "pi", Args: strings.Fields("archive --runtime pi --agent work-a --supersede"),
			Prepare: halfArchived, Done: superseded, Settled: beginningIsRead, Sessions: true,
		},
		{
			Name: "archives prune --superseded", Runtime: "pi", Args: strings.Fields("archives prune --superseded --yes --grace 0h"), Slow: true,
			Prepare: func(h *Home) error {
				if err := halfArchived(h); err != nil {
					return err
				}
				return h.must([]int{0}, "archive", "--runtime", "pi", "--agent", "work-a")
			},
			Done: superseded, Settled: beginningIsRead,
		},
	}
}

// halfArchived is a home with an archive of the first half of the session.
func halfArchived(h *Home) error {
	if err := writeAged(h.Log(), strings.Join(h.Lines[:len(h.Lines)/2], "\n")+"\n"); err != nil {
		return err
	}
	if err := h.must([]int{0}, "archive", "--runtime", "pi", "--agent", "work-a"); err != nil {
		return err
	}
	h.superseded = newest(filepath.Join(h.Data(), "archives"))
	return writeAged(h.Log(), h.source())
}

// superseded is what exit 0 promises: one archive has all, and the id of the earlier
// one leads to its lines.
func superseded(h *Home) error {
	if err := archived(h); err != nil {
		return err
	}
	return both(beginningIsRead, supersededIsWitnessed)(h)
}

// supersededIsWitnessed checks that the ledger has where the earlier archive is read.
func supersededIsWitnessed(h *Home) error {
	leaves, err := h.witnessed()
	if err == nil && !slices.ContainsFunc(leaves, func(f ledger.Leaf) bool {
		return f.Kind == ledger.Superseded && f.ID == h.superseded && f.Archive != ""
	}) {
		err = fmt.Errorf("the ledger does not say where archive %s is read", h.superseded)
	}
	return err
}

// beginningIsRead reads the archive that is the beginning of another one.
func beginningIsRead(h *Home) error {
	code, out, err := h.Run("archives", "show", "--raw", h.superseded)
	if want := strings.Join(h.Lines[:len(h.Lines)/2], "\n") + "\n"; err != nil || code != 0 || out != want {
		return fmt.Errorf("archive %s is not read as it was: exit %d, %v: %.200q", h.superseded, code, err, out)
	}
	return nil
}
