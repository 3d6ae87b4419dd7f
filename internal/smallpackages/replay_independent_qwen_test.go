package smallpackages_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/qwen"
)

// qwenContext is what a session of Qwen Code goes on with: the path from the last
// record to the root, and of it what the last compression has and what follows.
func qwenContext(log []byte) (all []heard) {
	byID := map[string]replayThing{}
	var last replayThing
	for _, e := range things(log) {
		byID[str(e["uuid"])], last = e, e
	}
	var path []replayThing
	for at := last; at != nil && len(path) < 1<<20; at = byID[str(at["parentUuid"])] {
		path = append([]replayThing{at}, path...)
	}
	for _, e := range path {
		payload := obj(e["systemPayload"])
		switch {
		case e["type"] != "system":
			all = append(all, qwenHeard(obj(e["message"]))...)
		case e["subtype"] == "chat_compression":
			all = nil
			for i, entry := range replayList(payload["compressedHistory"]) {
				said := qwenHeard(obj(entry))
				if i == 0 {
					said[0].Role = "summary"
				}
				all = append(all, said...)
			}
		case str(obj(payload["uiEvent"])["event.name"]) == "qwen-code.api_error":
			all = append(all, heard{Role: "assistant"})
		}
	}
	return all
}

func qwenHeard(m replayThing) (all []heard) {
	h := heard{Role: map[string]string{"user": "user", "model": "assistant"}[str(m["role"])]}
	var texts []any
	for _, p := range replayList(m["parts"]) {
		part := obj(p)
		call, response := obj(part["functionCall"]), obj(part["functionResponse"])
		switch {
		case len(call) > 0:
			h.Calls = append(h.Calls, str(call["name"])+"/"+str(call["id"]))
		case len(response) > 0:
			said := obj(response["response"])
			all = append(all, heard{Role: "tool", Text: str(said["output"]) + str(said["error"]), Answers: str(response["id"])})
		case part["thought"] != true:
			texts = append(texts, str(part["text"]))
		}
	}
	if h.Text = written(texts, nil); h.says() {
		all = append(all, h)
	}
	return all
}

// What is trimmed of a session of Qwen Code is not missed: the independent reader
// finds the same context in what stays. A torn last line stays where it is. Nothing
// goes of a log that is not understood.
func TestReplayTrimmedQwenGoesOnAlike(t *testing.T) {
	trimmed := 0
	for _, path := range wholeLogs(t) {
		log := plainLog(t, path)
		if session.Detect(path, log[:min(len(log), session.HeadSize)]) != session.FormatQwen {
			continue
		}
		after, err := trimQwen(t, log)
		if errors.Is(err, session.ErrNothingToTrim) {
			continue
		}
		if diff := cmp.Diff(qwenContext(log), qwenContext(after)); diff != "" || err != nil || len(after) > len(log)*9/10 {
			t.Errorf("%s: %d bytes of %d, %v (-before +after):\n%s", path, len(after), len(log), err, diff)
		}
		trimmed++
		const torn = `{"uuid":"x","parent`
		if cut, err := trimQwen(t, append(bytes.Clone(log), torn...)); err != nil || string(cut) != string(after)+torn {
			t.Errorf("%s, a torn line: %v, %d bytes", path, err, len(cut))
		}
		for name, spoiled := range map[string]string{
			"an unknown record": string(log) + `{"uuid":"x","parentUuid":null,"sessionId":"s","type":"vision"}` + "\n",
			"an odd subtype":    string(log) + `{"uuid":"x","parentUuid":null,"sessionId":"s","type":"system","subtype":"dreamt"}` + "\n",
			"no record":         string(log) + `{"kind":"other"}` + "\n",
			"NULs":              string(log) + "\x00\x00" + string(log[:bytes.IndexByte(log, '\n')+1]),
			"an id again":       string(log) + string(log[:bytes.IndexByte(log, '\n')+1]),
			"no parent":         string(log) + `{"uuid":"x","parentUuid":"nobody","sessionId":"s","type":"user","message":{"parts":[]}}` + "\n",
		} {
			if after, err := trimQwen(t, []byte(spoiled)); !errors.Is(err, session.ErrUnsupported) || string(after) != spoiled {
				t.Errorf("%s, %s: %v, %d bytes of %d", path, name, err, len(after), len(spoiled))
			}
		}
	}
	if trimmed == 0 {
		t.Error("nothing was trimmed")
	}
}

// trimQwen trims a log and returns what it is then.
func trimQwen(t *testing.T, log []byte) ([]byte, error) {
	t.Helper()
	root := t.TempDir()
	path := filepath.Join(root, "projects", "-a", "chats", "s.jsonl")
	for _, err := range []error{os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, log, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := session.TakeSnapshot(t.Context(), file, path)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	store := qwen.Open(root)
	plan, err := store.PlanTrim(t.Context(), session.ShortenRequest{Ref: session.Ref{Path: path, ID: "s", Agent: "a"}, Snapshot: snap, Now: time.Now()})
	if err == nil {
		err = store.Shorten(t.Context(), plan)
	}
	after, readErr := os.ReadFile(path)
	return after, errors.Join(err, readErr)
}
