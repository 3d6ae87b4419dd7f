package carry

import (
	"slices"

	"github.com/sessctl/sessctl/pkg/replay"
)

// What a provider takes in one request is limited: so many images, and so many bytes of
// them in base64.
const (
	maxImages     = 100
	maxImageBytes = 16 << 20
)

// shown leaves out all images unless some are wanted, and then the oldest, until the rest
// can be sent.
func shown(messages []replay.Message, wanted bool) []replay.Message {
	messages = slices.Clone(messages)
	count, size := 0, 0
	for i := len(messages) - 1; i >= 0; i-- {
		pictures := messages[i].Pictures()
		if messages[i].Injected != "" {
			continue
		}
		left := len(pictures)
		for wanted && left > 0 && count < maxImages && size+len(pictures[left-1].Base64) <= maxImageBytes {
			left--
			count, size = count+1, size+len(pictures[left].Base64)
		}
		if left > 0 {
			messages[i] = messages[i].WithoutPictures(left)
		}
	}
	return messages
}
