package metrics

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// family is one metric: its name without the prefix, its help and its labels.
type family struct {
	name, help string
	labels     []string
	kind       string // gauge or counter
	// fill adds the series of a reading.
	fill func(r Reading, add func(value float64, labels ...string))
}

// prefix begins the name of every metric.
const prefix = "sessctl_"

func agentLabels() []string { return []string{"runtime", "agent"} }

// gauge is a family without labels, or with those of its fill.
func gauge(name, help string, labels []string, fill func(r Reading, add func(float64, ...string))) family {
	return family{name: name, help: help, labels: labels, kind: "gauge", fill: fill}
}

// perAgent is a family with one series for each agent that has something to say.
func perAgent(name, help string, value func(a Agent) (float64, bool)) family {
	return gauge(name, help, agentLabels(), func(r Reading, add func(float64, ...string)) {
		for _, a := range r.Agents {
			if v, known := value(a); known {
				add(v, a.Runtime, a.Agent)
			}
		}
	})
}

// families are all metrics (docs/monitor.md).
func families() []family {
	return slices.Concat(agentFamilies(), storeFamilies(), runFamilies())
}

func agentFamilies() []family {
	main := func(value func(a Agent) float64) func(a Agent) (float64, bool) {
		return func(a Agent) (float64, bool) { return value(a), a.Sessions > 0 }
	}
	return []family{
		perAgent("context_tokens", "Tokens in the context of the agent's session; of the fullest where it has several.",
			main(func(a Agent) float64 { return float64(a.Tokens) })),
		perAgent("context_ratio", "Part of the model's context window that the agent's session fills, where the window is known.",
			func(a Agent) (float64, bool) { return a.Ratio, a.Ratio > 0 }),
		perAgent("sessions", "Sessions of the agent that a compaction of everything means.",
			main(func(a Agent) float64 { return float64(a.Sessions) })),
		perAgent("sessions_over", "Sessions of the agent that are due for a compaction.",
			main(func(a Agent) float64 { return float64(a.Over) })),
		perAgent("log_bytes", "Bytes of all session logs of the agent.",
			func(a Agent) (float64, bool) { return float64(a.LogBytes), a.LogBytes > 0 || a.Sessions > 0 }),
		perAgent("archive_bytes", "Bytes of all archives of the agent's sessions, as they are stored.",
			func(a Agent) (float64, bool) { return float64(a.ArchiveBytes), a.ArchiveBytes > 0 }),
		perAgent("pending_vectors", "Records of the agent in memory that wait for an embedding.",
			func(a Agent) (float64, bool) { return float64(a.Pending), true }),
		gauge("purge_deadline_seconds", "When the agent's runtime deletes the first log that has no archive, in seconds since the epoch.", []string{"agent"}, fillPurge),
	}
}

// fillPurge has no label for the runtime: agents of the same name are one.
func fillPurge(r Reading, add func(float64, ...string)) {
	first := map[string]time.Time{}
	for _, a := range r.Agents {
		if at := first[a.Agent]; !a.Purge.IsZero() && (at.IsZero() || a.Purge.Before(at)) {
			first[a.Agent] = a.Purge
		}
	}
	for _, agent := range slices.Sorted(maps.Keys(first)) {
		add(seconds(first[agent]), agent)
	}
}

