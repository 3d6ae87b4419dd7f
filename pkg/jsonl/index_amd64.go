//go:build !purego

package jsonl

// indexBlocks is indexBlocksGo, sixteen bytes at a time.
//
//go:noescape
func indexBlocks(text []byte, quotes, escaped []uint64, carry uint64) (carryOut, flags uint64)
