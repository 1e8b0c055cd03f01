package embedded

import (
	"math"
	"strconv"
)

// Redis writes a score that is a whole number as one, 1763650000000000. Miniredis
// writes 1.76365e+15, and a script that hands it on hands on something else.

func score(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return text
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}
