package qwen

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// What a tool has printed and the model was not sent lies in a file of its own,
// tmp/<SHA-256 of the working directory>/<name>.output beside the projects. Which
// session's it is says the log that names it. Qwen Code deletes it after a time.

const (
	tmpName    = "tmp"
	outputEnd  = ".output"
	hashLength = 2 * sha256.Size
)

// locateOutput reads where an output lies below tmp.
func locateOutput(below string) (session.Ref, bool) {
	hash, name, _ := strings.Cut(below, "/")
	ref := session.Ref{Agent: tmpName, ID: session.CleanID(name), Kind: session.KindOutput}
	return ref, isHash(hash) && strings.HasSuffix(name, outputEnd) && session.SafeID(name)
}

func isHash(name string) bool {
	_, err := hex.DecodeString(name)
	return err == nil && len(name) == hashLength && strings.ToLower(name) == name
}

// outputs lists what tools have printed. One that a single session names belongs to
// it; one that several name, as forks do, or none, stands for itself.
func (l *lister) outputs(ctx context.Context, base *logfile.Dir) {
	found := map[string]session.Ref{} // by <hash>/<name>
	l.in(base, tmpName, func(tmp *logfile.Dir) {
		l.Each(tmp, func(hash string) {
			if isHash(hash) && tmp.HasDirectory(hash) {
				l.in(tmp, hash, func(d *logfile.Dir) {
					l.Each(d, func(name string) {
						if ref, ok := l.Located(d, name, ""); ok {
							found[hash+"/"+name] = ref
						}
					})
				})
			}
		})
	})
	owners := l.owners(ctx, found)
	for _, key := range slices.Sorted(maps.Keys(found)) {
		ref := found[key]
		ref.Key = tmpName + "/" + key
		ref.State, ref.Reason = session.StateUnsupported, session.ReasonOutputUnnamed.Text()
		if of := owners[key]; len(of) > 0 {
			ref.Agent = of[0].Agent
			if ref.Reason = session.ReasonOutputShared.Text(); len(of) == 1 {
				ref.Parent, ref.Key = of[0].ID, of[0].ID+"/"+ref.Key
				ref.Reason = session.ReasonToolOutput.Text()
			}
		}
		l.Add(ref)
	}
}

// owners says which sessions name which outputs. Only logs of the working
// directories are read of which there are outputs.
func (l *lister) owners(ctx context.Context, found map[string]session.Ref) map[string][]session.Ref {
	hashes, owners := map[string]bool{}, map[string][]session.Ref{}
	for key := range found {
		hash, _, _ := strings.Cut(key, "/")
		hashes[hash] = true
	}
	for _, ref := range l.Listing.Refs {
		if len(hashes) == 0 {
			break
		}
		names, err := l.names(ctx, ref, hashes)
		if err != nil {
			l.Skip(ref.Path, fmt.Errorf("look for outputs: %w", err))
		}
		of := ref
		if ref.Parent != "" {
			of.ID = ref.Parent // what a sub-agent has called belongs to its session
		}
		for key := range names {
			known := slices.ContainsFunc(owners[key], func(o session.Ref) bool { return o.ID == of.ID })
			if _, is := found[key]; is && !known {
				owners[key] = append(owners[key], of)
			}
		}
	}
	return owners
}

// hashOf is how Qwen Code names the directory of a working directory's outputs.
func hashOf(directory []byte) string {
	sum := sha256.Sum256(directory)
	return hex.EncodeToString(sum[:])
}

// names lists the outputs that a log names, if it is of one of the directories.
func (l *lister) names(ctx context.Context, ref session.Ref, hashes map[string]bool) (map[string]bool, error) {
	log, _, err := l.store.OpenLog(ref)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	var d decoder
	of := false
	enough := errors.New("the first record that names a directory")
	err = jsonl.NewReader(log, jsonl.Options{}).Each(ctx, func(line jsonl.Line) error {
		if d.decode(line.Raw) != nil || len(d.record.cwd) == 0 {
			return nil
		}
		of = hashes[hashOf(d.record.cwd)] || hashes[hashOf(bytes.ToLower(d.record.cwd))] // as on Windows
		return enough
	})
	if err != nil && !errors.Is(err, enough) {
		return nil, err
	}
	if !of {
		return nil, nil
	}
	if _, err := log.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return namedIn(ctx, log)
}

// longestName bounds how long the name of an output is, in bytes, and longestBreak
// what stands between the names of a path: on Windows a backslash, which is escaped
// in a record, and escaped again in text that quotes JSON.
const (
	longestName  = 255
	longestBreak = 4
)

// namedIn lists the outputs that a log names, as <hash>/<name>. Wherever it does so
// counts.
func namedIn(ctx context.Context, log io.Reader) (map[string]bool, error) {
	names := map[string]bool{}
	const longest = longestBreak + len(tmpName) + longestBreak + hashLength + longestBreak + longestName
	buffer, held := make([]byte, 256<<10), 0
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := log.Read(buffer[held:])
		n += held
		for at := 0; ; {
			next := bytes.Index(buffer[at:n], []byte(outputEnd))
			if next < 0 {
				break
			}
			at += next + len(outputEnd)
			if key, ok := outputBefore(buffer[max(0, at-longest):at]); ok {
				names[key] = true
			}
		}
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, fmt.Errorf("look for outputs: %w", err)
		}
		held = copy(buffer, buffer[max(0, n-longest):n])
	}
}

// outputBefore is the output whose path a text ends with, of either system.
func outputBefore(text []byte) (key string, ok bool) {
	rest, name := cutBreak(text, bytes.LastIndexAny(text, breaks)+1)
	rest, hash := cutBreak(rest, len(rest)-hashLength)
	rest, tmp := cutBreak(rest, len(rest)-len(tmpName))
	if rest == nil || string(tmp) != tmpName {
		return "", false
	}
	key = string(hash) + "/" + string(name)
	_, ok = locateOutput(key)
	return key, ok
}

// breaks stand between the names of a path.
const breaks = `/\`

// cutBreak cuts a text at a place with a break before it: what stands before the
// break, and what after it. Without one both are empty.
func cutBreak(text []byte, at int) (before, after []byte) {
	if at <= 0 {
		return nil, nil
	}
	before = bytes.TrimRight(text[:at], breaks)
	if n := at - len(before); n == 0 || n > longestBreak {
		return nil, nil
	}
	return before, text[at:]
}
