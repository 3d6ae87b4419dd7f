package ledger

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// Head is a tree and who signed it.
type Head struct {
	tlog.Tree        // how many leaves, and the root
	Origin    string // the name of the ledger: sessctl-ledger- and eight digits
	// Note is the signed text, a checkpoint as C2SP has it (c2sp.org/tlog-checkpoint):
	// three lines (origin, size, root in base64), an empty one, and the signature.
	Note []byte
	// Verifier is the key that the signature is checked with, as package note writes it.
	Verifier string
}

// Files of the directory.
const (
	checkpointFile = "checkpoint"
	keyFile        = "key"
	verifierFile   = "verifier" // the public part of the key
)

// mostNote bounds what is read of a head or a key, in bytes.
const mostNote = 64 << 10

// Seal signs the tree of all leaves and keeps its head in the directory. A tree that
// does not begin with the one of the head before is [ErrDamaged], and is not signed.
func (l *Log) Seal(ctx context.Context) (head Head, err error) {
	err = l.exclusively(ctx, sealWait, func(root *os.Root) error {
		at, err := look(root)
		if err == nil {
			err = complete(root, at)
		}
		if err != nil {
			return err
		}
		head, err = l.seal(root)
		return err
	})
	return head, err
}

func (l *Log) seal(root *os.Root) (Head, error) {
	r, err := newReader(root)
	if err != nil {
		return Head{}, err
	}
	defer r.close()
	tree := tlog.Tree{N: r.size}
	if tree.Hash, err = tlog.TreeHash(r.size, r); err != nil {
		return Head{}, err
	}
	before, err := l.Sealed()
	if err == nil {
		err = r.extends(before.Tree)
	}
	if err == nil && before.Tree == tree {
		return before, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Head{}, err
	}
	head, err := l.sign(tree)
	if err != nil {
		return Head{}, err
	}
	return head, replaceSmall(root, checkpointFile, head.Note)
}

// extends checks that the tree of all leaves begins with an earlier one.
func (r *reader) extends(earlier tlog.Tree) error {
	if earlier.N > r.size {
		return fmt.Errorf("%w: there are %d leaves, and its head says %d", ErrDamaged, r.size, earlier.N)
	}
	hash, err := tlog.TreeHash(earlier.N, r)
	if err == nil && hash != earlier.Hash {
		err = fmt.Errorf("%w: its first %d leaves are not those of its head", ErrDamaged, earlier.N)
	}
	return err
}

// Sealed returns the head that was kept last, whose signature was checked. If there is
// none, the error is fs.ErrNotExist.
func (l *Log) Sealed() (Head, error) {
	text, err := l.pins.ReadSmall(filepath.Join(l.dir, checkpointFile), mostNote)
	if err != nil {
		return Head{}, fmt.Errorf("read the head of the ledger: %w", err)
	}
	key, err := l.VerifierKey()
	if err != nil {
		return Head{}, err
	}
	head, err := ParseHead(text, key)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return head, err
}

// VerifierKey is what heads of this ledger are checked with. If no head was signed yet,
// the error is fs.ErrNotExist.
func (l *Log) VerifierKey() (string, error) {
	text, err := l.pins.ReadSmall(filepath.Join(l.dir, verifierFile), mostNote)
	if errors.Is(err, fs.ErrNotExist) { // the key has it too
		if secret, err := l.pins.ReadSmall(filepath.Join(l.dir, keyFile), mostNote); err == nil {
			return verifierOf(strings.TrimSpace(string(secret)))
		}
	}
	if err != nil {
		return "", fmt.Errorf("read the key of the ledger: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// ParseHead reads a head and checks its signature with a verifier's key.
func ParseHead(text []byte, verifier string) (Head, error) {
	v, err := note.NewVerifier(verifier)
	if err != nil {
		return Head{}, fmt.Errorf("read a head: %w", err)
	}
	opened, err := note.Open(text, note.VerifierList(v))
	if err != nil {
		return Head{}, fmt.Errorf("the head is not signed with the key of %s: %w", v.Name(), err)
	}
	head := Head{Note: bytes.Clone(text), Verifier: verifier}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) < 4 || lines[0] != v.Name() {
		return Head{}, fmt.Errorf("the head is no checkpoint of %s", v.Name())
	}
	head.Origin = lines[0]
	if head.N, err = strconv.ParseInt(lines[1], 10, 64); err == nil {
		head.Hash, err = tlog.ParseHash(lines[2])
	}
	if err != nil || head.N < 0 {
		return Head{}, fmt.Errorf("the head is no checkpoint: %w", err)
	}
	return head, nil
}

// ErrContradicts is returned for a head that the ledger does not continue.
var ErrContradicts = errors.New("the ledger does not continue the head")

// Continues returns how many leaves a head has that somebody kept. If the ledger does not
// begin with them, the error is [ErrContradicts] and says why.
func (l *Log) Continues(kept []byte) (int64, error) {
	key, err := l.VerifierKey()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, contradicts("here is no ledger with a key: the history is gone")
	}
	if err != nil {
		return 0, err
	}
	head, err := ParseHead(kept, key)
	if err != nil {
		return 0, contradicts("it is not signed with the key of the ledger that is here: this is another history")
	}
	size, err := l.Size()
	if err == nil && head.N > size {
		err = contradicts("it is of %d entries, and here are %d: the history was put back", head.N, size)
	}
	if err != nil {
		return head.N, err
	}
	tree, err := l.TreeAt(head.N)
	if err == nil && tree.Hash != head.Hash {
		err = contradicts("the first %d entries here are not those of it: the history was rewritten", head.N)
	}
	return head.N, err
}

func contradicts(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrContradicts}, args...)...)
}

