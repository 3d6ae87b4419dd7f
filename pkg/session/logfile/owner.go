package logfile

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// Claimed says whose a log is if its beginning shows that it is surely another
// program's, and "" otherwise: also of one that cannot be read, which is for those
// who read it to say. Nothing is archived, remembered or changed in the wrong name.
func Claimed(store session.Store, ref session.Ref) string {
	return whose(store, ref, session.Format.Claims)
}

// Whose is Claimed for a log that its runtime cannot read: then records are enough
// that several programs write.
func Whose(store session.Store, ref session.Ref) string {
	return whose(store, ref, session.Format.Named)
}

func whose(store session.Store, ref session.Ref, tells func(session.Format) bool) string {
	if !judged(ref) {
		return ""
	}
	format, err := FormatOf(ref.Path, session.HeadSize)
	if err != nil || !tells(format) || store.Capabilities().Keeps(format) {
		return ""
	}
	return session.ReasonForeign.Text(format.Whose(), ref.Runtime)
}

// NotOwn says why a log may not be changed in its runtime's name, "" if its beginning
// is that of a log of the runtime. An empty log is its own: there is nothing in it
// that could be somebody else's.
func NotOwn(store session.Store, ref session.Ref) string {
	if !judged(ref) {
		return ""
	}
	format, err := FormatOf(ref.Path, session.HeadSize)
	switch {
	case err != nil, format == session.FormatEmpty, store.Capabilities().Keeps(format):
		return ""
	case format.Claims(), format.Named():
		return session.ReasonForeign.Text(format.Whose(), ref.Runtime)
	}
	return session.ReasonNoSessionHeader.Text()
}

// NotOwnRecords is NotOwn for a log that is not going to be read as a whole: it looks
// at the types of its first records too.
func NotOwnRecords(ctx context.Context, store session.Store, ref session.Ref) string {
	if reason := NotOwn(store, ref); reason != "" || !judged(ref) {
		return reason
	}
	head, err := Head(ref.Path, session.HeadSize)
	if err != nil {
		return ""
	}
	scan, err := store.Scan(ctx, bytes.NewReader(wholeLines(head)), session.ScanOptions{}, func(*session.Message) error { return nil })
	if err != nil {
		return "" // one document that is longer than its beginning
	}
	return MostlyUnknown(scan, ref.Runtime)
}

// MostlyUnknown says that more than half of the records that were read are of types
// that the runtime does not have, "" if they are not.
func MostlyUnknown(scan session.Scan, runtime string) string {
	unknown := 0
	for _, n := range scan.Unknown {
		unknown += n
	}
	if 2*unknown <= scan.Counts.Records {
		return ""
	}
	return session.ReasonMostlyUnknown.Text(unknown, scan.Counts.Records, runtime)
}

// judged reports whether a session is a log whose beginning says whose it is: what
// lies in a database is known by its tables, and the output of a tool is any text.
func judged(ref session.Ref) bool {
	return ref.Kind.InFile() && ref.Kind != session.KindDatabase && ref.Kind != session.KindOutput
}

// Head reads up to so many bytes of a file, decompressed.
func Head(path string, most int64) ([]byte, error) {
	file, err := durable.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	plain, _, err := jsonl.Decompress(file, info.Size())
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	head, err := io.ReadAll(io.LimitReader(plain, most))
	if errors.Is(err, io.ErrUnexpectedEOF) || len(head) > 0 {
		err = nil // a compressed log that is torn
	}
	return head, err
}

// FormatOf recognises a file by up to so many of its first bytes.
func FormatOf(path string, most int64) (session.Format, error) {
	head, err := Head(path, most)
	if err != nil {
		return session.FormatUnknown, err
	}
	return session.Detect(path, head), nil
}

// wholeLines leaves out the line that the end of a full head cuts off.
func wholeLines(head []byte) []byte {
	if i := bytes.LastIndexByte(head, '\n'); len(head) >= session.HeadSize && i >= 0 {
		return head[:i+1]
	}
	return head
}
