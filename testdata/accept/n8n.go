package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// n8nInstall is what installs n8n: one of its dependencies is not on npm, but an
// older version of it is, and native modules that the workflow does not need are
// not built. The database driver is.
func n8nInstall(dir string, p npmPackage) ([][]string, error) {
	description := fmt.Sprintf(`{"private": true, "dependencies": {%q: %q}, "overrides": {"xlsx": "0.18.5"}}`, p.name, p.version)
	return [][]string{
		{"install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"},
		{"rebuild", "--prefix", dir, "--loglevel=error", "sqlite3"},
	}, os.WriteFile(filepath.Join(dir, "package.json"), []byte(description), 0o644)
}

// playN8N imports contrib/n8n/session-monitor.json into n8n and runs it once
// against a server that answers as sessctl serve does.
func playN8N(ctx context.Context, s *stage) {
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization")+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"sessions": [{"runtime": "openclaw", "agent": "coordinator", "tokens": 168044}]}`)
	}))
	defer server.Close()
	credential := filepath.Join(s.home, "credential.json")
	s.must("write the credential", os.WriteFile(credential, []byte(`[{"id": "sessctlToken0001", "name": "sessctl token", "type": "httpHeaderAuth", "data": {"name": "Authorization", "value": "Bearer of-the-test"}}]`), 0o600))
	workflow, err := filepath.Abs("contrib/n8n/session-monitor.json")
	s.must("find the workflow", err)
	n8n := func(args ...string) string {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		c := s.command(ctx, s.home, filepath.Join(s.runtime.bin, "n8n"), args...)
		c.Env = append(c.Env, "N8N_USER_FOLDER="+s.home, "N8N_DIAGNOSTICS_ENABLED=false", "N8N_RUNNERS_ENABLED=false", "N8N_BLOCK_ENV_ACCESS_IN_NODE=false",
			"SESSCTL_URL="+server.URL, "ALERT_URL="+server.URL+"/webhook/agent-alert")
		out, err := c.CombinedOutput()
		s.must("n8n "+strings.Join(args, " ")+": "+lastLines(string(out)), err)
		return string(out)
	}
	n8n("import:credentials", "--input="+credential)
	same(s, "the workflow is imported", strings.Contains(n8n("import:workflow", "--input="+workflow), "Successfully imported 1 workflow"), true)
	n8n("execute", "--id=sessctlSessMon01")
	mu.Lock()
	defer mu.Unlock()
	all := strings.Join(asked, "\n")
	same(s, "it asks for the sessions over the threshold", strings.Contains(all, "GET /api/v1/sessions/sizes?over=true Bearer of-the-test"), true)
	same(s, "it has the session compacted", strings.Contains(all, `POST /api/v1/compact Bearer of-the-test {"agent":"coordinator","runtime":"openclaw"`), true)
	same(s, "it fires the alert", strings.Contains(all, `POST /webhook/agent-alert  {"type":"session.needs_compaction","subject":"openclaw/coordinator"`), true)
}
