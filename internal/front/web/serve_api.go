package web

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/jobs"
)

// WithOwnStack calls a function in a goroutine of its own. SQLite needs a deep stack,
// which goes with the goroutine; in that of the connection it would stay, once
// for each client that keeps its connection. A panic is the caller's.
func WithOwnStack[T any](f func() (T, error)) (T, error) {
	once, done := sync.OnceValues(f), make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // the call below panics with it once more
		_, _ = once()
	}()
	<-done
	return once()
}

// SizesQuery asks how full sessions are.
type SizesQuery struct {
	Agent     string `query:"agent" doc:"only sessions of this agent"`
	Runtime   string `query:"runtime" doc:"only sessions of this runtime"`
	Threshold int64  `query:"threshold" minimum:"0" doc:"mark sessions of at least this many tokens; 0 is the configured threshold"`
	Percent   int64  `query:"threshold_percent" minimum:"0" maximum:"100" doc:"or of this share of their window"`
	Over      bool   `query:"over" doc:"only sessions at or over the threshold"`
	Sort      string `query:"sort" enum:"tokens,bytes,age,agent" default:"tokens"`
	All       bool   `query:"all" doc:"also closed logs, backups and checkpoints"`
}

// RecallQuery asks what was said.
type RecallQuery struct {
	Query      string  `query:"q" maxLength:"4096" doc:"the question; not with file, command or error"`
	File       string  `query:"file" maxLength:"4096" doc:"what was done to this file: its path, its end, or words of its name"`
	Command    string  `query:"command" maxLength:"4096" doc:"runs of commands with these words"`
	Error      string  `query:"error" maxLength:"4096" doc:"where this error appeared, and what was done about it"`
	Agent      string  `query:"agent" doc:"only memories of this agent"`
	Runtime    string  `query:"runtime" doc:"only memories of this runtime"`
	Session    string  `query:"session" doc:"only memories of this session"`
	Category   string  `query:"category" enum:",session_history,session_summary,fact,lesson"`
	Kind       string  `query:"kind" doc:"only facts of this kind; work: what was done"`
	Superseded bool    `query:"superseded" doc:"also facts that newer ones have superseded"`
	Since      string  `query:"since" doc:"from this time on: 30d, 2026-03-01 or RFC 3339"`
	Until      string  `query:"until" doc:"only before this time"`
	Limit      int     `query:"limit" minimum:"0" maximum:"100" doc:"the best so many; 0 is the configured number"`
	MinScore   float64 `query:"min_score" minimum:"-1" maximum:"1" default:"-1" doc:"leave out what fits less; none is the usual bound"`
	Rank       string  `query:"rank" enum:",hybrid,text,vector,seed"`
	Everywhere bool    `query:"everywhere" doc:"ask the memory that many hosts share"`
	Neighbors  int     `query:"neighbors" minimum:"-1" maximum:"10" default:"-1" doc:"pieces of the session before and after each hit; none is one beside a short hit"`
}

// LinesQuery asks for lines of an archive.
type LinesQuery struct {
	ID    string `path:"id" maxLength:"200" doc:"an archive's id, the start of one, or the id of a session that has one archive"`
	Lines string `query:"lines" pattern:"^[0-9]+(-[0-9]+)?$" doc:"only these lines, counted from 1: 120-140"`
}

// RunsQuery asks for records of runs.
type RunsQuery struct {
	Limit int    `query:"limit" minimum:"0" maximum:"1000" default:"20" doc:"the last so many; 0 is all"`
	Since string `query:"since" doc:"from this time on: 30d, 2026-03-01 or RFC 3339"`
}

// Options are the options of the command that answers.
func (in *SizesQuery) Options(ctx context.Context, a *workspace.Run) selection.SizesOptions {
	a.Global.Runtime = in.Runtime
	asked := compact.Threshold{Tokens: in.Threshold, Percent: in.Percent}
	return selection.SizesOptions{
		Agent: Meant(ctx, a, in.Runtime, in.Agent), Threshold: cmp.Or(asked, a.Config.Compaction.Due()), ThresholdAsked: asked != compact.Threshold{},
		Over: in.Over, Sort: in.Sort, All: in.All,
	}
}

