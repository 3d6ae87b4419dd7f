package jsonl

// Options bound the memory of a reader. The zero value has the defaults.
type Options struct {
	// MaxLine is the longest line, in bytes, that is kept as it is. A longer
	// one is shrunk: its structure stays, its strings longer than MaxString
	// are cut. Default 4 MiB.
	MaxLine int
	// MaxString is how many bytes of raw JSON text are kept of one string of
	// a shrunk line. Default 1 MiB.
	MaxString int
}
