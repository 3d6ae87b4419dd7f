package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
)

// labelPhoto is a small grey picture of a bar code that stands askew.
func labelPhoto(random *rand.Rand) []byte {
	const width, height = 96, 40
	picture := image.NewGray(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			shade := uint8(150 + random.IntN(40))
			if bar := (x + y/6) / 3; y > 8 && y < 32 && x > 10 && bar*bar%7 < 3 {
				shade = uint8(20 + random.IntN(30))
			}
			picture.SetGray(x, y, color.Gray{Y: shade})
		}
	}
	var out bytes.Buffer
	// Not compressed, so that another Go version writes the same bytes.
	if err := (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&out, picture); err != nil {
		panic(err)
	}
	return out.Bytes()
}