// Options are the options of the command that answers.
func (in *RecallQuery) Options(ctx context.Context, a *workspace.Run) recall.Options {
	return recall.Options{
		Query: in.Query, File: in.File, Command: in.Command, Error: in.Error, Agent: Meant(ctx, a, in.Runtime, in.Agent), Runtime: in.Runtime, Session: in.Session, Category: in.Category, Kind: in.Kind, Superseded: in.Superseded,
		Since: in.Since, Until: in.Until, Limit: cmp.Or(in.Limit, a.Config.Recall.Limit), MinScore: max(in.MinScore, 0), Any: in.MinScore >= 0,
		Rank: cmp.Or(in.Rank, a.Config.Recall.Rank), Neighbors: max(in.Neighbors, 0), Beside: in.Neighbors < 0, Everywhere: in.Everywhere,
	}
}

// Meant are the agents that a request names: those of a project, unless it names a
// runtime too.
func Meant(ctx context.Context, a *workspace.Run, runtime, agent string) agentset.Set {
	if agent == "" || runtime != "" {
		return agentset.Named(agent)
	}
	return selection.AgentsMeant(ctx, a, agent)
}

// ArchivedLines reads lines of an archive.
func ArchivedLines(ctx context.Context, a *workspace.Run, in *LinesQuery) (steps.ShowDocument, error) {
	first, last, err := steps.ParseLines(in.Lines)
	if err != nil {
		return steps.ShowDocument{}, failure.Usage("write lines=120-140", "lines: %w", err)
	}
	store, err := a.OpenArchive()
	if err != nil {
		return steps.ShowDocument{}, err
	}
	entry, err := selection.FindArchive(ctx, store, in.ID)
	if err != nil {
		return steps.ShowDocument{}, err
	}
	return steps.ShowArchive(ctx, a, store, entry, steps.LineRange{First: first, Last: last, Most: maxLinesBytes})
}

// CompactRequest is what POST /api/v1/compact is sent.
type CompactRequest struct {
	_           struct{} `json:"-" additionalProperties:"false"`
	Agent       string   `json:"agent,omitempty" doc:"compact the main session of this agent; all is every agent's"`
	Runtime     string   `json:"runtime,omitempty" doc:"only sessions of this runtime"`
	Session     string   `json:"session,omitempty" doc:"compact this session, by its id or key, instead of the main one"`
	Threshold   int64    `json:"threshold,omitempty" minimum:"0" doc:"compact sessions of at least this many tokens; 0 is the configured threshold"`
	Percent     int64    `json:"threshold_percent,omitempty" minimum:"0" maximum:"100" doc:"or of this share of their window"`
	SkipSummary bool     `json:"skip_summary,omitempty" doc:"store no summary"`
	Caller      string   `json:"caller_id,omitempty" doc:"who asks, for the job and the audit log; the first 64 printable characters count"`
	Clear       bool     `json:"-"` // start fresh, whatever its size
}

// ClearRequest is what POST /api/v1/sessions/clear is sent.
type ClearRequest struct {
	_       struct{} `json:"-" additionalProperties:"false"`
	Session string   `json:"session,omitempty" doc:"clear this session, by its id or key"`
	Chat    string   `json:"chatId,omitempty" doc:"the same as session, as Annabelle calls it"`
	Agent   string   `json:"agent,omitempty" doc:"the session is this agent's; without a session, its main one"`
	Runtime string   `json:"runtime,omitempty" doc:"only sessions of this runtime"`
	Caller  string   `json:"caller_id,omitempty" doc:"who asks, for the job and the audit log; the first 64 printable characters count"`
}

// Compact is the compaction that clears.
func (q ClearRequest) Compact() CompactRequest {
	return CompactRequest{Session: cmp.Or(q.Session, q.Chat), Agent: q.Agent, Runtime: q.Runtime, Caller: q.Caller, Clear: true}
}

