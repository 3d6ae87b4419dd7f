//go:build linux && amd64

package faults

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/sessctl/sessctl/internal/fakeobjects"
)

// offsite are the commands that use object storage. Their Prepare starts a server
// in memory, which every fresh home finds as the prepared one left it.
func offsite() []Command {
	const remote = "SESSCTL_ARCHIVE_REMOTE=s3://backups/host"
	cache := "XDG_CACHE_HOME=$DIR/cache"
	return []Command{
		{
			Name: "archives upload", Runtime: "pi", Args: []string{"archives", "upload"}, Env: []string{remote, cache},
			Prepare: withStorage, Done: uploaded, Whole: claimsHold, Settled: nothingOutgoing, Slow: true,
		},
		{
			Name: "archives upload, encrypted", Runtime: "pi", Args: []string{"archives", "upload"}, Slow: true,
			Env:     []string{remote, cache, "SESSCTL_ARCHIVE_RECIPIENTS=" + ageRecipient},
			Prepare: withStorage, Done: uploaded, Whole: claimsHold, Settled: nothingOutgoing,
		},
		{
			Name: "archives pull", Runtime: "pi", Slow: true, Args: []string{"archives", "pull"}, Env: []string{remote, cache},
			Prepare: hostLost, Done: pulled, Whole: claimsHold,
		},
		{
			Name: "restore, fetched", Runtime: "pi", Slow: true, Args: []string{"restore", "$ARCHIVE", "--to", "$DIR/restored.jsonl"}, Env: []string{remote, cache},
			Prepare: onlyOffsite, Done: restoredTo, Whole: claimsHold,
		},
		{
			Name: "archives prune, local keep", Runtime: "pi", Slow: true, Args: strings.Fields("archives prune --local-keep 30d --yes"), Env: []string{remote, cache},
			Prepare: offsiteLongAgo, Done: leftDisk, Whole: claimsHold,
		},
		{
			Name: "archives prune, local keep, purge", Runtime: "pi", Args: strings.Fields("archives prune --local-keep 30d --yes --grace 0h"), Env: []string{remote, cache},
			Prepare: offsiteLongAgo, Done: leftDisk, Whole: claimsHold, Settled: purgedHere,
		},
	}
}

// ageRecipient is somebody whose key nobody here has: a host that only uploads.
const ageRecipient = "age13m97eg95mcvs6z2m0n62kz8hwu7aregv3kzq9n87qmaywsuc65nslrg7ch"

// withStorage is a home with an archive, and a storage that has nothing yet.
func withStorage(h *Home) error {
	h.storage = fakeobjects.Start()
	return h.must([]int{0}, "archive", "--runtime", "pi", "--agent", "work-a")
}

// hostLost is a home whose archive is on the storage, and whose data directory is
// gone.
func hostLost(h *Home) error {
	return errors.Join(withStorage(h), h.must([]int{0}, "archives", "upload"), os.RemoveAll(h.Data()))
}

// onlyOffsite is a home that knows the archive and has no file of it.
func onlyOffsite(h *Home) error {
	return errors.Join(hostLost(h), h.must([]int{0}, "archives", "pull"))
}

// offsiteLongAgo is a home whose old archive is on the storage, too, and whose
// session its runtime has removed.
func offsiteLongAgo(h *Home) error {
	return errors.Join(withStorage(h), h.backdate(), h.must([]int{0}, "archives", "upload"), os.Remove(h.Log()))
}

// leftDisk checks that the archive is in the catalogue, and its file in the trash
// or gone.
func leftDisk(h *Home) error {
	here, err := filepath.Glob(filepath.Join(h.Data(), "archive", "pi", "*", "*.jsonl*"))
	if err != nil || len(here) > 0 {
		return fmt.Errorf("files of archives are here: %v (%v)", here, err)
	}
	said, err := h.offsite()
	if err != nil || len(said) != 1 || said[0].Remote == nil {
		return fmt.Errorf("the catalogue says %+v, want one archive that is off-site (%v)", said, err)
	}
	return errors.Join(claimsHold(h), h.inArchives(h.Lines))
}

