package durable_test

func children() map[string]func() error {
	return map[string]func() error{"lock": lockForever}
}
