package archive

// Limits that tests go around.
const (
	BufferSize = bufferSize
	MaxName    = maxName
)

// SafeName is the part of a file name that an id becomes.
func SafeName(id string) string { return safeName(id) }

// SetStep has step called after each step of Put and Sweep.
func (s *Store) SetStep(step func(name string)) { s.step = step }
