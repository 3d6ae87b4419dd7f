package durable

// ReadEnd reads the last len(p) bytes of the first size bytes of the file at
// path, all of them if there are fewer, and returns how many it read: fewer
// than that if the file is shorter now. It never follows a symbolic link at
// path and never waits. The caller has just looked at path and knows that it
// is a regular file; what the file is now he cannot tell from the bytes alone.
func ReadEnd(path string, size int64, p []byte) (int, error) {
	from := max(size-int64(len(p)), 0)
	return readAt(path, p[:size-from], from)
}
