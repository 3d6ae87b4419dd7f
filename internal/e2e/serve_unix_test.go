//go:build unix

package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/tier"
)

// served is a home with the sample agents and a `sessctl serve` over it.
type served struct {
	*testing.T
	home    string
	client  *http.Client
	url     string
	token   string
	process *exec.Cmd
	log     *bytes.Buffer
}

func newServed(t *testing.T) *served {
	t.Helper()
	s := &served{T: t, home: t.TempDir(), client: &http.Client{Timeout: 3 * time.Minute}}
	if err := os.CopyFS(s.home, os.DirFS(filepath.Join(module, "testdata", "sample"))); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-24 * time.Hour)
	err := filepath.WalkDir(s.home, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Chtimes(path, past, past)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *served) command(args ...string) *exec.Cmd {
	c := exec.Command(buildProgram(s.T), args...)
	c.Env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "SESSCTL_SERVE_MONITOR_INTERVAL=0"}
	return c
}

// start starts the server and waits for the line that says where it is.
func (s *served) start(args ...string) {
	s.Helper()
	c := s.command(append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	stderr, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	s.process, s.log = c, &bytes.Buffer{}
	s.Cleanup(func() { _ = c.Process.Kill() })
	lines := bufio.NewReader(io.TeeReader(stderr, s.log))
	line, err := lines.ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		s.Fatalf("the server says %q (%v)", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	s.url = url
	if token, err := os.ReadFile(filepath.Join(s.home, ".local/share/sessctl/serve-token")); err == nil {
		s.token = strings.TrimSpace(string(token))
	}
}

func (s *served) kill() {
	s.Helper()
	if err := s.process.Process.Kill(); err != nil {
		s.Fatal(err)
	}
	_ = s.process.Wait() // it was killed
}

// ask sends a request and returns the status and the body.
func (s *served) ask(method, path, body, token string) (int, []byte, http.Header) {
	s.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := s.client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	return response.StatusCode, text, response.Header
}

// jobState is what of a job counts here.
type jobState struct {
	State  string `json:"state"`
	Reason string `json:"reason"`
	Result *struct {
		Outcome  string `json:"outcome"`
		Document struct {
			Sessions []struct {
				Outcome string `json:"outcome"`
			} `json:"sessions"`
		} `json:"document"`
	} `json:"result"`
}

// ended waits for the end of a job.
func (s *served) ended(at string) (j jobState) {
	s.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		status, body, _ := s.ask(http.MethodGet, at, "", s.token)
		if status != http.StatusOK {
			s.Fatalf("%s after a restart: %d %s", at, status, body)
		}
		if err := json.Unmarshal(body, &j); err != nil {
			s.Fatal(err)
		}
		if j.State == "finished" || j.State == "interrupted" {
			return j
		}
	}
	s.Fatalf("the job does not end: %+v", j)
	return j
}

// A job that was accepted is finished or told of, whenever the server is killed.
func TestServeKilled(t *testing.T) {
	moments := []time.Duration{0, 60 * time.Millisecond}
	if tier.Long() {
		moments = append(moments, 5*time.Millisecond, 15*time.Millisecond, 30*time.Millisecond, 120*time.Millisecond, 250*time.Millisecond)
	}
	for _, after := range moments {
		s := newServed(t)
		s.start()
		status, body, header := s.ask(http.MethodPost, "/api/v1/compact", `{"agent":"coordinator"}`, s.token)
		if status != http.StatusAccepted {
			t.Fatalf("%d %s", status, body)
		}
		time.Sleep(after) // whenever it is killed, the outcome is the same
		s.kill()
		s.start()
		if j := s.ended(header.Get("Location")); j.State != "finished" || j.Result.Outcome != "ok" {
			t.Errorf("killed after %s: %+v", after, j)
		}
		if out, err := s.command("doctor", "--quiet").CombinedOutput(); err != nil {
			t.Errorf("killed after %s: doctor: %v\n%s", after, err, out)
		}
		if out, err := s.command("archives", "verify").CombinedOutput(); err != nil || !strings.Contains(string(out), "1 archive") {
			t.Errorf("killed after %s: %v\n%s", after, err, out)
		}
		s.kill()
	}
}

// SIGTERM ends the server, with the exit code of a success. A second server on
// the same data directory refuses to start.
func TestServeStopped(t *testing.T) {
	s := newServed(t)
	s.start()
	second := s.command("serve", "--listen", "127.0.0.1:0")
	if out, err := second.CombinedOutput(); second.ProcessState.ExitCode() != 75 || !strings.Contains(string(out), "another sessctl serve") {
		t.Errorf("a second server: %v\n%s", err, out)
	}
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.process.Wait(); err != nil {
		t.Errorf("%v\n%s", err, s.log)
	}
}

// The mode of a unix socket says who may use it; one that a killed server left is
// replaced, and one that is in use is not.
func TestServeSocket(t *testing.T) {
	s := newServed(t)
	dir, err := os.MkdirTemp("", "s") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s.sock")
	s.client.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	for range 2 {
		s.start("--listen", "unix:"+path)
		if s.url != "unix:"+path {
			t.Errorf("it listens on %s", s.url)
		}
		s.url = "http://localhost"
		if status, body, _ := s.ask(http.MethodGet, "/api/v1/sessions/sizes", "", ""); status != http.StatusOK {
			t.Errorf("without a token: %d %s", status, body)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info, err)
		}
		other := s.command("serve", "--listen", "unix:"+path, "--data-dir", t.TempDir())
		if out, _ := other.CombinedOutput(); other.ProcessState.ExitCode() != 75 || !strings.Contains(string(out), "another server listens") {
			t.Errorf("a second server on the socket: %s", out)
		}
		s.kill()
		if _, err := os.Stat(path); err != nil {
			t.Error("a killed server leaves its socket: ", err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := s.command("serve", "--listen", "unix:"+path)
	out, _ := c.CombinedOutput()
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" || c.ProcessState.ExitCode() != 1 {
		t.Errorf("a file in the place of the socket: %q %v\n%s", text, err, out)
	}
}

// A thousand requests at once with the token and a thousand without, among slow
// clients: /healthz answers throughout, everybody is answered, and the memory
// stays bounded. Only with SESSCTL_LONG=1.
func TestServeFlood(t *testing.T) {
	tier.SkipUnlessLong(t, "it sends thousands of requests")
	const clients, mostMemory = 1000, 90 << 10 // KiB
	s := newServed(t)
	s.start()
	_, _, header := s.ask(http.MethodPost, "/api/v1/compact", `{"agent":"coordinator"}`, s.token)
	s.ended(header.Get("Location"))
	host := strings.TrimPrefix(s.url, "http://")
	stop := make(chan struct{})
	var slow sync.WaitGroup
	for i := range 20 {
		slow.Go(func() { slowClient(host, s.token, i%2 == 0, stop) })
	}
	health := newHealth(s.url)
	slow.Go(func() { health.watch(stop) })
	s.client.Transport = &http.Transport{MaxIdleConns: clients, MaxIdleConnsPerHost: clients}
	for _, token := range []string{s.token, "", s.token} {
		counts, took := s.flood(clients, token)
		t.Logf("%d requests at once, token %v: %v in %s", clients, token != "", counts, took)
		if token == "" && counts[http.StatusUnauthorized] != clients {
			t.Errorf("answered %v", counts)
		}
		// on a slow machine some are told to come again
		if token != "" && (counts[http.StatusOK] == 0 || counts[http.StatusOK]+counts[http.StatusServiceUnavailable] != clients) {
			t.Errorf("answered %v", counts)
		}
	}
	close(stop)
	slow.Wait()
	peak := s.memory("VmHWM")
	t.Logf("/healthz %d times, the slowest %s, p95 %s; memory: peak %d KiB, now %d KiB", len(health.took), slices.Max(health.took), quantile(health.took, 0.95), peak, s.memory("VmRSS"))
	if health.failed > 0 || len(health.took) < 10 {
		t.Errorf("/healthz failed %d of %d times", health.failed, len(health.took)+health.failed)
	}
	if peak > mostMemory {
		t.Errorf("the server took %d KiB", peak)
	}
}

// flood sends so many requests at once and counts the answers.
func (s *served) flood(clients int, token string) (map[int]int, time.Duration) {
	var lock sync.Mutex
	counts := map[int]int{}
	var all sync.WaitGroup
	began := time.Now()
	for range clients {
		all.Go(func() {
			r, err := http.NewRequest(http.MethodGet, s.url+"/api/v1/recall?q=which+port+does+the+label+printer+use", nil)
			status := -1
			if err == nil {
				r.Header.Set("Authorization", "Bearer "+token)
				if response, err := s.client.Do(r); err == nil {
					status = response.StatusCode
					_, _ = io.Copy(io.Discard, response.Body)
					response.Body.Close()
				}
			}
			lock.Lock()
			defer lock.Unlock()
			counts[status]++
		})
	}
	all.Wait()
	return counts, time.Since(began)
}

// slowClient sends a request a byte at a time, or reads its answer so.
func slowClient(host, token string, sends bool, stop chan struct{}) {
	request := "GET /api/v1/sessions/sizes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n\r\n"
	for {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			return
		}
		if !sends {
			_, err = io.WriteString(conn, request)
		}
		for i := 0; err == nil; i++ {
			select {
			case <-stop:
				conn.Close()
				return
			case <-time.After(time.Second):
			}
			if sends {
				_, err = io.WriteString(conn, request[i%len(request):][:1])
			} else {
				_, err = conn.Read(make([]byte, 1))
			}
		}
		conn.Close()
	}
}

// health asks /healthz again and again, each time by a new connection.
type health struct {
	client *http.Client
	url    string
	took   []time.Duration
	failed int
}

func newHealth(url string) *health {
	return &health{url: url + "/healthz", client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
}

func (h *health) watch(stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
		began := time.Now()
		response, err := h.client.Get(h.url)
		if err != nil || response.StatusCode != http.StatusOK {
			h.failed++
			continue
		}
		response.Body.Close()
		h.took = append(h.took, time.Since(began))
	}
}

func quantile(all []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[int(q*float64(len(sorted)-1))]
}

// memory reads a figure of the server's process, in KiB; 0 where there is none.
func (s *served) memory(name string) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			n, _ := strconv.Atoi(strings.Fields(value)[0]) // the kernel writes a number
			return n
		}
	}
	return 0
}
