//go:build !amd64 || purego

package jsonl

func indexBlocks(text []byte, quotes, escaped []uint64, carry uint64) (carryOut, flags uint64) {
	return indexBlocksGo(text, quotes, escaped, carry)
}
