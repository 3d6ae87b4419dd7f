package adapters_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/qwen"
)

// An output belongs to the one session whose log names it; one that several name, or
// none, stands for itself. Logs of another directory are not looked at.
func TestQwenOutputs(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, filepath.FromSlash(name))
		qwenMust(t, os.MkdirAll(filepath.Dir(path), 0o700))
		qwenMust(t, os.WriteFile(path, []byte(text), 0o600))
	}
	hashOf := func(cwd string) string {
		sum := sha256.Sum256([]byte(cwd))
		return hex.EncodeToString(sum[:])
	}
	bakery, mill := hashOf("/home/lea/bakery"), hashOf("/home/lea/mill")
	log := func(cwd string, named ...string) string {
		text := `{"uuid":"a","parentUuid":null,"sessionId":"s","type":"user","cwd":"` + cwd + `","message":{"role":"user","parts":[{"text":"here"}]}}` + "\n"
		for i, name := range named {
			text += fmt.Sprintf(`{"uuid":"%d","parentUuid":"a","sessionId":"s","type":"tool_result","message":{"parts":[{"functionResponse":{"response":{"output":"%s saved to: /other/.qwen/tmp/%s\nTo read"}}}]}}`+"\n", i, strings.Repeat("x", 300<<10), name)
		}
		return text
	}
	write("projects/-home-lea-bakery/chats/one.jsonl", `{"type":"a-later-version-s"}`+"\n"+log("/home/lea/bakery", bakery+"/own.output", bakery+"/shared.output", mill+"/mill.output"))
	write("projects/-home-lea-bakery/chats/two.jsonl", log("/home/lea/bakery", bakery+"/shared.output", bakery+"/gone.output"))
	write("projects/-home-lea-bakery/subagents/one/agent-a.jsonl", log("/home/lea/bakery", bakery+"/agents.output"))
	write("projects/-home-lea-other/chats/three.jsonl", log("/home/lea/other", bakery+"/own.output"))
	for _, name := range []string{"own", "shared", "nobodys", "agents"} {
		write("tmp/"+bakery+"/"+name+".output", name)
	}
	write("tmp/"+mill+"/mill.output", "mill")
	write("tmp/"+bakery+"/clipboard.png", "no output")
	write("tmp/notes/x.output", "no hash")
	listing, err := qwen.Open(root).List(t.Context())
	qwenMust(t, err)
	var got []string
	for _, ref := range listing.Refs {
		if ref.Kind == session.KindOutput {
			got = append(got, fmt.Sprint(ref.Agent, " ", ref.ID, " of ", ref.Parent))
		}
	}
	want := []string{
		"home-lea-bakery agents.output of one", "tmp nobodys.output of ", "home-lea-bakery own.output of one", "home-lea-bakery shared.output of ",
		"home-lea-bakery mill.output of one",
	}
	if mill < bakery {
		want = append(want[4:], want[:4]...)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(listing.Notices) > 0 {
		t.Errorf("%v (-want +got):\n%s", listing.Notices, diff)
	}
}

// An output belongs to the session whose log names it, in the way in which paths of
// its system are written, wherever in the log that is.
func TestQwenOutputsAreFoundByTheirPaths(t *testing.T) {
	const unixHome, windowsHome = "/home/lea/shop", `C:\\Users\\Lea\\Shop`
	of := func(directory string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(directory))) }
	unix, windows := of(unixHome), of(`c:\users\lea\shop`)
	for name, test := range map[string]struct {
		directory, hash, text string
		named                 bool
	}{
		"a path":                   {unixHome, unix, "/home/lea/.qwen/tmp/" + unix + "/run_1.output", true},
		"of Windows":               {windowsHome, windows, `C:\\Users\\Lea\\.qwen\\tmp\\` + windows + `\\run_1.output`, true},
		"of Windows, quoted again": {windowsHome, windows, `{\"file\":\"C:\\\\Users\\\\Lea\\\\.qwen\\\\tmp\\\\` + windows + `\\\\run_1.output\"}`, true},
		"far into the log":         {unixHome, unix, strings.Repeat("x", 256<<10-150) + "/home/lea/.qwen/tmp/" + unix + "/run_1.output", true},
		"another name":             {unixHome, unix, "/home/lea/.qwen/tmp/" + unix + "/run_2.output", false},
		"another directory":        {unixHome, unix, "/home/lea/.qwen/tmp/" + windows + "/run_1.output", false},
		"only its name":            {unixHome, unix, "run_1.output", false},
		"not below tmp":            {unixHome, unix, "/home/lea/.qwen/temp/" + unix + "/run_1.output", false},
		"without a break":          {unixHome, unix, "tmp" + unix + "run_1.output", false},
		"a directory below":        {unixHome, unix, "/home/lea/.qwen/tmp/" + unix + "/x/run_1.output", false},
	} {
		root := t.TempDir()
		for path, text := range map[string]string{
			"projects/-home-lea-shop/chats/5b0c1d2e-3f40-4a51-8b62-7c83d94ea5f6.jsonl": `{"uuid":"u","sessionId":"5b0c1d2e-3f40-4a51-8b62-7c83d94ea5f6","timestamp":"2026-03-01T10:00:00Z","type":"user","cwd":"` + test.directory + `","message":{"role":"user","parts":[{"text":"` + test.text + `"}]}}` + "\n",
			"tmp/" + test.hash + "/run_1.output":                                       "ninety sacks\n",
		} {
			path = filepath.Join(root, filepath.FromSlash(path))
			qwenMust(t, os.MkdirAll(filepath.Dir(path), 0o700))
			qwenMust(t, os.WriteFile(path, []byte(text), 0o600))
		}
		listing, err := qwen.Open(root).List(t.Context())
		if err != nil || len(listing.Refs) != 2 || len(listing.Notices) > 0 {
			t.Fatalf("%s: %v %+v", name, err, listing)
		}
		if named := listing.Refs[1].Parent != ""; named != test.named {
			t.Errorf("%s: named %v, %+v", name, named, listing.Refs[1])
		}
	}
}
