package sqlitefile

import "os"

// Stamp is what can be seen of a database and the files beside it.
type Stamp = stamp

// Look takes a stamp.
func Look(f File) (Stamp, error) {
	root, err := os.OpenRoot(f.Base)
	if err != nil {
		return Stamp{}, err
	}
	defer root.Close()
	return f.look(root)
}

// CopiedBetween reports whether a copy made between two stamps is of one moment.
func CopiedBetween(before, after Stamp) bool { return copiedBetween(before, after) }

// WhenCopied has f called after each file that is copied, with what its name
// has after the database's.
func (f File) WhenCopied(do func(end string)) File {
	f.copied = do
	return f
}
