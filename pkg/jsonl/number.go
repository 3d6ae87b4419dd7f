package jsonl

import (
	"math"
	"strconv"
)

// Int64 returns the integer the cursor stands before and goes past it. Writers
// disagree about the form of a number, so 12, 12.0, 1.2e1 and "12" are all
// twelve (research/pitfalls.md 24). The value is exact: it never passes through
// a float64. If the value is not an integer in the range of int64, it is
// skipped and Int64 returns false.
func (c *Cursor) Int64() (int64, bool) {
	text := c.numberText()
	if n, ok := shortInt(text); ok {
		return n, true
	}
	return exactInt(text)
}

// Float64 returns the number the cursor stands before, or the number written
// in a string, and goes past it. If the value is not a number in the range of
// float64, it is skipped and Float64 returns false.
func (c *Cursor) Float64() (float64, bool) {
	f, err := strconv.ParseFloat(string(c.numberText()), 64)
	if err != nil {
		return 0, false
	}
	return f, true
}

// Bool returns the boolean the cursor stands before and goes past it. If the
// value is not true or false, it is skipped and the second result is false.
func (c *Cursor) Bool() (value, ok bool) {
	kind := c.Kind()
	c.Skip()
	isBool := (kind == True || kind == False) && c.where == atNext
	return isBool && kind == True, isBool
}

// numberText goes past the value and returns the text of the number it is, or
// of the number in the string it is; nil if it is neither.
func (c *Cursor) numberText() []byte {
	switch c.Kind() {
	case Number:
		return c.Raw()
	case String:
		if text, _ := c.Bytes(); numberEnd(text, 0) == len(text) {
			return text
		}
	default:
		c.Skip()
	}
	return nil
}

// shortInt returns the value of text if it is at most 18 digits with or
// without a minus.
func shortInt(text []byte) (int64, bool) {
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	n := int64(0)
	for _, d := range digits {
		if d-'0' > 9 {
			return 0, false
		}
		n = n*10 + int64(d-'0')
	}
	if len(digits) < len(text) {
		n = -n
	}
	return n, true
}

// exactInt returns the value of a JSON number in any form; false if it is not
// an integer that fits.
func exactInt(text []byte) (int64, bool) {
	if len(text) == 0 {
		return 0, false
	}
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	mantissa, exponent, ok := decimal(text)
	for ; ok && mantissa != 0 && exponent > 0; exponent-- {
		mantissa, ok = timesTen(mantissa, 0)
	}
	switch {
	case !ok || mantissa != 0 && exponent < 0:
		return 0, false
	case negative && mantissa <= 1<<63:
		return -int64(mantissa), true
	case !negative && mantissa <= math.MaxInt64:
		return int64(mantissa), true
	}
	return 0, false
}

// decimal returns a number without sign as mantissa * 10^exponent with a
// mantissa that does not end in zero; false if the mantissa does not fit.
func decimal(text []byte) (mantissa uint64, exponent int64, ok bool) {
	ok = true
	point, zeros := int64(0), int64(0)
	for i, d := range text {
		switch {
		case d == '.':
			point = 1
		case d|0x20 == 'e':
			return mantissa, exponentOf(text[i+1:]) + exponent + zeros, ok
		case d == '0':
			zeros++
			exponent -= point
		default:
			for ; zeros > 0 && ok; zeros-- {
				mantissa, ok = timesTen(mantissa, 0)
			}
			if ok {
				mantissa, ok = timesTen(mantissa, uint64(d-'0'))
			}
			exponent -= point
		}
	}
	return mantissa, exponent + zeros, ok
}

// exponentOf returns the exponent of a number, at most a billion either way.
func exponentOf(text []byte) int64 {
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	n := int64(0)
	for _, d := range text {
		n = min(n*10+int64(d-'0'), 1e9)
	}
	if negative {
		return -n
	}
	return n
}

// timesTen returns 10n + digit; false if that does not fit.
func timesTen(n, digit uint64) (uint64, bool) {
	if n > (math.MaxUint64-9)/10 {
		return 0, false
	}
	return n*10 + digit, true
}
