// Package durable is the only place where files that are kept come into being,
// change their name or go away.
//
// A file is replaced in one way: its new content is written to a hidden
// temporary file in the same directory, the file is synced, renamed over the
// old one, and the directory is synced. A reader sees the old content or the
// new, never a part; and once the call has returned without an error, a power
// cut does not undo it. Both directory syncs and file syncs matter: without
// the first a file comes back under its temporary name, without the second it
// comes back empty (docs/dev/decisions.md D13).
//
// A failed sync is final. The kernel may have dropped the dirty pages and
// report success the next time, so nothing here syncs the same file twice:
// the temporary file is removed and the caller starts over.
//
// Files are made with exactly the mode asked for, whatever the umask. A
// symbolic link at a path is never followed by a change: it is the link that
// is replaced, moved or removed.
//
// Three things tell whether a file may be touched: [Lock] keeps a second
// sessctl out, [WriteLease] asks the kernel whether any process has the file
// open, and [Identify] tells whether it is still the file that was read.
//
// What differs between systems:
//
//	          directory sync   write lease   exchange      identity
//	Linux     yes              yes           yes           full
//	macOS     yes              no            yes (APFS)    full
//	Windows   no               no            no            none
//
// Where a mechanism is missing the function returns [ErrUnsupported], and the
// caller falls back to what is weaker: the agent's own lock, a quiet period
// and a grace period. On Windows a rename that has returned may be undone by a
// power cut; the content of a file under its final name is always complete.
package durable
