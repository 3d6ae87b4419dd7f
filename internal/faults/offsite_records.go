//go:build linux && amd64

package faults

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/fakeobjects"
	"github.com/sessctl/sessctl/pkg/memory"
)

// recordsPrefix is where the records of the host lie on the storage.
const recordsPrefix = "backups/host/records/mill/"

// offsiteRecords are the commands that bring what was done on a host to object
// storage, and from there to a host that was lost.
func offsiteRecords() []Command {
	env := []string{"SESSCTL_ARCHIVE_REMOTE=s3://backups/host", "XDG_CACHE_HOME=$DIR/cache", "SESSCTL_MEMORY_REMOTE_HOST=mill"}
	upload := func(name string, prepare func(*Home) error) Command {
		return Command{
			Name: "archives upload, " + name, Runtime: "openclaw", Args: []string{"archives", "upload"}, Env: env, Slow: true,
			Prepare: prepare, Done: recordsAreThere,
		}
	}
	return []Command{
		upload("records", didMuch),
		upload("all of which was altered", func(h *Home) error {
			err := errors.Join(didMuch(h), h.must([]int{0}, "archives", "upload"))
			return errors.Join(err, h.changeObjects(recordsPrefix+"forgotten/", altered), h.changeObjects("backups/host/archives/", altered))
		}),
		{
			Name: "archives pull, of a lost host", Runtime: "openclaw", Args: []string{"archives", "pull", "--host", "mill"}, Env: env, Slow: true,
			Prepare: func(h *Home) error {
				return errors.Join(didMuch(h), h.must([]int{0}, "archives", "upload"), os.RemoveAll(h.Data()))
			},
			Done: recordsAreHere, Whole: recordsAreWhole,
		},
	}
}

// damagedOffsite are uploads of an archive whose copy on the storage is no more what
// it was. The catalogue calls it off-site until then.
func damagedOffsite() []Command {
	damaged := func(name string, change func(body []byte) []byte) Command {
		return Command{
			Name: "archives upload, the object " + name, Runtime: "pi", Args: []string{"archives", "upload"}, Slow: true,
			Env: []string{"SESSCTL_ARCHIVE_REMOTE=s3://backups/host", "XDG_CACHE_HOME=$DIR/cache"},
			Prepare: func(h *Home) error {
				return errors.Join(withStorage(h), h.must([]int{0}, "archives", "upload"), h.changeObjects("backups/host/archives/", change))
			},
			Done: uploaded, Settled: nothingOutgoing,
		}
	}
	return []Command{damaged("altered", altered), damaged("gone", func([]byte) []byte { return nil })}
}

// altered are other bytes, as many.
func altered(body []byte) []byte {
	body = bytes.Clone(body)
	body[len(body)/2] ^= 0xff
	return body
}

// changeObjects changes what the storage has below a name; nil removes an object.
func (h *Home) changeObjects(below string, change func(body []byte) []byte) error {
	objects, changed := h.storage.Objects(), 0
	for key, o := range maps.Clone(objects) {
		if !strings.HasPrefix(key, below) {
			continue
		}
		changed++
		if o.Body = change(o.Body); o.Body == nil {
			delete(objects, key)
		} else {
			objects[key] = o
		}
	}
	if changed == 0 {
		return fmt.Errorf("the storage has nothing below %s: %v", below, slices.Sorted(maps.Keys(objects)))
	}
	h.storage.Replace(objects)
	return nil
}

// didMuch is a home with a receipt, a pinned session and something that was forgotten.
func didMuch(h *Home) error {
	h.storage = fakeobjects.Start()
	err := errors.Join(compacted(h), h.must([]int{0}, "pin", "agent:a:main"), h.must([]int{0}, "memory", "forget", "--agent", "a", "--yes"))
	if here, listed := h.records(); err == nil && (listed != nil || len(here) < 3) {
		err = fmt.Errorf("the records are %v, want a receipt, a tombstone and a pin (%w)", slices.Sorted(maps.Keys(here)), listed)
	}
	return err
}

// records are the files of records here, by their names on the storage.
func (h *Home) records() (map[string][]byte, error) {
	all := map[string][]byte{}
	for name, pattern := range map[string]string{
		"receipts/": filepath.Join(h.Data(), "receipts", "*.json"), "forgotten/": filepath.Join(memory.ForgottenDir(filepath.Join(h.Data(), "memory")), "*.json"), "": filepath.Join(h.Data(), "pinned.json"),
	} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if all[name+filepath.Base(path)], err = os.ReadFile(path); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// recordsAreThere checks that the storage has every record in an object whose name
// says its hash.
func recordsAreThere(h *Home) error {
	here, err := h.records()
	if err != nil || len(here) < 3 {
		return fmt.Errorf("%d records are here, want three and more (%w)", len(here), err)
	}
	objects := h.storage.Objects()
	for name, text := range here {
		sum := sha256.Sum256(text)
		key := recordsPrefix + name + "." + hex.EncodeToString(sum[:])
		holds := func(number string) bool { return bytes.Equal(objects[key+number].Body, text) }
		if !holds("") && !holds(".2") && !holds(".3") {
			return fmt.Errorf("no object below %s holds the record: %v", key, slices.Sorted(maps.Keys(objects)))
		}
	}
	return claimsHold(h)
}

// recordsAreHere checks that every record of the storage is here, as it is there, and
// that the memory can be made again with them.
func recordsAreHere(h *Home) error {
	here, err := h.records()
	if err != nil {
		return err
	}
	for key := range h.storage.Objects() {
		name, ours := strings.CutPrefix(key, recordsPrefix)
		if ours && here[name[:max(0, strings.LastIndexByte(name, '.'))]] == nil {
			return fmt.Errorf("%s was not entered: here are %v", name, slices.Sorted(maps.Keys(here)))
		}
	}
	if _, err := os.Lstat(filepath.Join(h.Data(), "pull-unfinished")); err == nil {
		return errors.New("the pull is said to be under way")
	}
	return errors.Join(recordsAreWhole(h), claimsHold(h), h.must([]int{0}, "memory", "reindex", "--from-archives"))
}

// recordsAreWhole checks that no record is here that the storage has otherwise.
func recordsAreWhole(h *Home) error {
	here, err := h.records()
	if err != nil {
		return err
	}
	objects := h.storage.Objects()
	for name, text := range here {
		sum := sha256.Sum256(text)
		if _, there := objects[recordsPrefix+name+"."+hex.EncodeToString(sum[:])]; !there {
			return fmt.Errorf("the record %s is another one than that of the storage: %.200q", name, text)
		}
	}
	return nil
}
