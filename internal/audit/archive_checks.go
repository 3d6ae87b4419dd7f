package audit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/ledger"
)

// MostChecks is how many checks of archives a report lists.
const MostChecks = 30

// maxChecks bounds, in bytes, what is read of the record of checks: one check has
// about 200.
const maxChecks = 64 << 20

// ChecksPath is the record of what archives verify has found. It is only appended
// to.
func ChecksPath(a *workspace.Settings) string { return filepath.Join(a.DataDir(), "verified.jsonl") }

// Check is one run of archives verify: a line of the record of checks.
type Check struct {
	At       string `json:"at"`
	All      bool   `json:"all"`                   // all archives and receipts were meant
	ReadData bool   `json:"read_data"`             // false: the copies were only looked at
	Remote   bool   `json:"remote"`                // copies on object storage too
	Copies   int    `json:"copies_read,omitempty"` // of those, read to their end
	Whole    bool   `json:"copies_all,omitempty"`  // all of them were to be read
	Archives int    `json:"archives"`
	Bytes    int64  `json:"bytes"`
	Receipts int    `json:"receipts"`
	Problems int    `json:"problems"`
}

// RecordCheck writes down what archives verify has found. The check stands without
// it: where nothing can be written, as in a data directory that may only be read,
// the next report does not know of it.
func RecordCheck(run *workspace.Run, doc VerifyDocument, o VerifyOptions) {
	path := ChecksPath(&run.Settings)
	if doc.Checked == 0 || !workspace.Ours(&run.Settings, path) {
		return
	}
	line, err := json.Marshal(Check{
		At: wording.StampText(run.Now()), All: len(o.IDs) == 0 && o.Agent == "", ReadData: doc.ReadData, Remote: o.Remote && doc.Unasked == 0,
		Copies: doc.Copies, Whole: o.Parts() == 1 && doc.Unasked == 0,
		Archives: doc.Checked, Bytes: doc.Bytes, Receipts: doc.Receipts, Problems: len(doc.Problems),
	})
	if err == nil {
		err = run.Pins.AppendLine(path, line, 0o600)
	}
	if err == nil && doc.ReadData && workspace.Exists(run.LedgerDir()) {
		workspace.Enter(run, verifiedLeaf(run, doc))
	}
	if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		run.Notice(workspace.Note{Path: path, Message: "the result of this check could not be recorded: " + err.Error()})
	}
}

// verifiedLeaf says how many archives were read and were sound, with a hash over their
// ids and hashes, a line each, in the order of the ids.
func verifiedLeaf(run *workspace.Run, doc VerifyDocument) ledger.Leaf {
	f := ledger.Leaf{Kind: ledger.Verified, At: run.Now().UnixMilli(), What: ledger.OfArchive}
	rows := slices.SortedFunc(slices.Values(doc.Verified), func(a, b VerifyRow) int { return cmp.Compare(a.ID, b.ID) })
	sum := sha256.New()
	for _, r := range rows {
		if r.OK {
			f.Count++
			fmt.Fprintf(sum, "%s %s\n", r.ID, r.SHA256)
		}
	}
	f.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return f
}

// RecordedChecks are the checks that were written down, the oldest first. A line
// that a killed run has cut is passed over.
func RecordedChecks(run *workspace.Run) (checks []Check, err error) {
	text, err := run.Pins.ReadSmall(ChecksPath(&run.Settings), maxChecks)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what was verified: %w", err)
	}
	for line := range bytes.Lines(text) {
		var c Check
		if json.Unmarshal(line, &c) == nil && c.At != "" {
			checks = append(checks, c)
		}
	}
	return checks, nil
}

// Unsettled is the last check that found problems, unless one of everything has
// read as much since and found none.
func Unsettled(checks []Check) (bad Check, found bool) {
	for _, c := range checks {
		thorough := c.All && (c.ReadData || !bad.ReadData) && (c.Remote || !bad.Remote) && (c.Whole || bad.Copies == 0)
		switch {
		case c.Problems > 0:
			bad, found = c, true
		case thorough:
			found = false
		}
	}
	return bad, found
}

// AboutCheck says what a check has found that is not settled.
func AboutCheck(bad Check) string {
	return fmt.Sprintf("archives verify found %s on %s, and no later one has found everything sound", wording.Plural(bad.Problems, "problem"), wording.ShownTime(bad.At))
}
