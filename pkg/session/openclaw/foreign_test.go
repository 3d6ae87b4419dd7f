package openclaw

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// foreign are files and answers as the runtime, another program or an accident may
// have left them.
func foreign(f *testing.F) {
	const deep = 20_000
	for _, text := range []string{
		"", "{}", "[]", "null", "{", "\xef\xbb\xbf{}", "{}{}", `{"":{}}`, `{"a":1,"a":{"sessionId":"x"}}`, `{"a":{"sessionId":1,"sessionFile":[],"model":{},"updatedAt":"x","contextTokens":-1}}`,
		`{"agent:main:main":{"sessionId":"11111111-1111-4111-8111-111111111111","sessionFile":"../../x.jsonl","updatedAt":1e400,"contextTokens":1e308,"totalTokens":9007199254740993,"totalTokensFresh":true}}`,
		`{"pid":1}`, `{"pid":-1}`, `{"pid":4294967297}`, `{"pid":1,"starttime":"x","createdAt":"now"}`, `{"pid":1,"starttime":18446744073709551616,"createdAt":9007199254740992}`,
		`{"pid":1,"configPath":1}`, `{"pid":1,"port":70000,"startTime":1e300}`, `{"error":{"message":"no"}}`, `{"error":1}`, `{"error":{"message":null}}`,
		strings.Repeat("[", deep), strings.Repeat(`{"a":`, deep) + "1" + strings.Repeat("}", deep), `{"a":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "}",
	} {
		f.Add([]byte(text))
	}
}

// An index that is read may be edited: what is put back as it was leaves every
// byte as it is.
func FuzzIndex(f *testing.F) {
	foreign(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		x, err := parseIndex(text)
		if err != nil {
			return
		}
		var keys []string
		for _, e := range x.entries {
			if (e.session == "") == (e.problem == "") {
				t.Errorf("%q: entry %+v", text, e)
			}
			keys = append(keys, e.key)
		}
		same, err := x.edited(keys, func(_ string, old []byte) ([]byte, error) { return old, nil })
		if err == nil && !bytes.Equal(same, text) || err != nil && x.strict() {
			t.Errorf("%q became %q: %v", text, same, err)
		}
	})
}

// A lock holds a process, or nothing; a port is one.
func FuzzLock(f *testing.F) {
	foreign(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		if l := parseLock(text); l.pid < 0 || l.pid == 0 && l != (lockFile{}) {
			t.Errorf("%q: %+v", text, l)
		}
		if l := parseGatewayLock(text); l.port < 0 || l.port >= 1<<16 {
			t.Errorf("%q: %+v", text, l)
		}
	})
}

// An answer of the gateway is the reply or an error, and never nothing after the
// program has failed.
func FuzzReply(f *testing.F) {
	foreign(f)
	ended := errors.New("exit status 1")
	f.Fuzz(func(t *testing.T, text []byte) {
		var reply struct {
			OK  bool `json:"ok"`
			Key string
		}
		_ = readReply(text, nil, &reply)
		if readReply(text, ended, &reply) == nil {
			t.Errorf("%q: a failed call has succeeded", text)
		}
	})
}
