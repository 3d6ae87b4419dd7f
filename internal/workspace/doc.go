// Package workspace is what a run works with. Run is made of values: the
// settings (environment, flags, configuration), the report that collects notes,
// the stores that were opened and the directories that are held, and the lock.
// Open takes the lock, opens memory, archive and embedder, and recovers what
// earlier runs left unfinished; it is the one place where compact, archive and
// memory are tied together, and where a record gets its identity.
//
// Nothing here prints. A report is shown by functions that a front end gives it.
package workspace