// Accepted is the answer to a request that became a job.
type Accepted struct {
	Location string `header:"Location" doc:"where the job is"`
	Body     JobDocument
}

// JobDocument is one job.
type JobDocument struct {
	Schema int `json:"schema"`
	Job
	Notes []workspace.Note `json:"notes"`
}

// Job is what the server says of a [jobs.Job].
type Job struct {
	ID       string          `json:"id"`
	Kind     string          `json:"kind" doc:"what is done: compact, clear, or run for a profile"`
	Subject  string          `json:"subject" doc:"what it is done with: an agent, all, a session or a profile"`
	Caller   string          `json:"caller_id" doc:"who asked, as the caller named itself"`
	Options  json.RawMessage `json:"options" doc:"what was asked for"`
	State    jobs.State      `json:"state" enum:"queued,running,finished,interrupted"`
	Reason   string          `json:"reason" doc:"why it waits again or was interrupted"`
	Attempts int             `json:"attempts" doc:"how often it was begun without being put back in order"`
	Created  time.Time       `json:"created_at"`
	Started  *time.Time      `json:"started_at" doc:"null until it is begun"`
	Ended    *time.Time      `json:"ended_at" doc:"null until it has ended"`
	Result   *JobResult      `json:"result" doc:"null until it is finished"`
}

// JobResult is how the work of a job ended.
type JobResult struct {
	Outcome  operate.Outcome `json:"outcome" enum:"ok,partial,failed,busy,damaged" doc:"what the exit code says, in a word"`
	ExitCode int             `json:"exit_code" doc:"of the command that does the same"`
	Error    *JobFailure     `json:"error" doc:"what the command says on stderr, or null"`
	Document json.RawMessage `json:"document,omitempty" doc:"what the command prints with --json; not in lists"`
}

// JobFailure is what the command says about an error.
type JobFailure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
	Path    string `json:"path"`
}

// NewJobDocument is what is said of one job.
func NewJobDocument(j jobs.Job) JobDocument {
	return JobDocument{Schema: 1, Job: newJob(j), Notes: []workspace.Note{}}
}

// NewJobsDocument is what is said of all jobs.
func NewJobsDocument(all []jobs.Job, unreadable []error) JobsDocument {
	doc := JobsDocument{Schema: 1, Jobs: make([]Job, 0, len(all)), Notes: []workspace.Note{}}
	for _, err := range unreadable {
		doc.Notes = append(doc.Notes, workspace.Note{Message: err.Error()})
	}
	for _, j := range all {
		doc.Jobs = append(doc.Jobs, newJob(j))
	}
	return doc
}

func newJob(j jobs.Job) Job {
	job := Job{
		ID: j.ID, Kind: j.Kind, Subject: j.Subject, Caller: j.Caller, Options: j.Options, State: j.State, Reason: j.Reason,
		Attempts: j.Attempts, Created: j.Created, Started: j.Started, Ended: j.Ended,
	}
	if r := j.Result; r != nil {
		job.Result = &JobResult{Outcome: r.Outcome, ExitCode: r.ExitCode, Error: (*JobFailure)(r.Error), Document: r.Document}
	}
	return job
}

// JobsDocument is the list of jobs.
type JobsDocument struct {
	Schema int              `json:"schema"`
	Jobs   []Job            `json:"jobs" doc:"the newest first, without the documents of their results"`
	Notes  []workspace.Note `json:"notes"`
}

// Subject names what the request is about: one job of it at a time.
func (q CompactRequest) Subject() string {
	subject := q.Agent
	if q.Session != "" {
		subject = strings.TrimPrefix(subject+"/"+q.Session, "/")
	}
	if q.Runtime != "" {
		subject = q.Runtime + ":" + subject
	}
	return subject
}

// MaxCaller bounds a caller's name, in characters.
const MaxCaller = 64

// CallerName is what a caller calls itself as it may stand in a log: printable,
// and not long.
func CallerName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name)
	if runes := []rune(clean); len(runes) > MaxCaller {
		clean = string(runes[:MaxCaller])
	}
	return strings.TrimSpace(clean)
}
