package operate

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/oklog/ulid/v2"
)

// Where there is no room for a record, not for one byte, an empty file says by its name
// that there was a run, and how it ended.

// unrecordedSuffix is that of such names.
const unrecordedSuffix = ".unrecorded"

// NoRoomForRecord is the reason of a run of which no more is known than that it was
// there, when, and how it ended.
const NoRoomForRecord = "there was no room for its record on the disk"

// mostOfProfile bounds a profile in the name of a file.
const mostOfProfile = 100

// Mark keeps of a record that cannot be written what a name can say. It takes the place
// of an earlier mark of the run.
func (r Runs) Mark(record RunRecord) error {
	told := map[bool]string{true: "told", false: "untold"}[record.Told]
	name := strings.Join([]string{record.ID, strconv.Itoa(record.Process), told, string(record.Outcome), shortEscape(record.Profile)}, ".") + unrecordedSuffix
	earlier, err := r.marks()
	if err != nil {
		return err
	}
	if err := r.Pins.ReplaceFile(filepath.Join(r.Dir, name), 0o600, func(io.Writer) error { return nil }); err != nil {
		return fmt.Errorf("mark a run: %w", err)
	}
	for _, old := range earlier {
		if strings.HasPrefix(old, record.ID+".") && old != name {
			err = errors.Join(err, r.Pins.RemoveFile(filepath.Join(r.Dir, old)))
		}
	}
	return err
}

// shortEscape is a profile as a part of a name, as far as there is room for whole
// characters of it.
func shortEscape(profile string) (short string) {
	for _, r := range profile {
		next := short + url.PathEscape(string(r))
		if len(next) > mostOfProfile {
			break
		}
		short = next
	}
	return short
}

// marks are the names of all marks, the oldest first.
func (r Runs) marks() (names []string, err error) {
	entries, err := r.Pins.ReadDir(r.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), unrecordedSuffix) && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// readMark is what a name says of a run.
func readMark(name string) (record RunRecord, known bool) {
	parts := strings.SplitN(strings.TrimSuffix(name, unrecordedSuffix), ".", 5)
	if len(parts) != 5 {
		return record, false
	}
	id, err := ulid.ParseStrict(parts[0])
	process, processErr := strconv.Atoi(parts[1])
	profile, profileErr := url.PathUnescape(parts[4])
	record = RunRecord{
		Schema: 1, ID: parts[0], Process: process, Told: parts[2] == "told", Outcome: Outcome(parts[3]), Profile: profile,
		Started: ulid.Time(id.Time()).UTC(), ExitCode: -1, Reason: NoRoomForRecord, Steps: []StepRecord{},
	}
	return record, errors.Join(err, processErr, profileErr) == nil
}

// addUnrecorded adds to records, the newest first, the runs that left only a mark.
func (r Runs) addUnrecorded(records []RunRecord) ([]RunRecord, error) {
	names, err := r.marks()
	if err != nil || len(names) == 0 {
		return records, err
	}
	for _, name := range names {
		marked, known := readMark(name)
		same := slices.IndexFunc(records, func(of RunRecord) bool { return of.ID == marked.ID })
		switch {
		case known && same < 0:
			records = append(records, marked)
		case known && records[same].Reason == NoRoomForRecord && records[same].Outcome == Interrupted:
			records[same] = marked // it ended, and was killed before the earlier mark was gone
		}
	}
	slices.SortFunc(records, func(x, y RunRecord) int { return strings.Compare(y.ID, x.ID) })
	return records, nil
}

// dropMarks removes the marks of runs that have a record by now.
func (r Runs) dropMarks(ids []string) error {
	names, err := r.marks()
	for _, name := range names {
		id, _, _ := strings.Cut(name, ".")
		if slices.Contains(ids, id) {
			err = errors.Join(err, r.Pins.RemoveFile(filepath.Join(r.Dir, name)))
		}
	}
	return err
}
