package copilot

import "errors"

// Trim writes what stays of a log.
var Trim = trim

// StopAfter lets every change end after a step, as if the program had died
// there; "" for not any more.
func StopAfter(s *Store, step string) {
	s.changes.Step = func(name string) error {
		if name == step && step != "" {
			return errors.New("stopped")
		}
		return nil
	}
}
