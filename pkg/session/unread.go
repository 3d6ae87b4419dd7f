package session

import "fmt"

// Unread is something that was seen and not read: what it says is in no listing, no
// archive and no memory.
type Unread struct {
	Runtime string // whose it is; of a program that sessctl does not read, what people call it
	Path    string
	Bytes   int64 // on the disk, 0 if that is not known
	Cause   Cause
	Message string // what is known of this one, or ""
	Hint    string // what to do about this one; "" for the hint of its cause
}

// Cause is why something was not read.
type Cause string

// The causes. The first are broken: what is there should be read, and sessions are
// missing as long as it is not. The others are what sessctl passes over.
const (
	CauseRefused Cause = "refused"          // the system let nobody read it, or it is in use
	CauseDamaged Cause = "damaged"          // a database that cannot be opened, or has a damaged page
	CauseNoLog   Cause = "log-missing"      // a database whose write-ahead log is not beside it
	CauseNoMain  Cause = "database-missing" // a write-ahead log without its database
	CauseTables  Cause = "no-tables"        // a database without the tables of sessions
	CauseSchema  Cause = "unknown-schema"   // a schema whose rows may mean something else
	CauseGone    Cause = "logs-gone"        // an index names logs that are not there
	CauseLink    Cause = "broken-link"      // a link in the place of a directory of logs leads nowhere

	CauseUntold  Cause = "log-untold"    // an entry of an index without a log, of which nothing says whether there was one
	CauseMissing Cause = "named-missing" // settings name a directory of logs that is not there
	CauseNewer   Cause = "newer-schema"
	CauseOlder   Cause = "older-schema"
	CauseTable   Cause = "other-table"      // a table with text that no reader knows
	CauseName    Cause = "other-name"       // a file beside sessions with a name that is not known
	CauseAlone   Cause = "without-database" // transcripts are read, and their database is not there
	CausePlace   Cause = "other-place"      // a log where its runtime puts none
	CauseLinkOut Cause = "link"             // a link that leads out of a store
	CauseLayout  Cause = "older-layout"     // what an earlier version has left
	CauseStore   Cause = "other-store"      // another store of a runtime
	CauseProgram Cause = "other-program"
)

// causes are all causes, in the order in which they are told.
var causes = []struct {
	cause  Cause
	broken bool
	one    string // what one of them is
	many   string // what several are, after their number
	hint   string
}{
	{CauseRefused, true, "it could not be read", "places could not be read", "run sessctl as the user who owns them"},
	{CauseDamaged, true, "the database is damaged", "databases are damaged", "stop the program, keep a copy of the file, and put back a whole one: from a backup, or what sqlite3 FILE .recover makes of it"},
	{CauseNoLog, true, "the database lacks its write-ahead log", "databases lack their write-ahead log", "copy the file of the same name with -wal at its end beside it, from where the database came from"},
	{CauseNoMain, true, "a write-ahead log whose database is gone", "write-ahead logs without their database", "put back the database that it belongs to, from where both came from"},
	{CauseTables, true, "the database has no tables of sessions", "databases have no tables of sessions", "put back the database that the program wrote; a newer program may need a newer sessctl"},
	{CauseSchema, true, "its schema is not known", "databases have a schema that is not known", "look for a newer sessctl; one that is too old its program brings up to date when it starts: keep a copy of the file first"},
	{CauseGone, true, "the index names logs that are gone", "indexes name logs that are gone", "sessctl archives list says which of them have an archive; restore puts one back"},
	{CauseLink, true, "it is a link that leads nowhere", "links lead nowhere", "mount or make what it leads to"},
	{CauseUntold, false, "no log, and the index does not say whether there was one", "indexes do not say whether sessions without a log had one", "sessctl archives list says which of them have an archive; restore puts one back"},
	{CauseMissing, false, "its runtime is told to keep sessions there, and it is not there", "directories that runtimes are told to keep sessions in are not there", "mount or make it, or mend the settings that name it"},
	{CauseNewer, false, "the schema is newer than those that are known", "databases have a newer schema than those that are known", "look for a newer sessctl"},
	{CauseOlder, false, "the schema is older than those that were tried", "databases have an older schema than those that were tried", "sessctl archive --all; then copy the file, and start the program once, which brings its database up to date: that may remove tables"},
	{CauseTable, false, "it has tables with text that is not read", "tables have text that is not read", "sessctl archive --all keeps a copy of the file, once for each change: its program may remove such tables when it is updated"},
	{CauseName, false, "its name, or how it begins, is none of those that are read", "files have names, or beginnings, that are not read", "keep the files: sessctl archives none of them"},
	{CauseAlone, false, "there is no such database, and the transcripts beside its place are read", "databases are not there, and the transcripts beside their places are read", "put back the database if there was one: it may hold more than the transcripts"},
	{CausePlace, false, "it lies where its runtime puts no log", "logs lie where their runtime puts none", "keep them: sessctl archives none of them there; it does where the runtime keeps its logs"},
	{CauseLinkOut, false, "it is a link out of the store, and sessions are not read through links", "links lead out of the store, and sessions are not read through links", "put the directory in the place of the link: what it leads to is in no archive"},
	{CauseLayout, false, "an earlier version wrote it, and sessctl reads only the newer layout", "files of an earlier version are not read", "keep a copy: they are in no archive; then start the program once, which may take them over"},
	{CauseStore, false, "sessctl does not read this store", "files of stores that sessctl does not read", "keep them: sessctl archives none of them"},
	{CauseProgram, false, "sessctl does not read the sessions of this program", "sessions of programs that sessctl does not read", "keep them: sessctl archives none of them"},
}

// index is where a cause stands among all; that of one that is not known is the
// first.
func (c Cause) index() int {
	for i, x := range causes {
		if x.cause == c {
			return i
		}
	}
	return 0
}

// Compare orders causes as they are told: what is broken first.
func (c Cause) Compare(other Cause) int { return c.index() - other.index() }

// Broken reports whether sessions are missing that sessctl should read. What is not
// broken is passed over every time, and makes no run incomplete.
func (c Cause) Broken() bool { return causes[c.index()].broken }

// Text says what so many of the cause are.
func (c Cause) Text(n int) string {
	if n == 1 {
		return causes[c.index()].one
	}
	return fmt.Sprintf("%d %s", n, causes[c.index()].many)
}

// Hint says what can be done about it.
func (c Cause) Hint() string { return causes[c.index()].hint }

// UnreadIn returns what notices of a listing say was seen and not read.
func UnreadIn(runtime string, notices []Notice) (all []Unread) {
	for _, n := range notices {
		if n.Cause == "" && n.Unread {
			n.Cause = CauseRefused
		}
		if n.Cause != "" {
			all = append(all, Unread{Runtime: runtime, Path: n.Path, Bytes: n.Bytes, Cause: n.Cause, Message: n.Message, Hint: n.Hint})
		}
	}
	return all
}
