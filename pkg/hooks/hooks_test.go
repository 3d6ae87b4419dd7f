package hooks

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// home is a directory with the settings of every runtime.
func home(t *testing.T) (Home, string) {
	t.Helper()
	dir := t.TempDir()
	h := Home{
		Claude: filepath.Join(dir, ".claude"), ClaudeJSON: filepath.Join(dir, ".claude.json"), Codex: filepath.Join(dir, ".codex"),
		Gemini: filepath.Join(dir, ".gemini"), OpenClaw: filepath.Join(dir, ".openclaw"), Pi: filepath.Join(dir, ".pi", "agent"),
	}
	for _, d := range []string{h.Claude, h.Codex, h.Gemini, h.OpenClaw, h.Pi} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return h, dir
}

// files are all files below a directory, with their modes.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		if info.Mode().IsRegular() {
			read, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(read)
		}
		all[path] = info.Mode().String() + " " + text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for path := range want {
		if got[path] != want[path] {
			t.Errorf("%s: %s is %q, want %q", what, path, got[path], want[path])
		}
	}
	for path := range got {
		if _, there := want[path]; !there {
			t.Errorf("%s: %s is left", what, path)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func install(t *testing.T, target Target, records string) Plan {
	t.Helper()
	p, err := PlanInstall(target, records)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Execute(); err != nil {
		t.Fatal(err)
	}
	return p
}

func remove(t *testing.T, target Target, records string) {
	t.Helper()
	p, err := PlanRemove(target, records)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Execute(); err != nil {
		t.Fatal(err)
	}
}

// Install, install again from another place, remove: every file and directory is
// as it was, with its mode.
func TestRemoveLeavesNothing(t *testing.T) {
	for _, runtime := range Names() {
		t.Run(runtime, func(t *testing.T) {
			h, dir := home(t)
			write(t, filepath.Join(h.Claude, "settings.json"), "{\n\t\"model\": \"opus\" // mine\n}")
			write(t, h.ClaudeJSON, `{"mcpServers":{"other":{"command":"x"}},"n":1}`)
			write(t, filepath.Join(h.Codex, "config.toml"), "model = \"x\"")
			write(t, filepath.Join(h.OpenClaw, "openclaw.json"), "{ hooks: 1 }")
			write(t, filepath.Join(h.OpenClaw, "openclaw.json"), "{\"hooks\": {\"internal\": {}}}")
			before, records := files(t, dir), filepath.Join(t.TempDir(), "hooks")
			first, _ := For(runtime, h, Program{Path: "/opt/one two/sessctl"})
			second, _ := For(runtime, h, Program{Path: "/usr/bin/sessctl", Args: []string{"--data-dir=/var/lib/o'x"}})
			install(t, first, records)
			if again, err := PlanInstall(first, records); err != nil || again.Needed() {
				t.Errorf("a second install would change something: %v", err)
			}
			if s, err := Look(second, records); err != nil || s.Installed || !s.Partly {
				t.Errorf("another program: %+v, %v", s, err)
			}
			install(t, second, records)
			for _, text := range files(t, dir) {
				if strings.Contains(text, "/opt/one two/") {
					t.Errorf("the first program is still called: %s", text)
				}
			}
			remove(t, second, records)
			same(t, "after remove", files(t, dir), before)
			if _, err := os.Stat(records); !errors.Is(err, fs.ErrNotExist) {
				t.Error("the record is left")
			}
		})
	}
}

// A run that is cut off between any two files is completed by the next, or
// taken back.
func TestCutOff(t *testing.T) {
	for n := range 5 {
		h, dir := home(t)
		records := filepath.Join(t.TempDir(), "hooks")
		target, _ := For("openclaw", h, Program{Path: "/usr/bin/sessctl"})
		before := files(t, dir)
		p, err := PlanInstall(target, records)
		if err != nil {
			t.Fatal(err)
		}
		whole := p.Changes
		p.Changes = whole[:n%(len(whole)+1)]
		if err := p.Execute(); err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 {
			install(t, target, records)
			if s, err := Look(target, records); err != nil || !s.Installed {
				t.Errorf("cut off after %d files: the next install leaves %+v, %v", n, s, err)
			}
		}
		remove(t, target, records)
		same(t, "after remove", files(t, dir), before)
	}
}

// A file that changes between plan and act is not written over.
func TestChangedMeanwhile(t *testing.T) {
	h, _ := home(t)
	target, _ := For("claude", h, Program{Path: "/usr/bin/sessctl"})
	p, err := PlanInstall(target, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(h.Claude, "settings.json"), "{}")
	if err := p.Execute(); !errors.Is(err, ErrChanged) {
		t.Errorf("got %v", err)
	}
	if text, _ := os.ReadFile(filepath.Join(h.Claude, "settings.json")); !bytes.Equal(text, []byte("{}")) {
		t.Errorf("it is %q", text)
	}
}

// Settings that are a link into another directory are changed there.
func TestLinkedSettings(t *testing.T) {
	h, dir := home(t)
	kept := filepath.Join(dir, "dotfiles.json")
	write(t, kept, "{}\n")
	if err := os.Symlink(kept, filepath.Join(h.Claude, "settings.json")); err != nil {
		t.Skip(err)
	}
	target, _ := For("claude", h, Program{Path: "/usr/bin/sessctl"})
	install(t, target, filepath.Join(dir, "records"))
	if info, err := os.Lstat(filepath.Join(h.Claude, "settings.json")); err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	if text, _ := os.ReadFile(kept); !strings.Contains(string(text), "hook run claude") {
		t.Errorf("the file that it leads to is %s", text)
	}
	remove(t, target, filepath.Join(dir, "records"))
	if text, _ := os.ReadFile(kept); string(text) != "{}\n" {
		t.Errorf("after remove it is %q", text)
	}
}

func TestRefusals(t *testing.T) {
	h, _ := home(t)
	p := Program{Path: "/usr/bin/sessctl"}
	write(t, filepath.Join(h.OpenClaw, "openclaw.json"), `{"hooks": {"internal": {"enabled": false}}}`)
	target, _ := For("openclaw", h, p)
	if _, err := PlanInstall(target, t.TempDir()); err == nil || !strings.Contains(err.Error(), "/hooks/internal/enabled is false") {
		t.Errorf("hooks that were switched off: %v", err)
	}
	write(t, filepath.Join(h.Claude, "settings.json"), `{"hooks": []}`)
	target, _ = For("claude", h, p)
	if _, err := PlanInstall(target, t.TempDir()); err == nil || !strings.Contains(err.Error(), "/hooks is no object") {
		t.Errorf("hooks of another shape: %v", err)
	}
	if _, known := For("cursor", h, p); known {
		t.Error("an unknown runtime is known")
	}
}

func TestReadEvent(t *testing.T) {
	for text, want := range map[string]struct {
		runtime string
		event   Event
		action  Action
	}{
		`{"session_id":"a","transcript_path":"/x.jsonl","hook_event_name":"PreCompact","trigger":"manual"}`:  {"claude", Event{"claude", "PreCompact", "a", "", "/x.jsonl", ""}, Keep},
		`{"session_id":"a","hook_event_name":"SessionStart","source":"startup"}`:                             {"claude", Event{"claude", "SessionStart", "a", "", "", "startup"}, Nothing},
		`{"session_id":"a","hook_event_name":"SessionStart","source":"compact"}`:                             {"claude", Event{"claude", "SessionStart", "a", "", "", "compact"}, Point},
		`{"session_id":"a","hook_event_name":"PreCompress","trigger":"auto"}`:                                {"gemini", Event{"gemini", "PreCompress", "a", "", "", ""}, Nothing},
		`{"type":"session","action":"compact:before","sessionKey":"agent:coordinator:main","sessionId":"b"}`: {"openclaw", Event{"openclaw", "session:compact:before", "b", "coordinator", "", ""}, Keep},
		`{"type":"agent","action":"bootstrap","sessionKey":"agent:coordinator:main","sessionId":"b"}`:        {"openclaw", Event{"openclaw", "agent:bootstrap", "b", "coordinator", "", ""}, Point},
		`{"event":"session_shutdown","reason":"quit","sessionFile":"/s.jsonl","cwd":"/w"}`:                   {"pi", Event{"pi", "session_shutdown", "", "", "/s.jsonl", "quit"}, Keep},
	} {
		e, err := ReadEvent(want.runtime, []byte(text))
		if err != nil || e != want.event || e.Action() != want.action {
			t.Errorf("%s: %+v (%d), %v", text, e, e.Action(), err)
		}
	}
	for _, text := range []string{"", "{", "[]", "{}", `{"session_id":3}`} {
		if _, err := ReadEvent("claude", []byte(text)); err == nil {
			t.Errorf("%q is an event", text)
		}
	}
}

func TestCommandLine(t *testing.T) {
	p := Program{Path: "/opt/my tools/sessctl", Args: []string{"--data-dir=/it's"}}
	if got, want := p.line("hook", "run", "claude"), `'/opt/my tools/sessctl' hook run claude '--data-dir=/it'\''s'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What others have registered is neither changed nor taken away, also where it
// looks like ours; install says that it stays.
func TestOthersStay(t *testing.T) {
	h, dir := home(t)
	records := filepath.Join(t.TempDir(), "hooks")
	p := Program{Path: "/usr/bin/sessctl"}
	write(t, filepath.Join(h.Claude, "settings.json"), `{"hooks":{"PreCompact":[{"hooks":[{"type":"command","command":"/opt/wrap sessctl hook run claude --x"}]}]}}`)
	write(t, h.ClaudeJSON, `{"mcpServers":{"sessctl":{"command":"sessctl","args":["mcp","--agent","coordinator"],"env":{"K":"v"}}}}`)
	write(t, filepath.Join(h.Codex, "config.toml"), "a = \"\"\"\n[mcp_servers.sessctl]\nx\n\"\"\"\n[mcp_servers.sessctl]\ncommand = 'y'\nargs = ['mcp', '--agent', 'z']\n[mcp_servers.sessctl.env]\nK = 'v'\n")
	before := files(t, dir)
	for _, runtime := range []string{"claude", "codex"} {
		target, _ := For(runtime, h, p)
		if plan, err := PlanRemove(target, records); err != nil || plan.Needed() {
			t.Errorf("%s: remove without an install would change something: %v", runtime, err)
		}
		plan := install(t, target, records)
		if !strings.Contains(strings.Join(plan.Notes, " "), "stays as it is") {
			t.Errorf("%s: nothing says that a registration stays: %q", runtime, plan.Notes)
		}
		remove(t, target, records)
	}
	same(t, "after remove", files(t, dir), before)
}

// A hook that somebody has put beside ours stays when ours goes.
func TestHookBesideOurs(t *testing.T) {
	h, dir := home(t)
	records := filepath.Join(t.TempDir(), "hooks")
	target, _ := For("claude", h, Program{Path: "/usr/bin/sessctl"})
	install(t, target, records)
	settings := filepath.Join(h.Claude, "settings.json")
	text, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	write(t, settings, strings.Replace(string(text), `"hooks": [`+"\n", `"hooks": [{"type": "command", "command": "mine.sh"},`+"\n", 1))
	install(t, target, records)
	remove(t, target, records)
	if now := files(t, dir)[settings]; strings.Contains(now, "sessctl") || !strings.Contains(now, "mine.sh") {
		t.Errorf("it is %s", now)
	}
}

// An installation that fails half way leaves everything as it was.
func TestFailedInstall(t *testing.T) {
	h, dir := home(t)
	records := filepath.Join(t.TempDir(), "hooks")
	target, _ := For("claude", h, Program{Path: "/usr/bin/sessctl"})
	p, err := PlanInstall(target, records)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(h.Claude, "commands"), "in the way")
	before := files(t, dir)
	if err := p.Execute(); err == nil {
		t.Fatal("it is installed")
	}
	same(t, "after the failure", files(t, dir), before)
}

// A file of ours that was edited, a link that leads nowhere and an empty file are
// not written over.
func TestEdges(t *testing.T) {
	h, dir := home(t)
	records := filepath.Join(t.TempDir(), "hooks")
	target, _ := For("claude", h, Program{Path: "/usr/bin/sessctl"})
	write(t, filepath.Join(h.Claude, "settings.json"), "")
	before := files(t, dir)
	install(t, target, records)
	remove(t, target, records)
	same(t, "an empty file", files(t, dir), before)
	install(t, target, records)
	recall := filepath.Join(h.Claude, "commands", "recall.md")
	text, _ := os.ReadFile(recall)
	write(t, recall, string(text)+"mine\n")
	if _, err := PlanInstall(target, records); !errors.Is(err, ErrForeign) {
		t.Errorf("an edited file: %v", err)
	}
	if err := os.Remove(recall); err != nil {
		t.Fatal(err)
	}
	remove(t, target, records)
	if err := os.Remove(filepath.Join(h.Claude, "settings.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../gone.json", filepath.Join(h.Claude, "settings.json")); err != nil {
		t.Skip(err)
	}
	if _, err := PlanInstall(target, records); !errors.Is(err, ErrDangling) {
		t.Errorf("a link that leads nowhere: %v", err)
	}
}
