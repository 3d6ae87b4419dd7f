package audit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/ledger/proof"
)

// ProveOptions are the options of prove.
type ProveOptions struct {
	Since    string
	Agent    agentset.Set // or runtime/agent
	Session  string       // or the start of its id
	Output   string
	Format   string // jsonl or in-toto
	Archives bool   // with their bytes
	Check    string // a file, instead of making one
	Head     string // a file with a head that somebody kept
	Force    bool
}

// ProveDocument is `prove --json`.
type ProveDocument struct {
	Schema   int     `json:"schema"`
	Path     string  `json:"path"`
	Checked  bool    `json:"checked"` // with --check
	Ledger   string  `json:"ledger"`
	Key      string  `json:"key"`           // with which its heads are checked
	Entries  int64   `json:"entries"`       // of the ledger
	Shown    int64   `json:"shown"`         // of them, word for word
	Complete int64   `json:"complete_from"` // from this entry on all are shown; entries if the last is not
	Root     string  `json:"root"`          // of the ledger, base64
	Heads    []int64 `json:"heads"`         // entries of the heads that it continues, the newest last
	// Continues is how many entries the head of --head has, -1 without one.
	Continues int64            `json:"continues"`
	Archives  []ProvenArchive  `json:"archives"`
	Notes     []workspace.Note `json:"notes"`
}

// ProvenArchive is an archive whose bytes are in a proof, or lie beside it.
type ProvenArchive struct {
	ID   string `json:"id"`
	Path string `json:"path"` // of the file beside it, "" in the proof
	Same bool   `json:"same"` // the bytes are those of the ledger
}

// check refuses options that do not go together.
func (o ProveOptions) check() error {
	switch {
	case (o.Output == "") == (o.Check == ""):
		return failure.Usage("sessctl prove --output FILE, or --check FILE", "what is to be made, or checked?")
	case o.Check != "" && (o.Since != "" || o.Agent != "" || o.Session != "" || o.Archives || o.Force || o.Format != "jsonl"):
		return failure.Usage("", "--check goes with --head alone")
	case o.Format != "jsonl" && o.Format != "in-toto":
		return failure.Usage("formats: jsonl, in-toto", "unknown format %q", o.Format)
	}
	return nil
}

// ProveOrCheck writes a proof, or checks the one that the options name.
func ProveOrCheck(ctx context.Context, run *workspace.Run, o ProveOptions) (doc ProveDocument, err error) {
	if err := o.check(); err != nil {
		return doc, err
	}
	if o.Check != "" {
		doc, err = CheckProof(ctx, run, o)
	} else {
		doc, err = Prove(ctx, run, o)
	}
	doc.Notes = run.Notes
	return doc, err
}

// Prove writes a proof.
func Prove(ctx context.Context, run *workspace.Run, o ProveOptions) (ProveDocument, error) {
	p := prover{Run: run, log: workspace.LedgerOf(run), options: o}
	request, err := p.request(ctx)
	if err != nil {
		return ProveDocument{}, explainProve(o, err)
	}
	path := workspace.Absolute(o.Output)
	if err := errors.Join(workspace.RefuseOwn(ctx, run, path, "--output"), workspace.RefuseSession(ctx, run, path, "--output")); err != nil {
		return ProveDocument{}, err
	}
	save := durable.CreateFile
	if o.Force {
		save = durable.ReplaceFile
	}
	if err := save(path, 0o600, func(to io.Writer) error { return p.write(ctx, to, request) }); err != nil {
		return ProveDocument{}, explainProve(o, err)
	}
	return p.written(path), nil
}

// prover makes a proof.
type prover struct {
	*workspace.Run
	log     *ledger.Log
	options ProveOptions
	named   []proof.Archive // by the leaves that were shown
	done    proof.Checked
}

// written describes the file that was written.
func (p *prover) written(path string) ProveDocument {
	doc := ProveDocument{Schema: 1, Path: path, Continues: -1, Heads: []int64{}, Archives: []ProvenArchive{}}
	doc.fill(p.done)
	for _, id := range slices.Sorted(maps.Keys(p.done.Archives)) {
		doc.Archives = append(doc.Archives, ProvenArchive{ID: id, Same: true})
	}
	return doc
}

