package report

import (
	"cmp"
	"fmt"
	"slices"
)

// Document is what a report shows, and `report --json`. Sizes are in bytes, times
// are RFC 3339 in UTC and "" where there is none.
type Document struct {
	Schema    int       `json:"schema"` // 1
	MadeAt    string    `json:"made_at"`
	Host      string    `json:"host"`
	Version   string    `json:"version"`
	Sentence  string    `json:"sentence"`          // how things are
	Threshold int64     `json:"threshold"`         // tokens from which a session is due, 0 for none
	Share     int64     `json:"threshold_percent"` // of its window, the same
	Alerts    []Alert   `json:"alerts"`            // what needs a person, what matters most first
	Pending   []Pending `json:"pending"`           // what waits
	Unread    []Unread  `json:"unread"`            // what was seen and not read
	Context   Context   `json:"context"`
	Disk      Disk      `json:"disk"`
	Growth    Growth    `json:"growth"`
	Purges    []Purge   `json:"purges"` // by agent, the first deletion first
	Saved     Saved     `json:"saved"`
	Proof     Proof     `json:"proof"`
	Runs      Runs      `json:"runs"`
	Records   Records   `json:"records"`
	Notes     []Note    `json:"notes"`
}

// Alert is something that is wrong.
type Alert struct {
	Kind    string `json:"kind"`
	Subject string `json:"subject"`
	Since   string `json:"since"`
	Message string `json:"message"`
	Advice  string `json:"advice"`
}