// purgedHere checks that no file is left of the archive, and that it can be read.
func purgedHere(h *Home) error {
	left, err := filepath.Glob(filepath.Join(h.Data(), "archive", "pi", "*", ".sessctl-trash", "*"))
	if err != nil || len(left) > 0 {
		return fmt.Errorf("left in the trash: %v (%v)", left, err)
	}
	code, out, err := h.Run("archives", "show", "--raw", h.archive)
	if err != nil || code != 0 || out != h.source() {
		return fmt.Errorf("archives show: exit %d, %v: %.200q", code, err, out)
	}
	return nil
}

// linesOffSite counts the lines of the archives that the storage has and that the
// catalogue knows.
func (h *Home) linesOffSite(choose func(path string) bool, most map[string]int) error {
	if h.storage == nil || !choose(filepath.Join(h.Data(), "archive", "x")) {
		return nil
	}
	said, err := h.offsite()
	if err != nil {
		return nil // a torn catalogue knows none
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		return err
	}
	defer decoder.Close()
	objects := h.storage.Objects()
	for _, c := range said {
		if c.Remote == nil {
			continue
		}
		if data, err := decoder.DecodeAll(objects[strings.TrimPrefix(c.Remote.URL, "s3://")].Body, nil); err == nil {
			countLines(data, most)
		}
	}
	return nil
}

// uploaded checks that the archive is said to be off-site, and is.
func uploaded(h *Home) error {
	said, err := h.offsite()
	if err != nil {
		return err
	}
	if len(said) != 1 || said[0].Remote == nil {
		return fmt.Errorf("the catalogue says %+v, want one archive that is off-site", said)
	}
	return errors.Join(claimsHold(h), h.logIs(h.source()), h.inArchives(h.Lines))
}

// nothingOutgoing checks that no encrypted file is left here.
func nothingOutgoing(h *Home) error {
	left, err := filepath.Glob(filepath.Join(h.Data(), "outgoing", "*"))
	if len(left) > 0 {
		err = fmt.Errorf("encrypted files are left: %v", left)
	}
	return err
}

// pulled checks that the catalogue has the archive again.
func pulled(h *Home) error {
	said, err := h.offsite()
	if err != nil {
		return err
	}
	if len(said) != 1 || said[0].Remote == nil {
		return fmt.Errorf("the catalogue says %+v, want the archive of the storage", said)
	}
	return errors.Join(claimsHold(h), h.logIs(h.source()))
}

// restoredTo checks that the log was put back from the storage.
func restoredTo(h *Home) error {
	text, err := os.ReadFile(filepath.Join(h.Dir, "restored.jsonl"))
	if err != nil || string(text) != h.source() {
		return fmt.Errorf("the log was not restored (%v): %.80q", err, text)
	}
	return pulled(h)
}

// claim is what the catalogue says of an archive.
type claim struct {
	ID     string
	Remote *struct {
		URL, SHA256 string
		Bytes       int64 `json:"size_bytes"`
	}
}

func (h *Home) offsite() (all []claim, err error) {
	paths, err := filepath.Glob(filepath.Join(h.Data(), "archives", "*.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		var c claim
		if err == nil {
			err = json.Unmarshal(text, &c)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// claimsHold checks that whatever the catalogue calls off-site is whole on the
// storage, and so is its entry there.
func claimsHold(h *Home) error {
	said, err := h.offsite()
	if err != nil {
		return err
	}
	objects := h.storage.Objects()
	for _, c := range said {
		if c.Remote == nil {
			continue
		}
		o, there := objects[strings.TrimPrefix(c.Remote.URL, "s3://")]
		sum := sha256.Sum256(o.Body)
		if !there || hex.EncodeToString(sum[:]) != c.Remote.SHA256 || int64(len(o.Body)) != c.Remote.Bytes {
			return fmt.Errorf("%s is called off-site and is not whole there: %d bytes", c.Remote.URL, len(o.Body))
		}
		if _, there := objects["backups/host/entries/"+c.ID+".json"]; !there {
			return fmt.Errorf("%s is called off-site and has no entry there", c.Remote.URL)
		}
	}
	return nil
}
