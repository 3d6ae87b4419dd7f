package embed

// AppendTerms appends the terms of text to dst, each followed by a space, in
// the order and as often as they stand in text: what the lexical dimensions of
// [Builtin] are made of. A full-text index that holds them instead of the text
// (split at spaces, nothing else) stems, cuts identifiers and finds Chinese as
// the vectors do; a query goes through AppendTerms too.
//
// A term is lower-case, without accent and inflection, and holds letters and
// digits; between two digits also one of _ - . / \ : @ ("v1.2.3"). Compounds
// and the parts of camelCase names stand beside the whole ("sessionId" gives
// "sessionid", "session", "id"). Stop words give none.
func AppendTerms(dst []byte, text string) []byte {
	var word []byte
	s := scanner{emit: func(w []byte, _ bool) {
		if !isStop(w) {
			word = append(word[:0], w...)
			dst = append(append(dst, stem(word)...), ' ')
		}
	}}
	s.scan(text)
	return dst
}
