package macstats

import "errors"

// StopAfter lets every change end after a step, as if the program had died
// there; "" for not any more.
func StopAfter(s *Store, step string) {
	s.Step = func(name string) error {
		if name == step && step != "" {
			return errors.New("stopped")
		}
		return nil
	}
}

// ParseName is parseName.
func ParseName(name string) (string, bool) { return parseName(name) }
