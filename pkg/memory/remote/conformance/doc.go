// Package conformance holds an engine of package remote to what a shared memory
// is: the same records and questions give the same first hits as the memory of
// a host, or nearly the same where the engine scores words itself, filters and
// forgetting are the same, and a push can be repeated.
package conformance
