package adapters_test

import "errors"

// stopAfter ends a change after a step, as if the program had died there; "" ends
// none.
func stopAfter(step string) func(name string) error {
	return func(name string) error {
		if name == step && step != "" {
			return errors.New("stopped")
		}
		return nil
	}
}
