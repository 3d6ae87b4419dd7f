package selection

// ArchiveRow is one archive of `archive` and `archives list`.
type ArchiveRow struct {
	ID          string `json:"id"`
	Runtime     string `json:"runtime"`
	Agent       string `json:"agent"`
	Session     string `json:"session"`
	Key         string `json:"key"`
	Title       string `json:"title"`        // what the session was called when it was archived, or ""
	Project     string `json:"project"`      // the directory that its agent worked in, or ""
	ProjectName string `json:"project_name"` // what people call the agent, see ProjectNames
	LastUsed    string `json:"last_used"`    // RFC 3339, UTC; "" if it is not known
	Path        string `json:"path"`
	SHA256      string `json:"sha256"`
	Bytes       int64  `json:"bytes"`
	StoredBytes int64  `json:"stored_bytes"`
	Compression string `json:"compression"`
	CreatedAt   string `json:"created_at"`
	Remote      string `json:"remote"`            // address of the copy on object storage, "" without one
	OffSite     string `json:"off_site"`          // "copy", "only" if the file is not here, or ""
	CheckedAt   string `json:"remote_checked_at"` // when the checksum of that copy was read back last, RFC 3339, "" without one
	RetainUntil string `json:"retain_until"`      // until when the storage keeps that copy, RFC 3339, "" for not at all
	Outcome     string `json:"outcome"`           // archived, planned, busy, failed; "" in lists
	Reason      string `json:"reason"`
	Unchanged   bool   `json:"unchanged,omitempty"`  // it was archived before, and with --remember remembered
	Remembered  bool   `json:"remembered,omitempty"` // memory has it
	Chunks      int    `json:"chunks,omitempty"`     // the same: pieces
	Receipt     string `json:"receipt,omitempty"`    // the same: of this run

	// Others are further databases that the same rows were archived from.
	Others []string `json:"other_sources,omitempty"`
	// SupersededBy is the id of the later archive in which this one is read.
	SupersededBy string `json:"superseded_by,omitempty"`
}
