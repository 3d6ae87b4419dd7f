package embed

import (
	"encoding/binary"
	"math"
	"strconv"
)

// parseFloat reads the JSON number at the start of data as the nearest float32
// and returns its length, 0 if there is none. What a float32 cannot hold is an
// infinity.
func parseFloat(data []byte) (float32, int) {
	n, size := scanNumber(data)
	if size == 0 {
		return 0, 0
	}
	if value, ok := n.quick(); ok {
		return value, size
	}
	value, _ := strconv.ParseFloat(string(data[:size]), 32) // the only error left is the range
	return float32(value), size
}

// number is a JSON number while it is read.
type number struct {
	negative bool
	mantissa uint64 // of the first maxMantissa digits that count
	digits   int    // that count, leading zeros do not
	exponent int    // of ten
}

// maxMantissa is how many decimal digits always fit into a uint64.
const maxMantissa = 19

// scanNumber reads the JSON number at the start of data and returns its length,
// 0 if there is none.
func scanNumber(data []byte) (number, int) {
	var n number
	i := 0
	if i < len(data) && data[i] == '-' {
		n.negative = true
		i++
	}
	whole := n.take(data[i:])
	if whole == 0 || whole > 1 && data[i] == '0' {
		return n, 0
	}
	i += whole
	if i < len(data) && data[i] == '.' {
		fraction := n.take(data[i+1:])
		if fraction == 0 {
			return n, 0
		}
		n.exponent -= fraction
		i += 1 + fraction
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		size := n.takeExponent(data[i+1:])
		if size == 0 {
			return n, 0
		}
		i += 1 + size
	}
	return n, i
}

// take reads decimal digits onto the mantissa and returns how many.
func (n *number) take(data []byte) int {
	i := 0
	for n.mantissa == 0 && i < len(data) && data[i] == '0' {
		i++
	}
	for n.digits+8 <= maxMantissa && i+8 <= len(data) {
		eight, ok := eightDigits(binary.LittleEndian.Uint64(data[i:]))
		if !ok {
			break
		}
		n.mantissa = n.mantissa*100_000_000 + eight
		n.digits += 8
		i += 8
	}
	for ; i < len(data) && isDigit(data[i]); i++ {
		n.digits++
		if n.digits <= maxMantissa {
			n.mantissa = n.mantissa*10 + uint64(data[i]-'0')
		}
	}
	return i
}

// eightDigits reads eight decimal digits at once, the first in the lowest byte:
// neighbours are joined to pairs, pairs to fours, fours to eight.
func eightDigits(word uint64) (uint64, bool) {
	const zeros = 0x3030303030303030
	if (word&0xF0F0F0F0F0F0F0F0)|((word+0x0606060606060606)&0xF0F0F0F0F0F0F0F0)>>4 != zeros|zeros>>4 {
		return 0, false
	}
	word -= zeros
	word = word*10 + word>>8
	const every = 0x000000FF000000FF
	low := (word & every) * (100 + 1_000_000<<32)
	high := (word >> 16 & every) * (1 + 10_000<<32)
	return (low + high) >> 32, true
}

// takeExponent reads what follows an e and returns its length. What is out of
// every range stays so.
func (n *number) takeExponent(data []byte) int {
	i, sign := 0, 1
	if len(data) > 0 && (data[0] == '+' || data[0] == '-') {
		if data[0] == '-' {
			sign = -1
		}
		i = 1
	}
	start, value := i, 0
	for ; i < len(data) && isDigit(data[i]); i++ {
		value = min(value*10+int(data[i]-'0'), 1_000_000)
	}
	if i == start {
		return 0
	}
	n.exponent += sign * value
	return i
}

// A float64 has 29 bits more than a float32. If they are not within roundingSlack
// of halfway, a float64 that is off by less than that rounds to the same float32
// as the number that was written.
const (
	extraBits     = 29
	halfway       = 1 << (extraBits - 1)
	roundingSlack = 4
	// smallestQuick bounds the quick way from below: beneath it float32 has
	// fewer bits, and the middles lie elsewhere.
	smallestQuick = 1e-37
)

// quick returns the float32 nearest to the number, if that can be told without
// long arithmetic.
func (n *number) quick() (float32, bool) {
	if n.digits > maxMantissa || n.exponent > 22 || n.exponent < -22 {
		return 0, false
	}
	value := float64(n.mantissa)
	if n.exponent < 0 {
		value /= powerOfTen(-n.exponent)
	} else {
		value *= powerOfTen(n.exponent)
	}
	if n.mantissa != 0 && (value < smallestQuick || value > math.MaxFloat32/2) {
		return 0, false
	}
	extra := int(math.Float64bits(value) & (1<<extraBits - 1))
	if extra > halfway-roundingSlack && extra < halfway+roundingSlack {
		return 0, false
	}
	if n.negative {
		value = -value
	}
	return float32(value), true
}

// powerOfTen is 10^n for 0 <= n <= 22: all that a float64 holds exactly.
func powerOfTen(n int) float64 {
	powers := [...]float64{
		1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
		1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
	}
	return powers[n]
}
