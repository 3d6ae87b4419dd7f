package codex

import (
	"regexp"
	"strings"
	"sync"

	"github.com/sessctl/sessctl/pkg/session"
)

const (
	sessionsName = "sessions"
	archivedName = "archived_sessions"
	plainEnd     = ".jsonl"
	coldEnd      = ".jsonl.zst"
	// noAgent is the agent of threads that name no working directory.
	noAgent = "codex"
)

// rolloutName is the allow-list of names: the local time of the start and the
// id of the thread (research/formats.md section 11).
var rolloutName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^rollout-(?:\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-)?([A-Za-z0-9][A-Za-z0-9._-]{0,127}?)(\.jsonl|\.jsonl\.zst)$`)
})

// rolloutDocument is the name of a thread of 2025 that is one JSON object.
var rolloutDocument = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^rollout-.*\.json$`) })

// threadOf returns the id of the thread by the name of its rollout.
func threadOf(name string) (id string, ok bool) {
	m := rolloutName().FindStringSubmatch(name)
	if m == nil || !session.SafeID(m[1]) {
		return "", false
	}
	return m[1], true
}

// agentOf makes an agent's id of a working directory, as pi does: its path
// with dashes for slashes.
func agentOf(cwd string) string {
	name := strings.Trim(strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(cwd), "-")
	if name == "" {
		return noAgent
	}
	return session.CleanID(name)
}