// request says what is to be proven.
func (p *prover) request(ctx context.Context) (r proof.Request, err error) {
	since, err := ParseTime(p.options.Since, p.Now())
	if err != nil {
		return r, err
	}
	if !workspace.Exists(p.log.Dir()) {
		return r, &failure.Error{Code: "no_ledger", Exit: failure.ExitFailed, Path: p.log.Dir(), Hint: "the next run that archives something begins it", Err: errors.New("there is no ledger yet")}
	}
	head, err := p.log.Seal(ctx)
	if err != nil {
		return r, err
	}
	r = proof.Request{Key: head.Verifier, Made: p.Now(), Shown: p.shown(since)}
	r.Selection = proof.Selection{Agent: p.options.Agent.String(), Session: p.options.Session}
	if since > 0 {
		r.Selection.Since = time.UnixMilli(since).UTC().Format(time.RFC3339)
	}
	if p.options.Head != "" {
		kept, err := readHead(p.options.Head)
		if err == nil {
			_, err = p.log.Continues([]byte(kept))
		}
		if err != nil {
			return r, err
		}
		r.Heads = append(r.Heads, kept)
	}
	r.Heads = append(r.Heads, string(head.Note))
	if p.options.Archives {
		r.Archives = p.bytes(ctx)
	}
	return r, nil
}

// shown reports whether a leaf is one of those that were asked for.
func (p *prover) shown(since int64) func(int64, []byte) bool {
	return func(_ int64, text []byte) bool {
		var leaf ledger.Leaf
		if json.Unmarshal(text, &leaf) != nil {
			return false
		}
		if leaf.At < since || !p.options.Agent.Holds(leaf.Runtime, leaf.Agent) || !strings.HasPrefix(leaf.Session, p.options.Session) {
			return false
		}
		if ofArchive(leaf) && !slices.ContainsFunc(p.named, func(a proof.Archive) bool { return a.ID == leaf.ID }) {
			p.named = append(p.named, proof.Archive{ID: leaf.ID, SHA256: leaf.SHA256})
		}
		return true
	}
}

// ofArchive reports whether a leaf has the hash of an archive.
func ofArchive(leaf ledger.Leaf) bool {
	return leaf.Kind == ledger.Made || leaf.Kind == ledger.Adopted && leaf.What == "archive"
}

