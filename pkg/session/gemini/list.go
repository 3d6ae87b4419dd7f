package gemini

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

const (
	projectsName = "tmp"
	chatsName    = "chats"
)

// chatName is the allow-list of names in a directory of chats; subChatName is
// that in a directory of one chat's sub-agents.
var (
	chatName    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(session-[A-Za-z0-9._-]{1,120})\.(jsonl|json)$`) })
	subChatName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]{0,127})\.jsonl$`) })
)

// List implements [session.Store]: the chats of each project, in the order of
// their names, which begin with a time. Of every chat the beginning is read.
// Every chat of a person is primary: Gemini goes on with whichever it is told
// to. Chats of sub-agents are topics.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	top, err := logfile.Open(s.base)
	if err != nil {
		return session.Listing{}, fmt.Errorf("open store: %w", err)
	}
	defer top.Close()
	l := &lister{store: s, now: time.Now()}
	projects, err := top.Names()
	if err != nil {
		return session.Listing{}, err
	}
	for _, name := range projects {
		if err := ctx.Err(); err != nil {
			return session.Listing{}, err
		}
		l.project(top, name)
	}
	return l.listing, nil
}

// lister collects the chats of one store.
type lister struct {
	store   *Store
	now     time.Time
	agent   string
	listing session.Listing
}

func (l *lister) skipped(path string, err error) {
	l.listing.Notices = append(l.listing.Notices, session.Notice{Path: path, Message: "skipped: " + err.Error()})
}

// project lists the chats of one project.
func (l *lister) project(top *logfile.Dir, name string) {
	chats := name + "/" + chatsName
	info, err := top.Root.Stat(chats)
	if err != nil || !info.IsDir() || strings.HasPrefix(name, ".") {
		return
	}
	l.agent = session.CleanID(name)
	l.listing.Agents = append(l.listing.Agents, l.agent)
	l.chats(top, chats, chatName())
}

// chats lists one directory of chats, and for the chats of persons those of
// their sub-agents.
func (l *lister) chats(in *logfile.Dir, name string, allowed *regexp.Regexp) {
	d, err := in.Below(name)
	if err != nil {
		l.skipped(in.At(name), err)
		return
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		l.skipped(d.Path, err)
		return
	}
	for _, file := range names {
		info, err := d.Stat(file)
		switch {
		case err != nil:
			l.skipped(d.At(file), err)
		case info == nil: // gone since the directory was read
		case info.IsDir():
			if allowed == chatName() && session.SafeID(file) {
				l.chats(d, file, subChatName())
			}
		case allowed.MatchString(file):
			l.chat(d, file, info, allowed == subChatName())
		}
	}
}

// chat lists one chat.
func (l *lister) chat(d *logfile.Dir, name string, found os.FileInfo, sub bool) {
	ref, err := l.ref(d, name, found)
	if err != nil {
		l.skipped(d.At(name), err)
		return
	}
	stem, old := strings.CutSuffix(name, ".json")
	newer := false
	if old {
		info, err := d.Stat(stem + ".jsonl")
		newer = err == nil && info != nil
	}
	switch {
	case newer: // Gemini goes on in the other one, which began with a copy
		ref.Kind = session.KindBackup
	case sub:
		ref.Kind = session.KindTopic
	default:
		ref.Primary = ref.Kind == session.KindLive
	}
	l.listing.Refs = append(l.listing.Refs, ref)
}

func (l *lister) ref(d *logfile.Dir, name string, found os.FileInfo) (session.Ref, error) {
	if reason := logfile.Unusable(found); reason != "" {
		return session.Ref{}, errors.New(reason)
	}
	log, info, err := d.OpenLog(name)
	if err != nil {
		return session.Ref{}, err
	}
	defer log.Close()
	h, err := readHeader(log)
	if err != nil {
		return session.Ref{}, err
	}
	if h.id == "" {
		h.id = strings.TrimSuffix(strings.TrimSuffix(name, ".jsonl"), ".json")
	}
	ref := session.Ref{
		Runtime: session.RuntimeGemini, Agent: l.agent, ID: session.CleanID(h.id), Store: l.store.root,
		Path: d.At(name), Kind: session.KindLive, Bytes: info.Size(), ModTime: info.ModTime(),
	}
	if h.sub {
		ref.Kind = session.KindTopic
	}
	logfile.State(&ref, info, l.now)
	return ref, nil
}

// header is what the beginning of a chat says.
type header struct {
	id  string
	sub bool
}

// readHeader returns what the first record, or the beginning of a document,
// says; an empty header if that is not whole.
func readHeader(log io.Reader) (h header, err error) {
	const usual = 4 << 10
	r := bufio.NewReaderSize(log, documentHead)
	head, err := r.Peek(usual)
	if err != nil && !errors.Is(err, io.EOF) {
		return h, err
	}
	line, _, whole := bytes.Cut(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")), []byte("\n"))
	var d decoder
	if (whole || len(head) < usual) && d.decode(bytes.Trim(line, "\x00\r ")) == nil && len(d.record.sessionID) > 0 {
		return header{string(d.record.sessionID), d.record.sub}, nil
	}
	if head, err = r.Peek(documentHead); err != nil && !errors.Is(err, io.EOF) {
		return h, err
	}
	var p splitter
	for _, b := range head {
		if p.step(b); p.closed || p.broken {
			break
		}
	}
	return header{id: p.sessionID}, nil
}