// Unread is what was seen and not read of a runtime for one cause.
type Unread struct {
	Runtime string `json:"runtime"` // or the program that is not read
	Cause   string `json:"cause"`
	Broken  bool   `json:"broken"` // it should be read
	Count   int    `json:"count"`
	Bytes   int64  `json:"bytes"`
	Path    string `json:"path"` // of one of them
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// Pending is work that waits.
type Pending struct {
	What   string `json:"what"`
	Count  int    `json:"count"`
	Advice string `json:"advice"` // the command that does it, or what it waits for
}

// Context says what fills the contexts of sessions.
type Context struct {
	Sessions int       `json:"sessions"` // that were measured
	Carried  int       `json:"carried"`  // of these began with what is said in another one of them
	Over     int       `json:"over"`     // of these at or over the threshold
	Tokens   int64     `json:"tokens"`
	Bytes    int64     `json:"bytes"`
	Runtimes []Share   `json:"runtimes"` // the most tokens first
	Agents   []Share   `json:"agents"`   // the same, the first MostAgents of them
	List     []Session `json:"list"`     // the same
	// More are the sessions that the list leaves out, MoreAgents the agents.
	More       Share `json:"more"`
	MoreAgents int   `json:"more_agents"`
}

// How many sessions, and how many agents, a report lists one by one: with the
// longest names so many stay below a megabyte.
const (
	MostRows   = 500
	MostAgents = 250
)

// Share is what a runtime or an agent has.
type Share struct {
	Runtime     string `json:"runtime"`
	Agent       string `json:"agent"`        // "" for all of the runtime
	ProjectName string `json:"project_name"` // what people call the agent, the same
	Sessions    int    `json:"sessions"`
	Over        int    `json:"over"`
	Tokens      int64  `json:"tokens"`
	Bytes       int64  `json:"bytes"`
}

// Name is what people call the agent.
func (s Share) Name() string { return cmp.Or(s.ProjectName, s.Agent) }

// Projects are the agents, those of a runtime that have one name as one, the largest first.
func (c *Context) Projects() (shares []Share) {
	at := map[[2]string]int{}
	for _, s := range c.Agents {
		of := [2]string{s.Runtime, s.Name()}
		i, known := at[of]
		if !known {
			at[of], shares = len(shares), append(shares, s)
			continue
		}
		shares[i].Sessions, shares[i].Over = shares[i].Sessions+s.Sessions, shares[i].Over+s.Over
		shares[i].Tokens, shares[i].Bytes = shares[i].Tokens+s.Tokens, shares[i].Bytes+s.Bytes
	}
	slices.SortStableFunc(shares, func(x, y Share) int {
		return cmp.Or(cmp.Compare(y.Tokens, x.Tokens), cmp.Compare(y.Bytes, x.Bytes))
	})
	return shares
}

// Session is one session.
type Session struct {
	Runtime     string `json:"runtime"`
	Agent       string `json:"agent"`
	Session     string `json:"session"`      // its key, or its id
	Title       string `json:"title"`        // what it is about, or ""
	Project     string `json:"project"`      // the directory that its agent works in, or ""
	ProjectName string `json:"project_name"` // what people call the agent
	Tokens      int64  `json:"tokens"`
	Window      int64  `json:"context_window"` // tokens, 0 if unknown
	Bytes       int64  `json:"bytes"`
	Last        string `json:"last_activity"`
	State       string `json:"state"`
	Over        bool   `json:"over"`
	Unreadable  bool   `json:"unreadable"` // tokens are not known
	// CarriedFrom is the session whose words it began with, null for its own.
	CarriedFrom *CarriedFrom `json:"carried_from"`
}

// CarriedFrom names the session whose words another one began with, and when.
type CarriedFrom struct {
	Runtime string `json:"runtime"`
	Session string `json:"session"`
	At      string `json:"at"`
}

// Standing is the state, and where it came from.
func (s Session) Standing() string {
	if f := s.CarriedFrom; f != nil {
		return s.State + ", carried from " + f.Runtime + " " + f.Session
	}
	return s.State
}

// Copies says how many of the sessions are carried over, "" for none.
func (c *Context) Copies() string {
	if c.Carried == 0 {
		return ""
	}
	return fmt.Sprintf(", %d of them carried over from others of these,", c.Carried)
}

// Disk says what fills the disk.
type Disk struct {
	Bytes    int64         `json:"bytes"` // all parts
	Parts    []DiskPart    `json:"parts"`
	Runtimes []RuntimeDisk `json:"runtimes"` // the largest first
	Free     []Free        `json:"free"`
}

// DiskPart is one kind of files.
type DiskPart struct {
	What  string `json:"what"` // live logs, closed logs, archives, memory, trash, set aside, records
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

// RuntimeDisk is the part of one runtime.
type RuntimeDisk struct {
	Runtime  string `json:"runtime"`
	Live     int64  `json:"live_bytes"`
	Closed   int64  `json:"closed_bytes"`
	Archives int64  `json:"archives_bytes"`
}

// Free is the room that a file system has left.
type Free struct {
	Path  string `json:"path"`
	Bytes int64  `json:"free_bytes"`
	Limit int64  `json:"limit_bytes"` // below this it is an alert
}

// Growth says how much there was day by day. A day without the run of a profile
// is not known.
type Growth struct {
	Days []Day `json:"days"` // without a gap, the oldest first, at most MostDays
}

// MostDays is how many days of growth a report shows.
const MostDays = 60

// Day is one day of the zone that the report is made in.
type Day struct {
	Date     string `json:"date"`  // 2026-03-01
	Known    bool   `json:"known"` // by a run; else the three sizes are 0
	Logs     int64  `json:"logs_bytes"`
	Archives int64  `json:"archives_bytes"`
	Memory   int64  `json:"memory_bytes"`
	PutAway  int64  `json:"put_away_bytes"` // of logs, archived that day
	Freed    int64  `json:"freed_bytes"`    // that compactions took out of logs that day
}

// Purge is what a runtime deletes by itself of one agent.
type Purge struct {
	Runtime     string `json:"runtime"`
	Agent       string `json:"agent"`
	ProjectName string `json:"project_name"` // what people call the agent
	Sessions    int    `json:"sessions"`
	Bytes       int64  `json:"bytes"`
	Unarchived  int    `json:"unarchived"` // of these without an archive as they are now
	Soon        int    `json:"soon"`       // of those within a week
	First       string `json:"first"`      // when the first of them goes
	Last        string `json:"last"`
}

// Saved says what was put away, and what that saved. What was undone does not
// count.
type Saved struct {
	Compactions int             `json:"compactions"`
	Tokens      int64           `json:"tokens"`     // out of contexts
	LogBytes    int64           `json:"log_bytes"`  // out of logs
	Compressed  int64           `json:"compressed"` // by which archives are smaller than what they are copies of
	Archives    int             `json:"archives"`
	Bytes       int64           `json:"bytes"`  // of the sessions in them
	Stored      int64           `json:"stored"` // of their files
	Runtimes    []ArchivedShare `json:"runtimes"`
}

// ArchivedShare are the archives of one runtime.
type ArchivedShare struct {
	Runtime  string `json:"runtime"`
	Archives int    `json:"archives"`
	Bytes    int64  `json:"bytes"`
	Stored   int64  `json:"stored"`
}

// Proof says when archives were read back, and with what result.
type Proof struct {
	Archives int       `json:"archives"`
	Checks   []Check   `json:"checks"` // the newest first
	Whole    *Check    `json:"whole"`  // the newest that read all archives, or null
	Since    int       `json:"since"`  // archives that were made after it; each was read back when it was made
	OffSite  int       `json:"off_site"`
	Damaged  []Damaged `json:"damaged"` // what this look has found, without reading archives
	Looked   bool      `json:"looked"`  // false: another sessctl was at work, and Damaged is not known
}

// Check is one run of archives verify.
type Check struct {
	At       string `json:"at"`
	All      bool   `json:"all"`                   // all archives and receipts were meant
	ReadData bool   `json:"read_data"`             // false: the copies were only looked at
	Remote   bool   `json:"remote"`                // copies on object storage too
	Copies   int    `json:"copies_read,omitempty"` // of those, read to their end
	Whole    bool   `json:"copies_all,omitempty"`  // all of them were to be read
	Archives int    `json:"archives"`
	Bytes    int64  `json:"bytes"`
	Receipts int    `json:"receipts"`
	Problems int    `json:"problems"`
}

// Damaged is an archive or a record of one with which something is wrong.
type Damaged struct {
	ID      string `json:"id"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Runs are the runs of profiles.
type Runs struct {
	Known    bool           `json:"known"`
	Outcomes map[string]int `json:"outcomes"` // of those of the last 30 days
	List     []Run          `json:"list"`     // the newest first, at most MostRuns
}

// MostRuns is how many runs a report lists.
const MostRuns = 60

// Run is one run.
type Run struct {
	Started string  `json:"started_at"`
	Profile string  `json:"profile"`
	Outcome string  `json:"outcome"`
	Seconds float64 `json:"seconds"`
	Changed int     `json:"changed"`
	Why     string  `json:"why"` // it did not end well, or ""
}

// Records says what logs are made of.
type Records struct {
	Read      bool        `json:"read"` // false: the logs were not read (--quick)
	Logs      int         `json:"logs"`
	Bytes     int64       `json:"bytes"`
	Base64    int64       `json:"base64_bytes"`
	Duplicate int64       `json:"duplicate_bytes"`
	Types     []TypeShare `json:"types"`   // the largest first
	Largest   []Record    `json:"largest"` // the same, ten
}

// TypeShare are the records of one type.
type TypeShare struct {
	Runtime string `json:"runtime"`
	Type    string `json:"type"`
	Records int    `json:"records"`
	Bytes   int64  `json:"bytes"`
}

// Record is one record of a log.
type Record struct {
	Runtime     string `json:"runtime"`
	Agent       string `json:"agent"`
	ProjectName string `json:"project_name"` // what people call the agent
	Session     string `json:"session"`
	Path        string `json:"path"`
	Line        int    `json:"line"`
	Type        string `json:"type"`
	What        string `json:"what"` // what most of it is: base64, repeated text, tool output, text
	Bytes       int64  `json:"bytes"`
	Base64      int64  `json:"base64_bytes"`
	Duplicate   int64  `json:"duplicate_bytes"`
}

// Note is something that a reader of the report should know.
type Note struct {
	Path    string `json:"path"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}
