package cmd

import (
	"errors"
	"net/url"
	"os"
	"strings"
)

// apiKey returns the key that goes to the embedding server: from a file, from
// the variable that is configured, or, for OpenAI's own servers only, from
// OPENAI_API_KEY. Another server never gets a key that was not meant for it.
func (a *app) apiKey() (string, error) {
	c := a.config.Embed
	switch {
	case c.APIKeyFile != "":
		return readKey("embed.api_key_file", c.APIKeyFile)
	case c.APIKeyEnv != "":
		return strings.TrimSpace(a.getenv(c.APIKeyEnv)), nil
	case c.Provider == "openai" && isOpenAI(c.BaseURL):
		return strings.TrimSpace(a.getenv("OPENAI_API_KEY")), nil
	}
	return "", nil
}

func isOpenAI(base string) bool {
	if base == "" {
		return true
	}
	u, err := url.Parse(base)
	return err == nil && u.Scheme == "https" && u.Host == "api.openai.com"
}

// readKey reads a file of one line, which the configuration's key names.
func readKey(key, path string) (string, error) {
	data, err := os.ReadFile(path)
	secret := strings.TrimSpace(string(data))
	if err == nil && (secret == "" || strings.ContainsAny(secret, "\r\n")) {
		err = errors.New("it does not hold one line with a key")
	}
	if err != nil {
		return "", usageError("the file holds the key and nothing else", "%s %s: %w", key, path, err)
	}
	return secret, nil
}
