package macstats

import (
	"bytes"
	"context"
	"io"

	"github.com/sessctl/sessctl/pkg/session"
)

// summaryMark begins a block that is the summary of what was before, written by
// [Store.PlanRewrite]. The program shows it as an answer of its own.
const summaryMark = "Summary of the conversation so far:"

// Scan implements [session.Store]: one message a block. A heading inside a
// message cannot be told from one that opens a block, for the program neither.
// The program drops text before the first heading.
func (s *Store) Scan(ctx context.Context, r io.Reader, _ session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	return newScan().Run(ctx, r, emit)
}

func newScan() *session.BlockScan { return &session.BlockScan{Opens: roleOf, First: asSummary} }

// roleOf reads a heading: the line is exactly that but for white space around
// it.
func roleOf(line []byte) session.Role {
	switch string(bytes.TrimSpace(line)) {
	case "## User":
		return session.RoleUser
	case "## Assistant":
		return session.RoleAssistant
	}
	return 0
}

// asSummary recognises the summary that took the place of a conversation. It is
// summed up again only with what was said since.
func asSummary(m *session.Message) {
	text, ours := bytes.CutPrefix(m.Parts[0].Text, []byte(summaryMark))
	if !ours || m.Role != session.RoleAssistant {
		return
	}
	m.Role, m.Compaction, m.Own = session.RoleSummary, true, true
	m.Parts[0].Text = bytes.TrimSpace(text)
}
