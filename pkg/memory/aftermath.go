package memory

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Aftermath is what followed something that failed.
type Aftermath struct {
	// Success is the next time that the same was done and did not fail, or nil.
	Success *Record
	// Same says that it is the same command or the same file; else it is the same
	// command with other arguments.
	Same bool
	// Between is what was done in between, the last of it: changes of files, or
	// where there are none other commands. Without a success it is what came
	// next.
	Between []Record
	More    int // that Between leaves out
}

// mostBetween is how many actions between an error and its end are told.
const mostBetween = 8

// aftermath finds out what followed an action that failed. end is the row of its
// success, or 0.
func (s asking) aftermath(ctx context.Context, x *storedAction) (after *Aftermath, end int64, err error) {
	success, same, err := s.success(ctx, x)
	if err != nil {
		return nil, 0, err
	}
	after = &Aftermath{Same: same}
	if success != nil {
		after.Success, end = &success.Record, success.row
	}
	after.Between, after.More, err = s.between(ctx, x, success)
	return after, end, err
}

// later is the condition under which an action a of a session comes after another
// one of it.
const later = "(a.created_at>? OR a.created_at=? AND a.first_line>?)"

func (x *storedAction) later() []any { return []any{x.CreatedAt, x.CreatedAt, x.FirstLine} }

// wentWell is the condition under which an action a is known not to have failed.
const wentWell = "a.state&3=1"

// success finds the next action that does the same and went well: the same
// command in the same session, else one that only differs in its arguments, else
// the same command in a later session of the agent.
func (s asking) success(ctx context.Context, x *storedAction) (found *storedAction, same bool, err error) {
	const mine, order = "s.runtime=? AND s.agent=?", " ORDER BY a.created_at, a.first_line LIMIT 1"
	owner := []any{x.Runtime, x.Agent}
	first := func(condition string, args ...any) (*storedAction, error) {
		list, err := readActions(ctx, s.db, "WHERE "+mine+" AND "+wentWell+" AND "+condition+order, append(slices.Clone(owner), args...)...)
		if err != nil || len(list) == 0 || !list[0].sound() {
			return nil, err
		}
		return &list[0], nil
	}
	found, err = first("s.session=? AND a.subject=? AND a.kind=? AND "+later, append([]any{x.Session, x.subject, x.Action.Kind}, x.later()...)...)
	if found != nil || err != nil {
		return found, true, err
	}
	if found, err = s.similarSuccess(ctx, x); found != nil || err != nil {
		return found, false, err
	}
	found, err = first("s.session<>? AND a.subject=? AND a.kind=? AND a.created_at>? AND a.created_at<?", x.Session, x.subject, x.Action.Kind, x.CreatedAt, x.CreatedAt+forgottenAfter)
	return found, true, err
}

// forgottenAfter is how long after an error, in milliseconds, a success in another
// session is taken for its end: two weeks.
const forgottenAfter = 14 * 24 * 3600 * 1000

// similarSuccess finds the next command of the session that runs the same program
// in the same way.
func (s asking) similarSuccess(ctx context.Context, x *storedAction) (*storedAction, error) {
	program := commandProgram(x.Action.Subject)
	if x.Action.Kind != "command" || program == "" {
		return nil, nil
	}
	var found *storedAction
	err := s.followed(ctx, x, nil, func(a *storedAction) bool {
		if a.Action.Kind == "command" && a.Action.Answered && !a.Action.Failed && commandProgram(a.Action.Subject) == program {
			found = a
		}
		return found == nil
	})
	return found, err
}

// mostFollowed is how many actions after an error are looked at.
const mostFollowed = 500

// followed hands over the sound actions of the session after one, or those up to
// another one, also of the session that that is of, in their order, until fn has
// enough.
func (s asking) followed(ctx context.Context, x, end *storedAction, fn func(*storedAction) bool) error {
	condition, args := "s.session=? AND "+later, append([]any{x.Session}, x.later()...)
	if end != nil {
		const before = "(a.created_at<? OR a.created_at=? AND a.first_line<?)"
		until := end.later()
		condition, args = condition+" AND "+before, append(args, until...)
		if end.Session != x.Session {
			condition = "(" + condition + " OR s.session=? AND a.created_at>? AND " + before + ")"
			args = append(append(args, end.Session, x.CreatedAt), until...)
		}
	}
	list, err := readActions(ctx, s.db, "WHERE s.runtime=? AND s.agent=? AND ("+condition+") ORDER BY a.created_at, a.first_line LIMIT ?",
		append(append([]any{x.Runtime, x.Agent}, args...), mostFollowed)...)
	if err != nil {
		return fmt.Errorf("look what followed: %w", err)
	}
	for i := range list {
		if list[i].sound() && !fn(&list[i]) {
			break
		}
	}
	return nil
}

// between tells what was done after an error, up to its end if it has one.
func (s asking) between(ctx context.Context, x, end *storedAction) (list []Record, more int, err error) {
	var changes, commands []Record
	err = s.followed(ctx, x, end, func(a *storedAction) bool {
		switch a.Action.Kind {
		case "edit", "write", "delete":
			if !a.Action.Failed {
				changes = append(changes, a.Record)
			}
		case "command":
			if a.subject != x.subject {
				commands = append(commands, a.Record)
			}
		}
		return end != nil || len(changes) < mostBetween
	})
	list = changes
	if len(list) == 0 {
		list = commands
	}
	more = max(len(list)-mostBetween, 0)
	if end != nil { // what was done last helped
		return list[more:], more, err
	}
	return list[:len(list)-more], more, err
}

// commandPrefix is what stands in front of a command and does not say what it
// does: changes of the directory, variables, and programs that run others.
var commandPrefix = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(cd\s+\S+\s*(&&|;)|[A-Za-z_][A-Za-z0-9_]*=\S*|sudo|env|time|timeout\s+\S+|npx|exec)\s+`)
})

// commandProgram is what a command line runs: a program and what it is told to
// do ("go test", "npm run build"), without the rest of its arguments; "" if that
// does not tell what it does.
func commandProgram(line string) string {
	line = strings.TrimSpace(line)
	for {
		rest := commandPrefix().ReplaceAllString(line, "")
		if rest == line {
			break
		}
		line = rest
	}
	words := strings.Fields(line)
	program := ""
	for i, word := range words {
		if i > 2 || strings.ContainsAny(word, "-./\"'$|&;<>(){}=*:") && i > 0 {
			break
		}
		program = strings.TrimSpace(program + " " + word)
	}
	if slices.Contains(strings.Fields(anyPrograms), program) {
		return ""
	}
	return program
}

// anyPrograms do something else whenever their arguments are others.
const anyPrograms = "python python3 node deno bun ruby perl php java bash sh zsh ls cat head tail grep rg sed awk find echo curl wget git docker kubectl npm pnpm yarn go cargo"
