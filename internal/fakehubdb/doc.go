// Package fakehubdb writes the databases of Cline's hub, for tests: with the tables
// that Cline 3.0.65 makes, a session that is there, and what two that were deleted
// have left.
package fakehubdb
