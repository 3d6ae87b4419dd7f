//go:build linux && amd64

package faults

// Command is one row of the table: something sessctl does to files.
type Command struct {
	Name    string   // in the table
	Runtime string   // of the session
	Args    []string // of sessctl
	Env     []string // further variables; $DIR is the home
	// Prepare brings the home into the state in which the command starts.
	// The files of the runtime are there already.
	Prepare func(*Home) error
	// Done checks what exit 0 has promised. Nothing ran since.
	Done func(*Home) error
	// Switches says that the command takes the live log away.
	Switches bool
	// Chunks is how many chunks memory has of the session in the end.
	Chunks int
}

// Commands lists every command that changes files.
func Commands() []Command {
	return []Command{
		{
			Name: "compact, openclaw", Runtime: "openclaw", Args: []string{"compact", "--agent", "a", "--force"},
			Done: rotated, Switches: true, Chunks: Chunks,
		},
		{
			Name: "compact, pi", Runtime: "pi", Args: []string{"compact", "--runtime", "pi", "--agent", "work-a", "--force"},
			Done: rotated, Switches: true, Chunks: Chunks,
		},
		{
			Name: "archive, openclaw", Runtime: "openclaw", Args: []string{"archive", "--agent", "a"},
			Done: archived,
		},
		{
			Name: "archive, pi, zstd", Runtime: "pi", Args: []string{"archive", "--runtime", "pi", "--agent", "work-a"},
			Env: []string{"SESSCTL_ARCHIVE_COMPRESSION=zstd"}, Done: archived,
		},
	}
}
