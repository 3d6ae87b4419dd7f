package audit

import "math"

// Rounded is a confidence as it is shown: with two digits.
func Rounded(confidence float64) float64 { return math.Round(confidence*100) / 100 }