// leaves are those of the ledger.
func (p *prover) leaves(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		err := p.log.Texts(ctx, 0, func(_ int64, text []byte) error {
			if !yield(text, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

var errStopped = errors.New("stopped")

// bytes are the archives that the shown leaves name, of those that are still here.
func (p *prover) bytes(ctx context.Context) iter.Seq2[proof.Archive, error] {
	return func(yield func(proof.Archive, error) bool) {
		store, err := p.OpenArchive()
		if err != nil {
			yield(proof.Archive{}, err)
			return
		}
		for _, a := range p.named {
			entry, err := store.Get(ctx, a.ID)
			if err != nil {
				p.Notice(workspace.Note{Message: fmt.Sprintf("archive %s is not in the proof: %v", a.ID, err)})
				continue
			}
			a.Open = func(ctx context.Context) (io.ReadCloser, error) { return store.OpenEntry(ctx, entry) }
			if !yield(a, nil) {
				return
			}
		}
	}
}

func (p *prover) write(ctx context.Context, to io.Writer, r proof.Request) (err error) {
	if p.options.Format != "in-toto" {
		p.done, err = proof.Write(ctx, to, p.leaves(ctx), r)
		return err
	}
	var lines bytes.Buffer
	if p.done, err = proof.Write(ctx, &lines, p.leaves(ctx), r); err != nil {
		return err
	}
	return proof.WriteStatement(to, lines.Bytes(), p.named)
}

// readHead reads a head that somebody kept.
func readHead(path string) (string, error) {
	text, err := durable.ReadSmall(path, 64<<10)
	if err != nil {
		return "", fmt.Errorf("read the head: %w", err)
	}
	return string(text), nil
}

// CheckProof checks a proof, and what of archives lies beside it. It needs no store, no
// data directory and no network.
func CheckProof(ctx context.Context, run *workspace.Run, o ProveOptions) (doc ProveDocument, err error) {
	doc = ProveDocument{Schema: 1, Path: workspace.Absolute(o.Check), Checked: true, Continues: -1, Heads: []int64{}, Archives: []ProvenArchive{}}
	file, err := os.Open(doc.Path)
	if err != nil {
		return doc, err
	}
	defer file.Close()
	sums := map[string]string{}
	options := proof.Options{Show: func(_ int64, text string) error {
		var leaf ledger.Leaf
		if json.Unmarshal([]byte(text), &leaf) == nil && ofArchive(leaf) {
			sums[leaf.ID] = leaf.SHA256
		}
		return nil
	}}
	if o.Head != "" {
		if options.Earlier, err = readHead(o.Head); err != nil {
			return doc, err
		}
	}
	checked, err := proof.Check(ctx, file, options)
	if err != nil {
		return doc, explainProve(o, err)
	}
	doc.fill(checked)
	if o.Head != "" {
		doc.Continues = checked.Continues
	}
	return doc, doc.compare(ctx, checked.Archives, sums)
}

// fill is what a proof proves.
func (d *ProveDocument) fill(c proof.Checked) {
	head := c.Head()
	d.Ledger, d.Key, d.Entries, d.Root = head.Origin, c.Header.Key, head.N, head.Hash.String()
	d.Shown, d.Complete = c.Shown, c.Complete
	for _, h := range c.Heads {
		d.Heads = append(d.Heads, h.N)
	}
}

// compare adds the archives that are in the proof, and those that lie beside it.
func (d *ProveDocument) compare(ctx context.Context, within, sums map[string]string) error {
	for _, id := range slices.Sorted(maps.Keys(within)) {
		d.Archives = append(d.Archives, ProvenArchive{ID: id, Same: sums[id] == within[id]})
	}
	beside, err := proof.CompareBeside(ctx, filepath.Dir(d.Path), sums)
	for _, b := range beside {
		d.Archives = append(d.Archives, ProvenArchive{ID: b.ID, Path: b.Path, Same: b.Same})
	}
	return err
}

// ProveOutcome is the outcome of a document that was printed, or of an error of that:
// an archive that has other bytes than the ledger says is damage.
func ProveOutcome(d ProveDocument, err error) error {
	if err == nil && slices.ContainsFunc(d.Archives, func(a ProvenArchive) bool { return !a.Same }) {
		return &failure.Outcome{Exit: failure.ExitIntegrity}
	}
	return err
}

// DescribeProof is a document as lines.
func DescribeProof(d ProveDocument) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s of %s, %s shown\n", d.Path, workspace.Entries(d.Entries), d.Ledger, wording.Count(d.Shown))
	switch {
	case d.Complete == 0:
		text.WriteString("complete: the whole history is in it\n")
	case d.Complete < d.Entries:
		fmt.Fprintf(&text, "complete from entry %d on\n", d.Complete)
	}
	for _, a := range d.Archives {
		state := "has the bytes that the ledger says"
		if !a.Same {
			state = "HAS OTHER BYTES than the ledger says"
		}
		fmt.Fprintf(&text, "archive %s %s: %s\n", a.ID, state, cmp.Or(a.Path, "in the file"))
	}
	if !d.Checked {
		return wording.VisibleText(text.String())
	}
	fmt.Fprintf(&text, "proven: signed with %s\n", d.Key)
	if d.Continues < 0 {
		text.WriteString("not compared with a head that somebody kept (--head): whoever has the key could have made another history\n")
	} else {
		fmt.Fprintf(&text, "it continues the head of %s that was given\n", workspace.Entries(d.Continues))
	}
	return wording.VisibleText(text.String())
}

// explainProve adds what a person can do about it.
func explainProve(o ProveOptions, err error) error {
	for _, known := range []struct {
		kind       error
		code, hint string
		exit       int
	}{
		{fs.ErrExist, "exists", "name another file, or replace it with --force", failure.ExitFailed},
		{proof.ErrUncovered, "uncovered", "have it made with sessctl prove --head, or without a selection", failure.ExitFailed},
		{ledger.ErrContradicts, "rewritten", "sessctl doctor says more", failure.ExitIntegrity},
		{proof.ErrRewritten, "rewritten", "sessctl doctor says more", failure.ExitIntegrity},
		{proof.ErrRefused, "no_proof", "docs/ledger.md says what is checked", failure.ExitIntegrity},
		{ledger.ErrDamaged, "ledger", "sessctl doctor says more", failure.ExitIntegrity},
	} {
		if errors.Is(err, known.kind) {
			return &failure.Error{Code: known.code, Exit: known.exit, Path: cmp.Or(o.Check, o.Output), Hint: known.hint, Err: err}
		}
	}
	return err
}
