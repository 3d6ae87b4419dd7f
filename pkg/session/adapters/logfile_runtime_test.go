package adapters_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// tenth is the store of a runtime that nobody has: <agent>/<id>.jsonl, a JSON
// object with "text" for what a person says and "answer" for what is answered.
// It is all that docs/dev/architecture.md asks of an adapter.
type tenth struct{ logfile.RotatingLogs }

func openTenth(root string) *tenth {
	root = logfile.Absolute(root)
	s := &tenth{}
	s.Logs = logfile.Logs{Name: "tenth", Store: root, Base: logfile.Within(root, "sessions"), Depth: 1, Locate: locateTenth}
	s.ReadAll = s.Scan
	return s
}

func locateTenth(below string) (session.Ref, bool) {
	agent, name, _ := strings.Cut(below, "/")
	id, isLog := strings.CutSuffix(name, ".jsonl")
	return session.Ref{Agent: agent, ID: id, Kind: session.KindLive}, isLog && session.SafeID(agent) && session.SafeID(id)
}

func (s *tenth) Capabilities() session.Capabilities {
	return session.Capabilities{Liveness: s, Rotator: s, Disposer: s, Restorer: s}
}

func (s *tenth) List(ctx context.Context) (session.Listing, error) {
	l := s.NewLister()
	err := l.Base(ctx, func(base *logfile.Dir, name string) {
		if !base.HasDirectory(name) {
			return
		}
		d := l.Below(base, name)
		defer d.Close()
		l.Each(d, func(name string) {
			if ref, ok := l.Located(d, name, "moved aside"); ok {
				l.Add(ref)
			}
		})
	})
	return l.Listing, err
}

func (s *tenth) Scan(ctx context.Context, r io.Reader, _ session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	var lines session.LineScan
	return lines.Run(ctx, r, emit, func(r *jsonl.Record) (bool, error) {
		var said struct{ Text, Answer string }
		if err := json.Unmarshal(r.Raw, &said); err != nil {
			return false, fmt.Errorf("%w: %w", jsonl.ErrSyntax, err)
		}
		m := session.Message{Role: session.RoleUser}
		if said.Answer != "" {
			m.Role = session.RoleAssistant
		}
		m.Parts = []session.Part{{Kind: session.PartText, Text: []byte(said.Text + said.Answer)}}
		lines.Result.Records++
		return true, lines.Say(r, &m)
	})
}

var _ session.Store = &tenth{}

// tenthHome makes a store of one session, quiet for an hour, and something odd.
func tenthHome(t *testing.T) (*tenth, session.Ref) {
	t.Helper()
	root := t.TempDir()
	logfilePlaceMust(t, os.MkdirAll(filepath.Join(root, "sessions", "a", "folder.jsonl"), 0o700))
	path := filepath.Join(root, "sessions", "a", "one.jsonl")
	logfilePlaceMust(t, os.WriteFile(path, []byte(`{"text":"why?"}`+"\n"+`{"answer":"because"}`+"\n"), 0o640))
	then := time.Now().Add(-time.Hour)
	logfilePlaceMust(t, os.Chtimes(path, then, then))
	s := openTenth(root)
	listing, err := s.List(t.Context())
	logfilePlaceMust(t, err)
	if len(listing.Refs) != 1 || len(listing.Notices) != 1 || listing.Notices[0].Message != "skipped: a directory with the name of a session" {
		t.Fatalf("listed %+v", listing)
	}
	return s, listing.Refs[0]
}

