package openclaw_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/zstd"
	"github.com/sessctl/sessctl/internal/fakeagentdb"
	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
)

const deletedEnd = ".jsonl.deleted.2026-09-03T08-00-00.000Z"

func packed(t *testing.T, text string) string {
	t.Helper()
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer encoder.Close()
	return string(encoder.EncodeAll([]byte(text), nil))
}

// reading is everything that is read of a log.
type reading struct {
	Tail  session.Tail
	Count int
	Scan  session.Scan
	Texts []string
}

func (s *state) readAll(name string) (all reading) {
	s.t.Helper()
	ref := s.ref(name)
	var err error
	if all.Tail, err = s.Tail(s.t.Context(), ref); err != nil {
		s.t.Fatal(err)
	}
	if all.Count, err = s.CountMessages(s.t.Context(), ref); err != nil {
		s.t.Fatal(err)
	}
	all.Scan, err = s.Scan(s.t.Context(), strings.NewReader(s.read(name)), session.ScanOptions{}, func(m *session.Message) error {
		all.Texts = append(all.Texts, string(m.AppendText(nil)))
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// A compressed log is read like the text that it holds.
func TestCompressedLogs(t *testing.T) {
	for name, text := range map[string]string{
		"short": transcript(mainID), "with a reset": strings.Join(fakeagentdb.Lines(), "\n") + "\n",
		"long": transcript(mainID) + strings.Repeat(question, 3000), "torn": transcript(mainID) + `{"type":"mess`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newMain(t)
			s.log("plain"+deletedEnd, text)
			s.log("packed"+deletedEnd+".zst", packed(t, text))
			s.log("lying"+deletedEnd, packed(t, text))
			want := s.readAll("plain" + deletedEnd)
			if len(want.Texts) < 2 {
				t.Fatalf("%+v", want)
			}
			for _, name := range []string{"packed" + deletedEnd + ".zst", "lying" + deletedEnd} {
				if diff := cmp.Diff(want, s.readAll(name), cmpopts.IgnoreFields(session.Scan{}, "Tree"), cmpopts.IgnoreFields(session.Tail{}, "LastActivity")); diff != "" {
					t.Error(name, diff)
				}
			}
		})
	}
}

// One that was cut off is read as far as it goes.
func TestCompressedLogThatIsCut(t *testing.T) {
	var text strings.Builder
	text.WriteString(transcript(mainID))
	for i := range 4000 {
		text.WriteString(strings.Replace(question, "and tomorrow?", strings.Repeat(string(rune('a'+i%26)), 1+i%997), 1))
	}
	whole := packed(t, text.String())
	s := newMain(t)
	s.log("cut"+deletedEnd+".zst", whole[:len(whole)-len(whole)/3])
	got := s.readAll("cut" + deletedEnd + ".zst")
	if !got.Tail.Torn || !got.Scan.Counts.Torn || len(got.Texts) < 2 || len(got.Texts) > 4001 || !strings.Contains(got.Texts[0], "which port?") {
		t.Errorf("torn %v %v, %d texts", got.Tail.Torn, got.Scan.Counts.Torn, len(got.Texts))
	}
}

func TestSampleCompressedLog(t *testing.T) {
	s := newState(t)
	copied(t, samples.Beside(t, "samples/openclaw/derived"), s.root)
	for _, ref := range s.list().Refs {
		if !strings.HasSuffix(ref.Path, ".zst") {
			continue
		}
		tail, err := s.Tail(t.Context(), ref)
		n, err2 := s.CountMessages(t.Context(), ref)
		if err != nil || err2 != nil || n != 4 || tail.Messages != 4 || tail.Tokens != 1580 {
			t.Error(n, tail, err, err2)
		}
		return
	}
	t.Error("the compressed log is not listed")
}
