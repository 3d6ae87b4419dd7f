package jsonl

import "strconv"

// AppendQuoted appends s as a JSON string.
func AppendQuoted(dst []byte, s string) []byte { return strconv.AppendQuote(dst, s) }
