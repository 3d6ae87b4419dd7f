package durable

import "os"

// System says which of the mechanisms that not every system and file system
// has are not to be used, even where they are there. The zero value uses all
// of them. What goes without one is weaker (docs/reliability.md, "Where the
// system gives less"), and with a System it can be tried on any machine.
type System struct {
	NoLeases   bool // as on macOS, on NFS, and for files of another user
	NoExchange bool // no exchange of two names in one step
	NoReplace  bool // no rename that never replaces: by link and unlink instead
}

// WriteLease is [WriteLease], and [ErrUnsupported] without leases.
func (s System) WriteLease(f *os.File) (*Lease, error) {
	if s.NoLeases {
		return nil, ErrUnsupported
	}
	return WriteLease(f)
}

// ExchangeFilesIn swaps the names of two files below root, which is held open, in
// one step: at no time is either name missing. [ErrUnsupported] is returned where
// the system or the file system cannot, and without exchanges; nothing has changed
// then.
func (s System) ExchangeFilesIn(root *os.Root, a, b string) error {
	if s.NoExchange {
		return ErrUnsupported
	}
	return exchangeFilesIn(root, a, b)
}

// MoveFileIn is [MoveFileIn], in two steps without renames that never replace.
func (s System) MoveFileIn(root *os.Root, from, to string) error {
	if s.NoReplace {
		return moveIn(renameByLink, root, from, to)
	}
	return MoveFileIn(root, from, to)
}
