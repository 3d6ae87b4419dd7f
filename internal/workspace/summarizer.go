package workspace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// Summarizers returns what makes the summarizer of one session: the extractive
// one, or one that asks the model of summarize.provider.
func Summarizers(run *Run, focus string) (func(compact.SummaryOrder) compact.Summarizer, error) {
	endpoint, err := Endpoint(run, "summarize", run.Config.Summarize)
	offline := offlineSummarizer(focus)
	if err != nil || endpoint.Provider == summarize.ProviderExtractive {
		return offline, err
	}
	return func(o compact.SummaryOrder) compact.Summarizer {
		of := endpoint
		of.Agent = o.Ref.Agent
		client, err := summarize.NewClient(of)
		if err != nil || o.Offline { // the same endpoint was checked before
			return offline(o)
		}
		options := summarize.WrittenOptions{Options: summarize.Options{Focus: focus, MaxRunes: o.MaxRunes, Checkpoint: checkpoint(o), ThirdPerson: thirdPerson(o)}, Style: o.Style, SplitTurn: o.SplitTurn, Client: client}
		return written{summarize.NewWritten(options)}
	}, nil
}

// offlineSummarizer makes extractive summaries, whatever is configured.
func offlineSummarizer(focus string) func(compact.SummaryOrder) compact.Summarizer {
	return func(o compact.SummaryOrder) compact.Summarizer {
		most := min(cmp.Or(o.MaxRunes, summarize.DefaultMaxRunes), summarize.DefaultMaxRunes)
		return extractive{summarize.NewExtractive(summarize.Options{Focus: focus, MaxRunes: most, Checkpoint: checkpoint(o), ThirdPerson: thirdPerson(o), Secrets: o.Secrets})}
	}
}

// checkpoint reports whether a runtime goes on from the summary, in the form
// that it would give it itself.
func checkpoint(o compact.SummaryOrder) bool {
	return o.MaxRunes > 0 && o.Style == session.StyleCheckpoint
}

// thirdPerson reports whether a runtime goes on from a summary that tells in prose what
// the person and the agent did.
func thirdPerson(o compact.SummaryOrder) bool {
	return o.MaxRunes > 0 && o.Style == session.StyleThird
}

// Endpoint is the model of a task ("summarize" or "facts"), checked.
func Endpoint(run *Run, task string, c ModelConfig) (summarize.Endpoint, error) {
	if run.Meter == nil {
		run.Meter = summarize.NewMeter(run.Config.LLM.MaxCalls)
	}
	e := summarize.Endpoint{
		Provider: c.Provider, Model: c.Model, BaseURL: c.BaseURL, Timeout: c.Timeout, Window: c.Window, Meter: run.Meter,
	}
	if !slices.Contains(summarize.Providers(), c.Provider) {
		return e, failure.Usage("providers: "+strings.Join(summarize.Providers(), ", "), "unknown provider %q (%s.provider)", c.Provider, task)
	}
	if c.Provider == summarize.ProviderExtractive {
		return e, nil
	}
	if c.Provider == summarize.ProviderOllama && c.BaseURL == "" {
		e.BaseURL = embed.OllamaURL(run.Getenv("OLLAMA_HOST"))
	}
	var err error
	if e.Key, err = modelKey(run, task, c); err != nil {
		return e, err
	}
	if _, err := summarize.NewClient(e); err != nil {
		return e, failure.Usage(fmt.Sprintf("set %s.model and %s.base_url; docs/summaries.md has an example", task, task), "%s: %w", task, err)
	}
	return e, nil
}

// modelKey reads the key of a task: from the file if one is named, else from
// the variable, else from the provider's usual one.
func modelKey(run *Run, task string, c ModelConfig) (string, error) {
	if c.KeyFile != "" {
		return readKey(task+".api_key_file", c.KeyFile)
	}
	usual := map[string]string{summarize.ProviderOpenAI: "OPENAI_API_KEY", summarize.ProviderAnthropic: "ANTHROPIC_API_KEY"}[c.Provider]
	if c.BaseURL != "" {
		usual = "" // a key is not sent to an address it was not made for
	}
	name := cmp.Or(c.KeyEnv, usual)
	if name == "" {
		return "", nil
	}
	key := strings.TrimSpace(run.Getenv(name))
	if key == "" && c.KeyEnv != "" {
		return "", failure.Usage("set it, or name another with "+task+".api_key_env", "the variable %s, which is to hold the API key (%s.api_key_env), is empty", name, task)
	}
	return key, nil
}

// extractive is a compact.Summarizer over the extractive summary.
type extractive struct{ *summarize.Extractive }

// Summary implements compact.Summarizer. Without a model the lessons are what
// people said must, must never or should be.
func (s extractive) Summary(context.Context) (compact.Summary, error) {
	return summaryOf(s.Extractive.Summary()), nil
}

// written is a compact.Summarizer over a model's summary.
type written struct{ *summarize.Written }

// Summary implements compact.Summarizer.
func (s written) Summary(ctx context.Context) (compact.Summary, error) {
	made, err := s.Written.Summary(ctx)
	return summaryOf(made), err
}

func summaryOf(s summarize.Summary) compact.Summary {
	return compact.Summary{
		Kind: s.Kind, Text: s.Text, Prose: s.Prose(), Lessons: s.Lessons(),
		Empty: s.Model == "" && len(s.Sections) == 0,
		Wrote: compact.Wrote{Model: s.Model, Degraded: s.Degraded, Reason: s.Reason, Calls: s.Calls, Tokens: s.Tokens},
		Loss:  compact.Loss{Identifiers: s.Identifiers, Lost: s.Lost, Indexed: s.Indexed},
	}
}
