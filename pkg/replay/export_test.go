package replay

// Validate is validate.
func Validate(f Format, text []byte) error { return validate(f, text) }
