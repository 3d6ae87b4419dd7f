package audit

// GivenUp is what `doctor --give-up` did (docs/json.md).
type GivenUp struct {
	ID       string         `json:"id"`
	Entry    string         `json:"entry"`
	Change   string         `json:"change"`
	Finished bool           `json:"finished"`
	Archives []AsideArchive `json:"archives"`
	Nothing  bool           `json:"nothing"` // it could be finished after all
}

// AsideArchive is an archive of a log that the change had put aside.
type AsideArchive struct {
	ID     string `json:"id"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"size_bytes"` // of the session, not of the compressed file
}
