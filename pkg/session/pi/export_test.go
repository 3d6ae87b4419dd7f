package pi

// SetStep has step called after each step of Rotate.
func (s *Store) SetStep(step func(name string) error) { s.Step = step }
