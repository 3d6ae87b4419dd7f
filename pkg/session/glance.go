package session

import (
	"io"
	"os"
	"time"
)

// Head is what a listing needs of the first records of a log.
type Head struct {
	ID        string    // as the header gives it
	Version   int       // of the format
	Time      time.Time // when the session began, zero if that is not known
	Found     bool      // whether there is a header at all
	Continued bool      // whether the runtime takes the file for a session that it continues
}

// Glance is what one look at a log told: enough to list it, and the size of
// its context.
type Glance struct {
	Head Head // of runtimes whose listing reads it
	Tail Tail
}

// Glances remembers what was seen of logs that have not changed since. A store
// that is given one opens every log once, where listing it and reading its end
// would open it twice.
type Glances interface {
	// Glance returns what is known of the log at path. info is what os.Lstat
	// says of it now. It returns false if nothing is known, or if the log may
	// have changed in any way.
	Glance(path string, info os.FileInfo) (Glance, bool)
	// Keep takes in what was seen of the log at path while it was what info
	// says. log is the open log; it is not used after Keep returns.
	Keep(path string, info os.FileInfo, log io.ReaderAt, seen Glance)
}
