//go:build !purego

package jsonl

// indexBlocks is indexBlocksGo, sixteen bytes at a time.
//
//go:noescape
func indexBlocks(text []byte, blocks []block, carry uint64) (carryOut, flags uint64)