// sign signs a tree with the key, which is made if there is none.
func (l *Log) sign(tree tlog.Tree) (Head, error) {
	secret, err := l.signer()
	if err != nil {
		return Head{}, err
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		return Head{}, fmt.Errorf("read the key of the ledger: %w", err)
	}
	verifier, err := verifierOf(secret)
	if err != nil {
		return Head{}, err
	}
	if known, err := l.pins.ReadSmall(filepath.Join(l.dir, verifierFile), mostNote); err != nil || string(known) != verifier+"\n" {
		if err := l.replace(verifierFile, []byte(verifier+"\n")); err != nil {
			return Head{}, err
		}
	}
	text := fmt.Sprintf("%s\n%d\n%s\n", signer.Name(), tree.N, tree.Hash)
	signed, err := note.Sign(&note.Note{Text: text}, signer)
	return Head{Tree: tree, Origin: signer.Name(), Note: signed, Verifier: verifier}, err
}

// signer returns the key, which it makes if there is none.
func (l *Log) signer() (string, error) {
	text, err := l.pins.ReadSmall(filepath.Join(l.dir, keyFile), mostNote)
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the key of the ledger: %w", err)
	}
	if _, err := l.pins.Lstat(filepath.Join(l.dir, verifierFile)); err == nil { // another one would contradict the heads that were given away
		return "", fmt.Errorf("%w: its key is lost, and no further head can be signed", ErrDamaged)
	}
	var id [4]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", fmt.Errorf("make the key of the ledger: %w", err)
	}
	secret, _, err := note.GenerateKey(rand.Reader, "sessctl-ledger-"+hex.EncodeToString(id[:]))
	if err != nil {
		return "", fmt.Errorf("make the key of the ledger: %w", err)
	}
	return secret, l.replace(keyFile, []byte(secret+"\n"))
}

// CheckKey tells whether further heads can be signed with the key of those before. Before
// the first one there is nothing to tell.
func (l *Log) CheckKey() error {
	known, err := l.VerifierKey()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := l.pins.ReadSmall(filepath.Join(l.dir, keyFile), mostNote)
	if err != nil {
		return fmt.Errorf("read the key of the ledger: %w", err)
	}
	if own, err := verifierOf(strings.TrimSpace(string(text))); err != nil || own != known {
		return fmt.Errorf("%w: its key is not that of its heads", ErrDamaged)
	}
	return nil
}

// verifierOf is the public part of a key, which ends in its kind and its seed.
func verifierOf(secret string) (string, error) {
	parts := strings.SplitN(secret, "+", 5)
	if len(parts) != 5 {
		return "", fmt.Errorf("%w: its key is none", ErrDamaged)
	}
	key, err := base64.StdEncoding.DecodeString(parts[4])
	if err != nil || len(key) != 1+ed25519.SeedSize {
		return "", fmt.Errorf("%w: its key is none", ErrDamaged)
	}
	public := ed25519.NewKeyFromSeed(key[1:]).Public().(ed25519.PublicKey)
	return note.NewEd25519VerifierKey(parts[2], public)
}

func (l *Log) replace(name string, text []byte) error {
	return l.pins.ReplaceFile(filepath.Join(l.dir, name), 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func replaceSmall(root *os.Root, name string, text []byte) error {
	return durable.ReplaceFileIn(root, name, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