// A runtime that says where its logs lie and how a record is read is listed,
// measured and asked whether it is busy.
func TestLogfileLogsRead(t *testing.T) {
	s, ref := tenthHome(t)
	want := session.Ref{Runtime: "tenth", Agent: "a", ID: "one", Store: s.Root(), Path: ref.Path, Kind: session.KindLive, Bytes: ref.Bytes, ModTime: ref.ModTime, File: ref.File, State: session.StateIdle}
	if ref != want {
		t.Errorf("listed %+v, want %+v", ref, want)
	}
	tail, err := s.Tail(t.Context(), ref)
	if err != nil || tail.Messages != 2 || !tail.Answered {
		t.Errorf("tail %+v, %v", tail, err)
	}
	if n, err := s.CountBy(t.Context(), ref, s.CountIn); n != 2 || err != nil {
		t.Errorf("%d messages, %v", n, err)
	}
	if err := s.Busy(t.Context(), session.BusyQuestion{Ref: ref, Now: time.Now(), Quiet: time.Minute}); err != nil {
		t.Error(err)
	}
	if err := s.Busy(t.Context(), session.BusyQuestion{Ref: ref, Now: time.Now(), Quiet: 2 * time.Hour}); !errors.Is(err, session.ErrBusy) {
		t.Errorf("error %v of a session that was used an hour ago", err)
	}
	logfilePlaceMust(t, os.RemoveAll(filepath.Dir(ref.Path)))
	if err := s.Busy(t.Context(), session.BusyQuestion{Ref: ref, Now: time.Now(), Quiet: time.Minute}); !errors.Is(err, session.ErrBusy) {
		t.Errorf("error %v of a session that is gone", err)
	}
	if _, err := s.Tail(t.Context(), session.Ref{Path: "/etc/passwd"}); err == nil {
		t.Error("a file outside of the store was read")
	}
}

// It is rotated, its old log is disposed of, and it can be put back.
func TestLogfileLogsRotate(t *testing.T) {
	s, ref := tenthHome(t)
	log, info, err := s.OpenLog(ref)
	logfilePlaceMust(t, err)
	snap, err := session.TakeSnapshot(t.Context(), log, ref.Path)
	logfilePlaceMust(t, errors.Join(err, log.Close()))
	plan, err := s.PlanRotation(t.Context(), ref, snap, time.Now())
	logfilePlaceMust(t, err)
	logfilePlaceMust(t, s.Rotate(t.Context(), plan))
	logfilePlaceMust(t, s.Rotate(t.Context(), plan)) // a rotation may be repeated
	if listing, err := s.List(t.Context()); err != nil || listing.Refs[0].Path != plan.Kept || listing.Refs[0].Kind != session.KindReset {
		t.Errorf("listed %+v, %v", listing, err)
	}
	place, err := s.Place(t.Context(), plan.Kept, time.Now())
	if err != nil || place.There || place.Path != ref.Path || place.Like == nil || place.Like.Mode() != info.Mode() {
		t.Errorf("place %+v, %v", place, err)
	}
	if _, err := s.PlanRotation(t.Context(), session.Ref{Path: plan.Kept}, snap, time.Now()); !errors.Is(err, session.ErrUnsupported) {
		t.Errorf("error %v of a rotated log that is rotated", err)
	}
	logfilePlaceMust(t, s.Dispose(t.Context(), plan))
	logfilePlaceMust(t, s.Dispose(t.Context(), plan))
	if _, err := os.Lstat(plan.Kept); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old log is there: %v", err)
	}
}

// A plan of a journal that names files which do not belong together changes
// nothing.
func TestLogfileLogsRefuseForeignPlans(t *testing.T) {
	s, ref := tenthHome(t)
	log, _, err := s.OpenLog(ref)
	logfilePlaceMust(t, err)
	snap, err := session.TakeSnapshot(t.Context(), log, ref.Path)
	logfilePlaceMust(t, errors.Join(err, log.Close()))
	good, err := s.PlanRotation(t.Context(), ref, snap, time.Now())
	logfilePlaceMust(t, err)
	for name, spoil := range map[string]func(r *session.Rotation){
		"a log elsewhere":    func(r *session.Rotation) { r.Live = "/etc/passwd" },
		"another directory":  func(r *session.Rotation) { r.Kept = filepath.Join(s.Root(), filepath.Base(r.Kept)) },
		"the name of no log": func(r *session.Rotation) { r.Kept = filepath.Join(filepath.Dir(ref.Path), "kept") },
		"that of another log": func(r *session.Rotation) {
			r.Kept = filepath.Join(filepath.Dir(ref.Path), strings.Replace(filepath.Base(r.Kept), "one", "two", 1))
		},
		"a file that is no log": func(r *session.Rotation) { r.Live = filepath.Join(filepath.Dir(ref.Path), "one.txt") },
	} {
		plan := good
		spoil(&plan)
		if err := s.Rotate(t.Context(), plan); err == nil {
			t.Errorf("%s: rotated", name)
		}
		if err := s.Dispose(t.Context(), plan); err == nil {
			t.Errorf("%s: disposed of", name)
		}
		if _, err := os.Lstat(ref.Path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}
