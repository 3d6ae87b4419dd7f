package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory/database"
)

// What was forgotten is recorded twice: in a row of the database, and in a file
// beside the memory's directory. When the database is lost and rebuilt from the
// archives, the file keeps what was forgotten out of it. A list beside that
// directory has the name of every such file, its hash, and how many records it
// means, so that one that is lost or changed is noticed; while the database has
// its rows it is written again.

// tombstone is what is kept of a forgotten record: its id and where it stood.
type tombstone struct {
	ID        string `json:"id"`
	Archive   string `json:"archive,omitempty"`
	FirstByte int64  `json:"first_byte,omitempty"` // both 0 for a record that is no piece of a log
	EndByte   int64  `json:"end_byte,omitempty"`
}

// forgottenFile is what one call of Forget leaves in the directory of what was
// forgotten.
type forgottenFile struct {
	Schema  int         `json:"schema"` // 1
	At      int64       `json:"at"`     // epoch milliseconds
	Records []tombstone `json:"records"`
}

// forgottenList is the list of those files.
type forgottenList struct {
	Schema int               `json:"schema"` // 1
	Files  []listedForgotten `json:"files"`  // by name
}

type listedForgotten struct {
	Name    string `json:"name"`
	Records int    `json:"records"` // -1 if nobody could read them any more
	SHA256  string `json:"sha256"`  // "" if nobody knows it any more
	// Lost says that the database does not have its tombstones either: only the
	// file itself can bring them back.
	Lost bool `json:"lost,omitempty"`
}

// maxForgotten bounds, in bytes, what is read of one such file: five million
// records.
const maxForgotten = 1 << 30

// ForgottenDir is where a memory in dir records what was forgotten: beside it,
// so that the records outlive it.
func ForgottenDir(dir string) string { return filepath.Clean(dir) + "-forgotten" }

// forgottenListPath is where the list of those files lies.
func forgottenListPath(dir string) string { return ForgottenDir(dir) + ".json" }

func findTombstones(ctx context.Context, tx *sql.Tx, condition string, args []any) ([]tombstone, error) {
	return database.All(ctx, database.For(tx, "list what to forget"), func(g *tombstone) []any { return []any{&g.ID, &g.Archive, &g.FirstByte, &g.EndByte} },
		"SELECT id, archive, iif(position<0, 0, first_byte), iif(position<0, 0, end_byte) FROM records WHERE "+condition+" ORDER BY rowid", args...)
}

// noteForgotten writes a file of a memory in dir, and then the list.
func (b forgottenFiles) noteForgotten(f forgottenFile) error {
	listed, err := b.writeForgotten(f)
	if err != nil {
		return err
	}
	list, err := b.readForgottenList()
	if err != nil {
		return nil // it is damaged: the next run tells, and writes it anew
	}
	return b.list(list, listed)
}

// forgottenFiles are the files beside a memory in dir of what was forgotten.
type forgottenFiles struct {
	dir  string
	pins *durable.Pins
}

func (s *connection) forgottenFiles() forgottenFiles { return forgottenFiles{s.dir, s.pins} }