func storeFamilies() []family {
	return []family{
		gauge("context_threshold_tokens", "Tokens at which a session is due for a compaction, 0 if they do not decide.", nil,
			func(r Reading, add func(float64, ...string)) { add(float64(r.Threshold)) }),
		gauge("context_threshold_ratio", "Part of its context window at which a session is due for a compaction, 0 if that does not decide.", nil,
			func(r Reading, add func(float64, ...string)) { add(float64(r.Percent) / 100) }),
		gauge("sessions_due", "Sessions that are due for a compaction, by the part of the threshold or the rule that made them so.", []string{"by"},
			func(r Reading, add func(float64, ...string)) {
				add(float64(r.Due.Tokens), "tokens")
				add(float64(r.Due.Share), "share")
				add(float64(r.Due.Runtime), "runtime")
			}),
		gauge("archives", "Archives in the catalogue.", nil, func(r Reading, add func(float64, ...string)) {
			if r.Archives != nil {
				add(float64(r.Archives.Count))
			}
		}),
		gauge("damaged_archives", "Archives that are missing or damaged, as far as that is seen without reading them.", nil, func(r Reading, add func(float64, ...string)) {
			if r.Archives != nil {
				add(float64(r.Archives.Damaged))
			}
		}),
		gauge("memory_bytes", "Bytes of the memory.", nil, func(r Reading, add func(float64, ...string)) {
			if r.Memory != nil {
				add(float64(r.Memory.Bytes))
			}
		}),
		gauge("memory_records", "Records in the memory.", nil, func(r Reading, add func(float64, ...string)) {
			if r.Memory != nil {
				add(float64(r.Memory.Records))
			}
		}),
		gauge("disk_free_bytes", "Bytes that are free on the file system of a directory.", []string{"directory"}, func(r Reading, add func(float64, ...string)) {
			seen := map[string]bool{}
			for _, d := range r.Disks {
				if name := label(d.Directory); !seen[name] {
					seen[name] = true
					add(float64(d.Free), name)
				}
			}
		}),
		gauge("unreadable", "Session logs, directories and stores that could not be read.", nil,
			func(r Reading, add func(float64, ...string)) { add(float64(r.Unreadable)) }),
		gauge("unread", "What was seen and not read, by cause: also what sessctl passes over every time.", []string{"cause"}, func(r Reading, add func(float64, ...string)) {
			for _, cause := range slices.Sorted(maps.Keys(r.Unread)) {
				add(float64(r.Unread[cause]), label(cause))
			}
		}),
	}
}

func runFamilies() []family {
	perProfile := func(value func(p Profile) (float64, bool)) func(r Reading, add func(float64, ...string)) {
		return func(r Reading, add func(float64, ...string)) {
			if r.Runs == nil {
				return
			}
			seen := map[string]bool{}
			for _, p := range r.Runs.Profiles {
				if v, known := value(p); known && !seen[label(p.Profile)] {
					seen[label(p.Profile)] = true
					add(v, label(p.Profile))
				}
			}
		}
	}
	return []family{
		gauge("last_success_timestamp_seconds", "When the last successful run of a profile ended, in seconds since the epoch.", []string{"profile"},
			perProfile(func(p Profile) (float64, bool) { return seconds(p.Success), !p.Success.IsZero() })),
		gauge("run_duration_seconds", "How long the last run of a profile took.", []string{"profile"},
			perProfile(func(p Profile) (float64, bool) { return p.Duration.Seconds(), true })),
		{
			name: "runs_total", help: "Runs of profiles, by how they ended.", labels: []string{"outcome"}, kind: "counter",
			fill: func(r Reading, add func(float64, ...string)) {
				if r.Runs != nil {
					for _, outcome := range slices.Sorted(maps.Keys(r.Runs.Total)) {
						add(float64(r.Runs.Total[outcome]), outcome)
					}
				}
			},
		},
		gauge("events_waiting", "Events that are still to be delivered.", nil, func(r Reading, add func(float64, ...string)) {
			if r.Events != nil {
				add(float64(r.Events.Waiting))
			}
		}),
		gauge("events_dead", "Events that could not be delivered and are not tried again.", nil, func(r Reading, add func(float64, ...string)) {
			if r.Events != nil {
				add(float64(r.Events.Dead))
			}
		}),
		gauge("read_timestamp_seconds", "When these figures were read, in seconds since the epoch.", nil,
			func(r Reading, add func(float64, ...string)) { add(seconds(r.Time)) }),
		gauge("build_info", "The version of sessctl.", []string{"version", "goversion"},
			func(r Reading, add func(float64, ...string)) { add(1, label(r.Version), label(r.Go)) }),
	}
}

func seconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }

// Names returns the names of all metrics, in order.
func Names() []string {
	var names []string
	for _, f := range families() {
		names = append(names, prefix+f.name)
	}
	slices.Sort(names)
	return names
}

// Write writes a reading in the text format of Prometheus, the metrics in order
// of their names. Nothing is written when it fails.
func Write(w io.Writer, r Reading) error {
	r.Agents = r.named()
	all := families()
	slices.SortFunc(all, func(a, b family) int { return strings.Compare(a.name, b.name) })
	var text []byte
	for _, f := range all {
		samples, err := f.samples(r)
		if err != nil {
			return fmt.Errorf("make metrics: %w", err)
		}
		text = f.append(text, samples)
	}
	_, err := w.Write(text)
	return err
}
