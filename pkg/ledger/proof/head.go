package proof

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Head is what a signed head says of the ledger.
type Head struct {
	Origin string
	Size   int64     // leaves
	Root   tlog.Hash // over them
	Note   string    // the head as it was signed
}

var errNotAHead = errors.New("not a signed head")

// OpenHead checks the signature of a head (a note in the form of C2SP's
// tlog-checkpoint) with a key and reads what it says.
func OpenHead(text, key string) (Head, error) {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return Head{}, fmt.Errorf("the key %q: %w", key, err)
	}
	signed, err := note.Open([]byte(text), note.VerifierList(verifier))
	if err != nil {
		return Head{}, fmt.Errorf("%w by %s: %w", errNotAHead, verifier.Name(), err)
	}
	h, err := parseHead(signed.Text)
	if err == nil && h.Origin != verifier.Name() {
		err = fmt.Errorf("%w: it is of %s, the key of %s", errNotAHead, h.Origin, verifier.Name())
	}
	h.Note = text
	return h, err
}

// parseHead reads the text of a head: origin, size and root, a line each.
func parseHead(text string) (h Head, err error) {
	lines := strings.SplitN(text, "\n", 4)
	if len(lines) != 4 || lines[0] == "" {
		return h, errNotAHead
	}
	h.Origin = lines[0]
	if h.Size, err = strconv.ParseInt(lines[1], 10, 64); err != nil || h.Size < 0 || strconv.FormatInt(h.Size, 10) != lines[1] {
		return h, fmt.Errorf("%w: %q is not a size", errNotAHead, lines[1])
	}
	root, err := base64.StdEncoding.Strict().DecodeString(lines[2])
	if err != nil || len(root) != tlog.HashSize {
		return h, fmt.Errorf("%w: %q is not a hash", errNotAHead, lines[2])
	}
	h.Root = tlog.Hash(root)
	return h, nil
}

// of reports what is wrong with a head that is to be that of these pieces.
func (h Head) of(n nodes) error {
	root, err := n.root(h.Size)
	if err != nil {
		return fmt.Errorf("the head of %d entries: %w", h.Size, err)
	}
	if root != h.Root {
		return fmt.Errorf("the head of %d entries is not that of these entries: its hash is %s, theirs %s", h.Size, h.Root, root)
	}
	return nil
}
