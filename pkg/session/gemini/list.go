package gemini

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

const (
	projectsName = "tmp"
	chatsName    = "chats"
)

// chatName is the allow-list of names in a directory of chats; subChatName is
// that in a directory of one chat's sub-agents, and savedName that of chats that a
// person has saved (/chat save TAG).
var (
	chatName    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(session-[A-Za-z0-9._-]{1,120})\.(jsonl|json)$`) })
	savedName   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^checkpoint-[A-Za-z0-9._%-]{1,120}\.json$`) })
	subChatName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]{0,127})\.jsonl$`) })
)

// List implements [session.Store]: the chats of each project, in the order of
// their names, which begin with a time. Of every chat the beginning is read.
// Every chat of a person is primary: Gemini goes on with whichever it is told
// to. Chats of sub-agents are topics.
func (s *Store) List(ctx context.Context) (session.Listing, error) {
	l := &lister{Lister: s.NewLister()}
	err := l.Base(ctx, l.project)
	return l.Listing, err
}

// lister collects the chats of one store.
type lister struct {
	*logfile.Lister
	agent string
}

// project lists the chats of one project.
func (l *lister) project(base *logfile.Dir, name string) {
	chats := filepath.Join(name, chatsName)
	l.agent = session.CleanAgent(name)
	before := len(l.Listing.Refs)
	l.saved(base, name)
	switch {
	case base.HasDirectory(chats):
		l.Listing.Agents = append(l.Listing.Agents, l.agent)
		l.chats(base, chats, chatName())
	case len(l.Listing.Refs) > before:
		l.Listing.Agents = append(l.Listing.Agents, l.agent)
	}
}

// saved lists the chats that a person has saved in a project.
func (l *lister) saved(base *logfile.Dir, name string) {
	if !base.HasDirectory(name) {
		return
	}
	d := l.Below(base, name)
	if d == nil {
		return
	}
	defer d.Close()
	l.Each(d, func(file string) {
		if !savedName().MatchString(file) {
			return
		}
		if ref, ok := l.Ref(d, file); ok {
			ref.Agent, ref.ID, ref.Kind = l.agent, session.CleanID(strings.TrimSuffix(file, ".json")), session.KindArchived
			l.Add(ref)
		}
	})
}

// chats lists one directory of chats, and for the chats of persons those of
// their sub-agents.
func (l *lister) chats(in *logfile.Dir, name string, allowed *regexp.Regexp) {
	d := l.Below(in, name)
	if d == nil {
		return
	}
	defer d.Close()
	l.Each(d, func(file string) {
		info, err := d.Stat(file)
		switch {
		case err != nil:
			l.Skip(d.At(file), err)
		case info == nil: // gone since the directory was read
		case info.IsDir():
			if allowed == chatName() && session.SafeID(file) {
				l.chats(d, file, subChatName())
			}
		case allowed.MatchString(file):
			l.chat(d, file, allowed == subChatName())
		}
	})
}

// chat lists one chat.
func (l *lister) chat(d *logfile.Dir, name string, sub bool) {
	ref, ok := l.Ref(d, name)
	if !ok {
		return
	}
	h, err := headerOf(d, name)
	if err != nil {
		l.Skip(d.At(name), err)
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
	case sub, h.sub:
		ref.Kind = session.KindTopic
	default:
		ref.Primary = true
	}
	ref.Agent, ref.ID = l.agent, session.CleanID(h.id)
	l.Add(ref)
}

// headerOf reads the beginning of a chat. One that does not say its id goes by
// its file name.
func headerOf(d *logfile.Dir, name string) (header, error) {
	log, _, err := d.OpenLog(name)
	if err != nil {
		return header{}, err
	}
	defer log.Close()
	h, err := readHeader(log)
	if h.id == "" {
		h.id = strings.TrimSuffix(strings.TrimSuffix(name, ".jsonl"), ".json")
	}
	return h, err
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
		return header{string(d.record.sessionID), string(d.record.sort) == "subagent"}, nil
	}
	if head, err = r.Peek(documentHead); err != nil && !errors.Is(err, io.EOF) {
		return h, err
	}
	return header{id: session.ReadDocumentHead(head).SessionID}, nil
}
