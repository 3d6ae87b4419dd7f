package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// playOMP has oh-my-pi go on after a summary, after a session was deleted and
// restored, and after it was started fresh.
func playOMP(ctx context.Context, s *stage) {
	work, agent := filepath.Join(s.home, "work"), filepath.Join(s.home, ".omp", "agent")
	turn := newOMP(ctx, s)
	s.must("let gc take all", writeFile(filepath.Join(agent, "config.yml"), object{"gc": object{"retainNewestGlobal": 0, "retainNewestPerCwd": 0, "coldArchiveAfterDays": 0}}))
	tray := filepath.Join(work, "tray.png")
	s.must("paint a picture", paint(tray))
	turn("Plan the bakery week. " + strings.Repeat("The mill sends spelt on Monday and rye on Thursday. ", 100))
	turn("Which supplier has the best rye? "+strings.Repeat("Spelt comes from the mill on the hill. ", 100), "-c", "@"+tray)
	turn("Who opens on Saturday?", "-c")
	same(s, "three turns are one session", s.users(), 3)
	log, before := s.theLog("sessions of omp", filepath.Join(agent, "sessions", "*", "*.jsonl"))
	_, id, _ := strings.Cut(strings.TrimSuffix(filepath.Base(log), ".jsonl"), "_")
	blobs := filepath.Join(agent, "blobs")
	same(s, "the picture is a file that the log names", s.pictures() > 0 && bytes.Contains(before, []byte("blob:sha256:")), true)
	same(s, "a session that was just written is busy: exit 75", s.compact(ctx, "--all", "--force").exit, 75)

	time.Sleep(shortQuiet)
	_, err := s.output(ctx, s.home, s.sessctl, "archive", "--all", "--remember")
	s.must("archive it", err)
	sent := s.sent()
	pictures := s.pictures()
	s.must("delete it, and its picture", errors.Join(os.Remove(log), os.RemoveAll(blobs)))
	_, err = s.output(ctx, s.home, s.sessctl, "restore", id)
	s.must("restore it", err)
	now, err := os.ReadFile(log)
	same(s, "it comes back as it was", err == nil && bytes.Equal(now, before), true)
	turn("And on Sunday?", "-c")
	s.goesOnFrom(sent, "Who opens on Saturday?")
	same(s, "the picture is sent again", s.pictures(), pictures)

	time.Sleep(shortQuiet)
	done := s.compact(ctx, "--all", "--force", "--strategy", "overlay", "--keep-recent-tokens", "25", "--quiet-period", shortQuiet.String())
	s.became("older turns are summed up", done, "compacted")
	turn("Who closes?", "-c")
	same(s, "the next turn sees the summary, a kept turn, and the new one", s.users(), 3)
	s.trimOMP(ctx, log, turn)
	time.Sleep(shortQuiet)
	done = s.compact(ctx, "--all", "--force", "--strategy", "rotate", "--quiet-period", shortQuiet.String())
	s.became("it is started fresh", done, "compacted")
	turn("Plan the next week", "-c")
	same(s, "the next turn is fresh", s.users(), 1)
}

// newOMP makes a home with the real oh-my-pi and returns how it takes a turn.
func newOMP(ctx context.Context, s *stage) func(say string, args ...string) {
	work, agent := filepath.Join(s.home, "work"), filepath.Join(s.home, ".omp", "agent")
	seeing := piModel(modelName)
	seeing["input"] = []string{"text", "image"}
	s.must("make directories", errors.Join(os.MkdirAll(work, 0o700), os.MkdirAll(agent, 0o700)))
	s.must("write a configuration", writeFile(filepath.Join(agent, "models.yml"), object{"providers": object{"mock": object{
		"baseUrl": s.model.url(), "api": "openai-completions", "apiKey": "none", "models": []object{seeing},
	}}})) // JSON is YAML
	return func(say string, args ...string) {
		_, err := s.output(ctx, work, filepath.Join(s.runtime.bin, "omp"), append([]string{"--model", "mock/" + modelName, "--no-lsp", "--no-title", "--auto-approve", "-p", say}, args...)...)
		s.must("a turn of omp", err)
	}
}

// trimOMP leaves out of the log what stands before the summary: the next request is
// the same, until an undo brings it back. What omp's gc puts away comes back too.
func (s *stage) trimOMP(ctx context.Context, log string, turn func(say string, args ...string)) {
	before, err := os.ReadFile(log)
	s.must("read the log", err)
	sent := s.sent()
	time.Sleep(shortQuiet)
	done := s.compact(ctx, "--all", "--strategy", "trim", "--quiet-period", shortQuiet.String())
	s.became("what is not sent is left out", done, "compacted")
	same(s, "every line is in the archive", contains(done.archive(), before), true)
	now, err := os.ReadFile(log)
	ids := s.archives(ctx) // the newest is of this change
	same(s, "the log is less than two thirds as large", err == nil && len(now) < len(before)*2/3, true)
	turn("Who cleans up?", "-c")
	s.goesOnFrom(sent, "Who closes?")

	time.Sleep(shortQuiet)
	_, err = s.output(ctx, s.home, s.sessctl, "undo", done.receipt(), "--force", "--quiet-period", "1ms")
	s.must("undo", err)
	now, err = os.ReadFile(log)
	same(s, "an undo brings it back", err == nil && bytes.Equal(now, before), true)
	hour := time.Now().Add(-time.Hour)
	s.must("let it rest", os.Chtimes(log, hour, hour))
	_, err = s.output(ctx, s.home, filepath.Join(s.runtime.bin, "omp"), "gc", "--apply", "--archive")
	s.must("have omp put it away", err)
	_, err = os.Lstat(log)
	same(s, "omp has put it away", errors.Is(err, os.ErrNotExist), true)
	_, err = s.output(ctx, s.home, s.sessctl, "restore", ids[len(ids)-1])
	s.must("restore it", err)
	now, err = os.ReadFile(log)
	same(s, "it comes back as it was", err == nil && bytes.Equal(now, before), true)
	turn("Who cleans up?", "-c")
	s.goesOnFrom(sent, "Who closes?")
}

