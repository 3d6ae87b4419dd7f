package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/ledger"
)

// PinnedSession is a session that nothing deletes, as the file has it.
type PinnedSession struct {
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Key     string `json:"key"`
	At      string `json:"at"` // when it was pinned, RFC 3339, UTC
}

// Same reports whether two pins are of one session.
func (p PinnedSession) Same(o PinnedSession) bool {
	return p.Runtime == o.Runtime && p.Agent == o.Agent && p.Session == o.Session
}

// PinnedSessions are all sessions that are pinned, as the file in the data
// directory has them.
type PinnedSessions struct {
	Schema   int             `json:"schema"`
	Sessions []PinnedSession `json:"sessions"`
}

// PinnedFile is the file that says which sessions are pinned.
func (s *Settings) PinnedFile() string { return filepath.Join(s.DataDir(), "pinned.json") }

// mostPinned bounds the file of pinned sessions, in bytes.
const mostPinned = 16 << 20

// ListPinned reads the file of pinned sessions. Without it there are none; the ledger
// may say otherwise, see [LostPins].
func ListPinned(run *Run) (PinnedSessions, error) {
	none := PinnedSessions{Schema: 1, Sessions: []PinnedSession{}}
	text, err := readPinnedFile(run)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	var p PinnedSessions
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	switch {
	case err != nil:
		return none, err
	case p.Schema != 1:
		return none, fmt.Errorf("it has schema %d, this version knows 1", p.Schema)
	case p.Sessions == nil:
		p.Sessions = []PinnedSession{}
	}
	return p, nil
}

func readPinnedFile(run *Run) ([]byte, error) {
	f, err := run.Pins.OpenRegular(run.PinnedFile())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostPinned+1))
	if err == nil && len(text) > mostPinned {
		err = fmt.Errorf("it has more than %s", wording.Bytes(mostPinned))
	}
	return text, err
}

// LostPins are the sessions that the ledger says are pinned, and the file does not have.
func LostPins(run *Run, known ledger.State) (lost []ledger.Leaf, err error) {
	if len(known.Pins) == 0 {
		return nil, nil
	}
	listed, err := ListPinned(run)
	if err != nil {
		return nil, err
	}
	for pin, f := range known.Pins {
		if !slices.ContainsFunc(listed.Sessions, PinnedSession{Runtime: pin.Runtime, Agent: pin.Agent, Session: pin.Session}.Same) {
			lost = append(lost, f)
		}
	}
	slices.SortFunc(lost, func(a, b ledger.Leaf) int { return int(a.At - b.At) })
	return lost, nil
}

// unknownPins are the leaves of pins that the ledger does not know.
func unknownPins(run *Run, known ledger.State, adopted bool) (found []ledger.Leaf, err error) {
	listed, err := ListPinned(run)
	for _, p := range listed.Sessions {
		if _, ok := known.Pins[ledger.Pin{Runtime: p.Runtime, Agent: p.Agent, Session: p.Session}]; ok {
			continue
		}
		f := PinLeaf(p)
		if adopted {
			f.Kind, f.What = ledger.Adopted, ledger.OfPin
		}
		found = append(found, f)
	}
	return found, err
}

// PinLeaf is the leaf of a session that is pinned.
func PinLeaf(p PinnedSession) ledger.Leaf {
	at, _ := time.Parse(time.RFC3339, p.At) // of an odd one nobody knows since when
	return ledger.Leaf{Kind: ledger.Pinned, At: at.UnixMilli(), Runtime: p.Runtime, Agent: p.Agent, Session: p.Session}
}
