package monitor

import "time"

// Look is what one look at a machine has found. What could not be looked at is
// left out, and so keeps the state that it had.
type Look struct {
	Time     time.Time
	Sessions []Session // those that a compaction of everything means
	Agents   []AgentSize
	Purges   []Purge // of agents that lose a session soon, and of those that do not
	Disks    []Disk
	Archives []DamagedArchive
	Unread   []Unreadable
	Stores   []Store
	Memory   *Memory // nil if it was not looked at
	Profiles []Profile

	// ArchivesSeen, UnreadSeen: what is not among them is sound.
	ArchivesSeen, UnreadSeen bool
}

// Session is a session and whether it is due for a compaction. It is the data of
// a session.needs_compaction event.
type Session struct {
	Runtime       string `json:"runtime"`
	Agent         string `json:"agent"`
	Session       string `json:"session"`
	Key           string `json:"key"`
	Store         string `json:"store"` // absolute path of its root
	Tokens        int64  `json:"tokens"`
	TokenSource   string `json:"token_source"` // usage, estimate or index
	Threshold     int64  `json:"threshold"`    // tokens
	ContextWindow int    `json:"context_window"`
	Bytes         int64  `json:"bytes"`
	Strategy      string `json:"strategy"` // how sessctl makes it small; "none": only its runtime can

	Over bool `json:"-"` // due, by the threshold or by the runtime's own rule
	// DueBy is what made it due: tokens, share or runtime (compact.DueBy).
	DueBy string `json:"-"`
	Near  bool   `json:"-"` // not due, and not far from it: it is not told anew when it is due again
	// Unused is a session that no agent has used lately and that sessctl cannot
	// make smaller: its size slows nobody down.
	Unused bool `json:"-"`
	// Busy says why it cannot be compacted at the moment, "" if it can.
	Busy string `json:"-"`
	// Refused says why a compaction changes nothing of it, "" if it does.
	Refused string `json:"-"`
}

// AgentSize is what the logs of an agent have in a store, all of them.
type AgentSize struct {
	Runtime string
	Agent   string
	Store   string // "" for one that has no path
	Bytes   int64
}

// subject is what the growth of the agent is told of, and its key in
// [State.Agents].
func (a AgentSize) subject() string {
	if a.Store == "" {
		return a.Runtime + "/" + a.Agent
	}
	return a.Runtime + "/" + a.Agent + " in " + a.Store
}

// Purge is what a runtime is about to delete of an agent. It is the data of a
// purge.soon event.
type Purge struct {
	Runtime  string    `json:"runtime"`
	Agent    string    `json:"agent"`
	Store    string    `json:"store"`
	Sessions int       `json:"sessions"` // without an archive, that go within the time of warning
	Session  string    `json:"session"`  // the first of them
	Deadline time.Time `json:"deadline"` // of the first
	Last     time.Time `json:"-"`        // deadline of the last of them
}

// Disk is a file system and what is free on it. It is the data of a disk.low
// event.
type Disk struct {
	Path  string `json:"path"` // a directory of ours, or of a store, on it
	Free  int64  `json:"free_bytes"`
	Limit int64  `json:"limit_bytes"`
}

// DamagedArchive is an archive, or a file of the catalogue, that cannot be used.
type DamagedArchive struct {
	ID      string `json:"id"` // "" where that is not known
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Unreadable is what was not read of a runtime for one cause: logs, directories,
// databases.
type Unreadable struct {
	Path    string `json:"path"` // of the first
	Message string `json:"message"`
	Runtime string `json:"runtime"` // or the program that is not read
	Cause   string `json:"cause"`
	Broken  bool   `json:"broken"` // it should be read; else it is passed over every time
	Count   int    `json:"count"`
	Bytes   int64  `json:"bytes"` // of all, as far as that is known

	Hint string `json:"-"` // what to do about it
}

// Store is a session store that is there, or one that [State.Stores] knows and
// that is missing. It is the data of a store.missing event.
type Store struct {
	Runtime string `json:"runtime"`
	Root    string `json:"root"`
	Missing bool   `json:"-"`
}

// Memory is what the memory has. It is the data of a memory.pending event.
type Memory struct {
	Pending int       `json:"pending"` // records that wait for an embedding
	Since   time.Time `json:"since"`   // as long as the monitor knows
}

// Profile is how the runs of a profile went. It is the data of a run.overdue
// event.
type Profile struct {
	Profile string        `json:"profile"`
	Success time.Time     `json:"last_success"` // end of the last one; the start of the first run if none succeeded
	Never   bool          `json:"never"`        // none has succeeded
	Pause   time.Duration `json:"-"`            // between two runs, usually; 0 if that is not known
}
