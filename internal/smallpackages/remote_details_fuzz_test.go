package smallpackages_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// FuzzRemoteDetails: whatever a server has in the column of a fact's details, they
// are read or refused as a fact's; what was read can be written, and is read from
// that again.
func FuzzRemoteDetails(f *testing.F) {
	const deep = 20_000
	for _, text := range []string{
		"", "{}", "[]", "null", "{", `{"confidence":"0.9"}`, `{"confidence":1e400}`, `{"confidence":-1,"quote":"a\u0000b\ud800","topic":null}`, `{"quote":"a","Quote":"b"}`, "\xff", `{"value":"\xff"}`,
		strings.Repeat("[", deep), strings.Repeat(`{"quote":`, deep) + "1" + strings.Repeat("}", deep),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var read, again memory.Fact
		if err := remote.DecodeDetails(text, &read); err != nil {
			if read != (memory.Fact{}) || !strings.Contains(err.Error(), "fact") {
				t.Errorf("%q: %+v, %v", text, read, err)
			}
			return
		}
		written, err := remote.EncodeDetails(read)
		if err == nil {
			err = remote.DecodeDetails(written, &again)
		}
		read.Quote, read.Topic, read.Value, read.Instead = remote.Storable(read.Quote), remote.Storable(read.Topic), remote.Storable(read.Value), remote.Storable(read.Instead)
		if diff := cmp.Diff(read, again); diff != "" || err != nil {
			t.Errorf("%q: %v (-read +again):\n%s", text, err, diff)
		}
	})
}
