package jsonl

// Options bound the memory of a reader. The zero value has the defaults.
type Options struct {
	// MaxLine is the longest line, in bytes without its ending, that is
	// delivered as it is. A longer line is shrunk: its structure is kept and
	// its long strings are cut. Default 4 MiB.
	MaxLine int
	// MaxString is how many bytes of its raw JSON text are kept of one string
	// of a shrunk line. It is halved, at least to 256 bytes, for a line that
	// would still be longer than MaxLine. Default 1 MiB.
	MaxString int
}

const (
	defaultMaxLine   = 4 << 20
	defaultMaxString = 1 << 20

	// minString is how short the strings of a line that will not fit are cut,
	// unless Options.MaxString is shorter: names, ids and roles survive.
	minString = 256
	// lineSlack is how many bytes a shrunk line may be longer than MaxLine
	// before it is given up.
	lineSlack = 64 << 10
)

// withDefaults returns o with its zero fields filled in.
func (o Options) withDefaults() Options {
	if o.MaxLine <= 0 {
		o.MaxLine = defaultMaxLine
	}
	if o.MaxString <= 0 {
		o.MaxString = defaultMaxString
	}
	return o
}