// pictures is how many pictures the model was sent last.
func (s *stage) pictures() int {
	_, last := s.model.requests()
	return bytes.Count(last.messages, []byte(`"image_url":`))
}

// paint makes a small picture.
func paint(path string) error {
	tray := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range tray.Pix {
		tray.Pix[i] = byte(i * 7)
	}
	var text bytes.Buffer
	return errors.Join(png.Encode(&text, tray), os.WriteFile(path, text.Bytes(), 0o600))
}

// playQwen has Qwen Code go on after what it does not send was taken out of its
// session, and after that was taken back.
func playQwen(ctx context.Context, s *stage) {
	home := filepath.Join(s.home, ".qwen")
	q := newQwen(s)
	turn := func(say string, args ...string) { q.turn(ctx, say, args...) }
	const count = "Count.\nCALL run_shell_command {\"command\": \"seq 1 9000\", \"description\": \"count\", \"is_background\": false}"
	turn("Plan the bakery week")
	turn(count, "-c")
	turn("Which supplier has the best rye?", "-c")
	turn("Who opens on Saturday?", "-c")
	log, before := s.theLog("sessions of qwen", filepath.Join(home, "projects", "*", "chats", "*.jsonl"))
	same(s, "a session that was just written is busy: exit 75", s.compact(ctx, "--all", "--force").exit, 75)
	sent := s.sent()

	time.Sleep(shortQuiet)
	open, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	s.must("have it open, as a running qwen has", err)
	same(s, "a session that somebody has open is busy: exit 75", s.compact(ctx, "--all", "--force", "--quiet-period", shortQuiet.String()).exit, 75)
	s.must("close it", open.Close())
	done := s.compact(ctx, "--all", "--force", "--quiet-period", shortQuiet.String())
	s.became("what is not sent is taken out", done, "compacted")
	same(s, "every line is in the archive", contains(done.archive(), before), true)
	now, err := os.ReadFile(log)
	same(s, "the log is less than half as large", err == nil && len(now) < len(before)/2, true)
	turn("And on Sunday?", "-c")
	s.goesOnFrom(sent, "Who opens on Saturday?")

	output, printed := s.theLog("outputs of qwen", filepath.Join(home, "tmp", "*", "*.output"))
	s.must("delete it", os.Remove(output))
	_, err = s.output(ctx, s.home, s.sessctl, "restore", filepath.Base(output))
	s.must("restore it", err)
	now, err = os.ReadFile(output)
	same(s, "the output of the tool was archived with it, and comes back", err == nil && bytes.Equal(now, printed), true)

	_, err = s.output(ctx, s.home, s.sessctl, "undo", done.receipt(), "--force", "--quiet-period", "1ms")
	s.must("undo", err)
	now, err = os.ReadFile(log)
	same(s, "an undo brings it back", err == nil && bytes.Equal(now, before), true)
}

// qwen is a home with the real Qwen Code.
type qwen struct {
	*stage
	dir string
}

func newQwen(s *stage) *qwen {
	q := &qwen{s, filepath.Join(s.home, "work")}
	home := filepath.Join(s.home, ".qwen")
	s.must("make directories", errors.Join(os.MkdirAll(q.dir, 0o700), os.MkdirAll(home, 0o700)))
	s.must("write settings", writeFile(filepath.Join(home, "settings.json"), object{
		"security": object{"auth": object{"selectedType": "openai"}}, "telemetry": object{"enabled": false},
		"model":   object{"generationConfig": object{"modalities": object{"image": true}}}, // else it shows it no image
		"privacy": object{"usageStatisticsEnabled": false}, "general": object{"enableAutoUpdate": false, "disableAutoUpdate": true},
	}))
	return q
}

// turn lets Qwen Code take one turn.
func (q *qwen) turn(ctx context.Context, say string, args ...string) {
	c := q.command(ctx, q.dir, filepath.Join(q.runtime.bin, "qwen"), append([]string{"-y", "-p", say}, args...)...)
	c.Env = append(c.Env, "OPENAI_API_KEY=none", "OPENAI_BASE_URL="+q.model.url(), "OPENAI_MODEL="+modelName)
	out, err := c.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, lastLines(string(out)))
	}
	q.must("a turn of qwen", err)
}

// theLog is the one log that a pattern finds, and what is in it.
func (s *stage) theLog(what, pattern string) (path string, text []byte) {
	found, err := filepath.Glob(pattern)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("there are %d", len(found))
	}
	s.must("look for "+what, err)
	text, err = os.ReadFile(found[0])
	s.must("read the log", err)
	return found[0], text
}

// sent is what the model was sent last.
func (s *stage) sent() []message {
	_, last := s.model.requests()
	return slices.Clone(last.said)
}

// goesOnFrom checks that what the model was sent last begins with what it was sent
// before, up to the newest question: runtimes put the date into that one alone, and
// may ask more after it.
func (s *stage) goesOnFrom(before []message, newest string) {
	now := s.sent()
	before = before[:max(0, slices.IndexFunc(before, func(m message) bool { return strings.HasSuffix(m.text, newest) }))]
	for i, m := range before {
		if i >= len(now) || now[i] != m {
			s.fail("the context is what it was", fmt.Sprintf("of %d messages the %d. differs: %.300q", len(before), i+1, m))
			return
		}
	}
	same(s, "the context is what it was, and what follows", len(before) > 2 && len(now) > len(before)+2, true)
}
