package weaviate

// ObjectOf is the id of the object of a record.
func ObjectOf(host, id string) string { return objectID("record", host, id) }