// writeForgotten writes a file of a memory. Its name begins with the time
// and ends with its hash.
func (b forgottenFiles) writeForgotten(f forgottenFile) (listed listedForgotten, err error) {
	if err := b.pins.MakeDir(ForgottenDir(b.dir), 0o700); err != nil {
		return listed, fmt.Errorf("note what is forgotten: %w", err)
	}
	text, err := json.Marshal(f)
	if err != nil {
		return listed, fmt.Errorf("note what is forgotten: %w", err)
	}
	name := fmt.Sprintf("%013d-%s.json", f.At, hashOf(text)[:8])
	text = append(text, '\n')
	if err := writeWhole(b.pins, filepath.Join(ForgottenDir(b.dir), name), text); err != nil {
		return listed, fmt.Errorf("note what is forgotten: %w", err)
	}
	return listedForgotten{Name: name, Records: len(f.Records), SHA256: hashOf(text)}, nil
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// list adds a file to a list and writes that.
func (b forgottenFiles) list(l forgottenList, f listedForgotten) error {
	l.Files = append(slices.DeleteFunc(l.Files, func(x listedForgotten) bool { return x.Name == f.Name }), f)
	return b.writeList(l)
}

func (b forgottenFiles) writeList(l forgottenList) error {
	l.Schema = 1
	slices.SortFunc(l.Files, func(x, y listedForgotten) int { return cmp.Compare(x.Name, y.Name) })
	text, err := json.Marshal(l)
	if err == nil {
		err = writeWhole(b.pins, forgottenListPath(b.dir), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("list what is forgotten: %w", err)
	}
	return nil
}

// readForgottenList returns the list, an empty one if there is none.
func (b forgottenFiles) readForgottenList() (l forgottenList, err error) {
	text, err := readWhole(b.pins, forgottenListPath(b.dir), maxForgotten)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err == nil && l.Schema != 1 {
		err = fmt.Errorf("it has schema %d, this version knows 1", l.Schema)
	}
	return l, err
}

// addTombstones adds those of a file to the database.
func addTombstones(ctx context.Context, tx *sql.Tx, f forgottenFile) error {
	insert, err := tx.PrepareContext(ctx, "INSERT OR IGNORE INTO tombstones (id, at, archive, first_byte, end_byte) VALUES (?,?,?,?,?)")
	if err != nil {
		return fmt.Errorf("store tombstones: %w", err)
	}
	defer insert.Close()
	for _, g := range f.Records {
		if _, err := insert.ExecContext(ctx, g.ID, f.At, g.Archive, g.FirstByte, g.EndByte); err != nil {
			return fmt.Errorf("store tombstones: %w", err)
		}
	}
	return nil
}

// rememberForgotten makes tombstones of everything that the files say, and removes
// what they mean. It returns how many records it removed. What cannot be read
// is told by RepairForgotten. A damaged file counts only for a memory that was
// made a moment ago: any other has its tombstones already.
func (s forgetting) rememberForgotten(ctx context.Context, tx *sql.Tx) (int, error) {
	known := s.forgottenFiles().readForgotten()
	if len(known.files) == 0 {
		return 0, nil
	}
	for _, f := range known.files {
		if f.damaged && !s.created {
			continue
		}
		if err := addTombstones(ctx, tx, f.content); err != nil {
			return 0, err
		}
	}
	actions, err := removeForgotten(ctx, tx)
	if err != nil {
		return 0, err
	}
	n, err := remove(ctx, tx, "id IN (SELECT id FROM tombstones)", nil)
	return n + actions, err
}

// forgotten is what the files beside a memory say.
type forgotten struct {
	list  forgottenList
	files []readForgottenFile
	lost  []LostForgotten
}

// readForgottenFile is a file that could be read. One that is damaged may still
// name most of the records that it meant.
type readForgottenFile struct {
	name    string
	sha256  string
	content forgottenFile
	damaged bool
}

// LostForgotten is a file of what was forgotten that is missing or damaged.
// What it meant comes back when the memory is made again from the archives,
// unless the database still has its rows.
type LostForgotten struct {
	Path    string
	Records int // that it meant; -1 if nobody knows
	Reason  string

	listed  listedForgotten
	damaged bool // it is there, and is not what was written
	unread  bool // whether it is there, or what it is, nobody can tell
}

// ForgottenRecords is how many records the list beside a memory in dir says were
// forgotten, and whether it can be told.
func ForgottenRecords(dir string) (n int, known bool) {
	list, err := forgottenFiles{dir: dir}.readForgottenList()
	for _, f := range list.Files {
		if f.Records < 0 {
			return 0, false
		}
		n += f.Records
	}
	return n, err == nil
}

// isList says whether it is the list that is damaged.
func (l LostForgotten) isList() bool { return l.listed.Name == "" }

// Message says what is wrong.
func (l LostForgotten) Message() string {
	if l.Records < 0 {
		return "what was forgotten is recorded here: " + l.Reason
	}
	return fmt.Sprintf("that %d records were forgotten is recorded here: %s", l.Records, l.Reason)
}

// readForgotten reads the files of what was forgotten.
func (b forgottenFiles) readForgotten() (k forgotten) {
	list, err := b.readForgottenList()
	if err != nil {
		k.lost = append(k.lost, LostForgotten{Path: forgottenListPath(b.dir), Records: -1, Reason: "the list is damaged (" + err.Error() + ")"})
	}
	k.list = list
	entries, err := b.pins.ReadDir(ForgottenDir(b.dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		k.lost = append(k.lost, LostForgotten{Path: ForgottenDir(b.dir), Records: -1, Reason: err.Error(), unread: true, listed: listedForgotten{Name: "."}})
		return k
	}
	seen := map[string]bool{}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") && !strings.HasPrefix(e.Name(), ".") {
			seen[e.Name()] = true
			k.read(b, e.Name())
		}
	}
	for _, l := range k.list.Files {
		if !seen[l.Name] {
			k.lost = append(k.lost, LostForgotten{Path: filepath.Join(ForgottenDir(b.dir), l.Name), Records: l.Records, Reason: "it is missing", listed: l})
		}
	}
	return k
}

// entry is what the list says of a file, or what can be said without it.
func (k *forgotten) entry(name string) listedForgotten {
	for _, l := range k.list.Files {
		if l.Name == name {
			return l
		}
	}
	return listedForgotten{Name: name, Records: -1}
}

// read reads one file. It is what was written if it has the hash that is
// listed, and the one that its name ends with.
func (k *forgotten) read(b forgottenFiles, name string) {
	listed := k.entry(name)
	lost := LostForgotten{Path: filepath.Join(ForgottenDir(b.dir), name), Records: listed.Records, listed: listed}
	text, err := readWhole(b.pins, lost.Path, maxForgotten)
	if err != nil {
		lost.Reason, lost.unread = "it cannot be read ("+err.Error()+")", true
		k.lost = append(k.lost, lost)
		return
	}
	f := readForgottenFile{name: name, sha256: hashOf(text)}
	err = json.Unmarshal(text, &f.content)
	if err == nil && f.content.Schema != 1 {
		err = fmt.Errorf("it has schema %d, this version knows 1", f.content.Schema)
	}
	named := strings.HasSuffix(name, "-"+hashOf([]byte(strings.TrimSuffix(string(text), "\n")))[:8]+".json")
	f.damaged = err != nil || !named || listed.SHA256 != "" && listed.SHA256 != f.sha256
	if f.damaged {
		lost.Reason, lost.damaged = "it is damaged", true
		k.lost = append(k.lost, lost)
	}
	if err == nil {
		k.files = append(k.files, f)
	}
}

// ids are those of all records that files mean, and whether one of these is
// sound.
func (k *forgotten) ids() map[string]bool {
	ids := map[string]bool{}
	for _, f := range k.files {
		for _, g := range f.content.Records {
			ids[g.ID] = ids[g.ID] || !f.damaged
		}
	}
	return ids
}

// LostForgottenFiles lists the files beside a memory in dir, of what was
// forgotten, that are missing or damaged.
func LostForgottenFiles(dir string) []LostForgotten {
	return forgottenFiles{dir: dir}.readForgotten().lost
}

// verifyTombstones checks the files beside the memory, and that every tombstone
// of the database is in one of them.
func (s forgetting) verifyTombstones(ctx context.Context, c *sql.Conn) (problems []Problem, err error) {
	rows, err := readTombstones(ctx, c)
	if err != nil {
		return nil, err
	}
	k := s.forgottenFiles().readForgotten() // after the rows: what they say was written before them
	for _, l := range k.lost {
		problems = append(problems, Problem{l.Path, l.Message()})
	}
	if len(problems) > 0 {
		return problems, nil
	}
	ids, strange := k.ids(), 0
	for _, f := range rows {
		for _, g := range f.Records {
			if !ids[g.ID] {
				strange++
			}
		}
	}
	switch {
	case strange > 0:
		problems = append(problems, Problem{ForgottenDir(s.dir), fmt.Sprintf("no file records that %d records were forgotten", strange)})
	case len(rows) > 0 && len(k.list.Files) == 0:
		problems = append(problems, Problem{forgottenListPath(s.dir), "the list of what was forgotten is missing"})
	}
	return problems, nil
}

// RecordsForgotten says whether what was forgotten is recorded beside the memory
// as it should be.
func (s forgetting) RecordsForgotten(ctx context.Context) bool {
	problems := 1
	err := s.atOneMoment(ctx, func(c *sql.Conn) error {
		found, err := s.verifyTombstones(ctx, c)
		problems = len(found)
		return err
	})
	return err == nil && problems == 0
}

// readTombstones reads those of the database, as the files that they came from.
func readTombstones(ctx context.Context, q database.Querier) (files []forgottenFile, err error) {
	err = database.Each(ctx, database.For(q, "list tombstones"), func(scan database.Scan) error {
		var at int64
		var g tombstone
		if err := scan(&at, &g.ID, &g.Archive, &g.FirstByte, &g.EndByte); err != nil {
			return err
		}
		if n := len(files); n == 0 || files[n-1].At != at {
			files = append(files, forgottenFile{Schema: 1, At: at})
		}
		last := &files[len(files)-1]
		last.Records = append(last.Records, g)
		return nil
	}, "SELECT at, id, archive, first_byte, end_byte FROM tombstones ORDER BY at, id")
	return files, err
}

// RepairForgotten looks after the files of what was forgotten: what one of them
// says and the database does not is forgotten; one that is missing or damaged
// is written again as long as the database has its tombstones, which returns
// how many records were restored. A damaged file stays beside it as .damaged.
// lost are those that could not be written again: what they meant may come back
// when the memory is made again. The caller holds the lock of the data
// directory.
func (s forgetting) RepairForgotten(ctx context.Context) (restored int, lost []LostForgotten, err error) {
	known := s.forgottenFiles().readForgotten()
	if err := s.applyForgotten(ctx, &known); err != nil {
		return 0, nil, err
	}
	rows, err := readTombstones(ctx, s.db)
	if err != nil {
		return 0, nil, err
	}
	missing := withoutFile(rows, known.ids())
	found, lost := s.sortLost(known, rows)
	for _, f := range missing {
		if !s.created { // else they are what the files say, the damaged ones too
			restored += len(f.Records)
		}
		if _, err := s.forgottenFiles().writeForgotten(f); err != nil {
			return 0, nil, err
		}
	}
	if slices.ContainsFunc(lost, LostForgotten.isList) || len(missing)+len(found)+len(lost) == 0 && known.allListed() {
		return restored, lost, nil
	}
	return restored, lost, s.forgottenFiles().relist(found, lost)
}

// applyForgotten forgets what the files say and the database does not know.
func (s forgetting) applyForgotten(ctx context.Context, k *forgotten) error {
	have := map[string]bool{}
	rows, err := readTombstones(ctx, s.db)
	if err != nil {
		return err
	}
	for _, f := range rows {
		for _, g := range f.Records {
			have[g.ID] = true
		}
	}
	for id, sound := range k.ids() {
		if sound && !have[id] {
			return s.deleteSecurely(ctx, func(tx *sql.Tx) (bool, error) {
				n, err := s.rememberForgotten(ctx, tx)
				return n > 0, err
			})
		}
	}
	return nil
}

// withoutFile are the tombstones that no sound file has.
func withoutFile(rows []forgottenFile, ids map[string]bool) (missing []forgottenFile) {
	for _, f := range rows {
		f.Records = slices.DeleteFunc(slices.Clone(f.Records), func(g tombstone) bool { return ids[g.ID] })
		if len(f.Records) > 0 {
			missing = append(missing, f)
		}
	}
	return missing
}

// sortLost sorts files into those whose tombstones the database has, and those
// that are lost for good: a memory that was made a moment ago has only what the
// other files say. The database has the tombstones of a file if it has as many
// of its time, or if it has enough that are in no other listed file. What a run
// that was cut off has written again is not listed yet.
func (s forgetting) sortLost(known forgotten, rows []forgottenFile) (found, lost []LostForgotten) {
	wanted, spare, listed := 0, 0, known.listedIDs()
	ofTime := map[string]int{}
	for _, f := range rows {
		ofTime[fmt.Sprintf("%013d", f.At)] = len(f.Records)
	}
	for _, f := range withoutFile(rows, listed) {
		spare += len(f.Records)
	}
	for _, l := range known.lost {
		wanted += max(l.Records, 0)
	}
	for _, l := range known.lost {
		time, _, _ := strings.Cut(l.listed.Name, "-")
		there := l.Records > 0 && ofTime[time] >= l.Records || wanted <= spare
		if s.created || l.unread || l.listed.Lost || !there {
			l.listed.Lost = l.listed.Lost || s.created
			lost = append(lost, l)
			continue
		}
		found = append(found, l)
	}
	return found, lost
}

// listedIDs are the ids of all records that sound files mean which are listed.
func (k *forgotten) listedIDs() map[string]bool {
	ids := map[string]bool{}
	for _, f := range k.files {
		if f.damaged || k.entry(f.name).SHA256 == "" {
			continue
		}
		for _, g := range f.content.Records {
			ids[g.ID] = true
		}
	}
	return ids
}

// allListed says whether all sound files are listed, and as not lost.
func (k *forgotten) allListed() bool {
	return !slices.ContainsFunc(k.files, func(f readForgottenFile) bool {
		listed := k.entry(f.name)
		return !f.damaged && (listed.SHA256 == "" || listed.Lost)
	})
}

// relist puts damaged files aside that are written again, and writes the list
// anew: of all sound files, and of those that are lost.
func (b forgottenFiles) relist(found, lost []LostForgotten) error {
	for _, l := range found {
		if !l.damaged {
			continue
		}
		if err := b.pins.MoveFile(l.Path, l.Path+".damaged"); err != nil {
			return fmt.Errorf("put a damaged record of what was forgotten aside: %w", err)
		}
	}
	var list forgottenList
	for _, f := range b.readForgotten().files {
		if !f.damaged {
			list.Files = append(list.Files, listedForgotten{Name: f.name, Records: len(f.content.Records), SHA256: f.sha256})
		}
	}
	for _, l := range lost {
		if !l.isList() && l.listed.Name != "." {
			list.Files = append(list.Files, l.listed)
		}
	}
	return b.writeList(list)
}

// GiveUpForgotten drops lost files from the list, so that nobody waits for them
// any more: what they meant may come back. Damaged ones stay beside the others
// as .damaged. The caller holds the lock of the data directory; pins, which may be
// nil, are those of his run.
func GiveUpForgotten(pins *durable.Pins, dir string) error {
	b := forgottenFiles{dir, pins}
	known := b.readForgotten()
	if len(known.lost) == 0 {
		return nil
	}
	return b.relist(known.lost, nil)
}
