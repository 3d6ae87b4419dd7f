package jsonl

// Skip goes past the value the cursor stands before.
func (c *Cursor) Skip() {
	if c.where == atValue {
		c.skip()
	}
}

// Raw returns the text of the value the cursor stands before, as it is in the
// source, and goes past it. It is nil without a value and after an error.
func (c *Cursor) Raw() []byte {
	from := c.pos
	if c.where != atValue || !c.skip() {
		return nil
	}
	return c.raw[from:c.pos]
}

// skip goes past the value at pos; false after an error. Bit 0x20 is the
// difference between square brackets and braces.
func (c *Cursor) skip() bool {
	i := c.pos
	if uint(i) < uint(len(c.raw)) && c.raw[i]|0x20 == '{' {
		i = c.skipContainer(i)
	} else {
		i = c.skipScalar(i)
	}
	if i < 0 {
		return false
	}
	c.pos, c.where = i, atNext
	return true
}

// skipScalar returns the index after the string, number or literal at i, or -1
// after an error.
func (c *Cursor) skipScalar(i int) int {
	b := c.raw
	end := -1
	switch {
	case i >= len(b):
	case b[i] == '"':
		end = c.index.stringEnd(i + 1)
	case b[i] <= '9':
		end = numberEnd(b, i)
	case b[i] == 't':
		end = literalEnd(b, i, "true")
	case b[i] == 'f':
		end = literalEnd(b, i, "false")
	case b[i] == 'n':
		end = literalEnd(b, i, "null")
	}
	if end < 0 {
		c.fail(i, "no whole value where one must be")
	}
	return end
}

// skipContainer returns the index after the object or array at i, or -1 after
// an error. It does not recurse: each turn takes a scalar or an opening
// bracket, and what follows it up to the next value.
func (c *Cursor) skipContainer(i int) int {
	b, floor := c.raw, c.depth
	for {
		if i >= len(b) || b[i]|0x20 != '{' {
			i = c.skipScalar(i)
		} else {
			object := b[i] == '{'
			if !c.push(object, i) {
				return -1
			}
			i = skipSpace(b, i+1)
			if i >= len(b) || b[i]|0x20 != '}' { // not empty
				if object {
					i = c.skipKey(i)
				}
				if i < 0 {
					return -1
				}
				continue
			}
		}
		if i < 0 {
			return -1
		}
		if i = c.afterValue(i, floor); i < 0 || c.depth == floor {
			return i
		}
	}
}

// afterValue goes past closing brackets, then past the comma and the key if
// there is one. It returns the index of the next value, or the index after the
// bracket that brought the depth down to floor, or -1 after an error.
func (c *Cursor) afterValue(i, floor int) int {
	b := c.raw
	for {
		i = skipSpace(b, i)
		if i >= len(b) {
			c.fail(i, "the text ends inside a value")
			return -1
		}
		object := c.inObject()
		switch {
		case b[i] == ',' && object:
			return c.skipKey(skipSpace(b, i+1))
		case b[i] == ',':
			return skipSpace(b, i+1)
		case b[i] == '}' && object || b[i] == ']' && !object:
			i++
			if c.depth--; c.depth == floor {
				return i
			}
		default:
			c.fail(i, "no comma or closing bracket after a value")
			return -1
		}
	}
}

// skipKey returns the index of the value of the key at i, or -1 after an
// error.
func (c *Cursor) skipKey(i int) int {
	b := c.raw
	if i >= len(b) || b[i] != '"' {
		c.fail(i, "no key where one must be")
		return -1
	}
	end := c.index.stringEnd(i + 1)
	if end < 0 {
		c.fail(i, "a key that does not end")
		return -1
	}
	if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
		c.fail(i, "no colon after a key")
		return -1
	}
	return skipSpace(b, i+1)
}

// push notes that the container that begins at byte at is open.
func (c *Cursor) push(object bool, at int) bool {
	if c.depth >= maxDepth {
		return c.fail(at, "nested deeper than 10000")
	}
	word, bit := &c.objects[c.depth>>6], uint64(1)<<(c.depth&63)
	*word &^= bit
	if object {
		*word |= bit
	}
	c.depth++
	return true
}

// inObject tells whether the innermost open container is an object. There must
// be one.
func (c *Cursor) inObject() bool {
	d := c.depth - 1
	return c.objects[d>>6]>>(d&63)&1 != 0
}
