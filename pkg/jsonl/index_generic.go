//go:build !amd64 || purego

package jsonl

func indexBlocks(text []byte, blocks []block, carry uint64) (carryOut, flags uint64) {
	return indexBlocksGo(text, blocks, carry)
}
