package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// gemini is a home with the real Gemini CLI.
type gemini struct {
	*stage
	dir string
}

func newGemini(s *stage) *gemini {
	g := &gemini{s, filepath.Join(s.home, "work")}
	home := filepath.Join(s.home, ".gemini")
	s.must("make directories", errors.Join(os.MkdirAll(g.dir, 0o700), os.MkdirAll(home, 0o700)))
	s.must("write settings", writeFile(filepath.Join(home, "settings.json"), object{
		"security": object{"auth": object{"selectedType": "gemini-api-key"}}, "general": object{"disableAutoUpdate": true, "enableAutoUpdate": false},
		"privacy": object{"usageStatisticsEnabled": false},
	}))
	return g
}

// turn lets Gemini CLI take one turn.
func (g *gemini) turn(ctx context.Context, say string, args ...string) {
	c := g.command(ctx, g.dir, filepath.Join(g.runtime.bin, "gemini"), append(args, "-m", "gemini-2.5-flash", "--yolo", "-p", say)...)
	c.Env = append(c.Env, "GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL="+strings.TrimSuffix(g.model.url(), "/v1"), "GEMINI_TELEMETRY_ENABLED=false", "GEMINI_CLI_TRUST_WORKSPACE=true")
	out, err := c.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, lastLines(string(out)))
	}
	g.must("a turn of gemini", err)
}
