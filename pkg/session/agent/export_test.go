package agent

import "errors"

// StopAfter lets every change end after a step, as if the program had died
// there; "" for not any more.
func StopAfter(s *Store, step string, also func()) {
	s.Step = func(name string) error {
		if name == step && step != "" {
			also()
			return errors.New("stopped")
		}
		return nil
	}
}
