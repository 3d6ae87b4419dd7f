package report

import "strings"

// A chart of columns, in the units of its viewBox. What stands in it are numbers
// and words of ours: the template draws it.
type chart struct {
	Width, Height int
	Bottom        float64 // where the columns stand
	Ticks         []tick
	Columns       []column
	Labels        []label
	Title         string // what it shows, for who does not see it
}

// tick is a line of the scale.
type tick struct {
	Y    float64
	Text string
}

// column is one day.
type column struct {
	X, Width float64
	Unknown  bool
	Parts    []part
	Title    string
}

// part is a piece of a column.
type part struct {
	Class     string // of the pattern that fills it
	Y, Height float64
}

type label struct {
	X    float64
	Text string
}

// The measures of a chart.
const (
	chartWidth  = 720
	chartHeight = 200
	chartLeft   = 74 // room for the scale
	chartRight  = 704
	chartTop    = 10
	chartBottom = 172 // below it stand the days
)

// fewDays is for how many days there is room at least, so that one day is no wall.
const fewDays = 14

// layer is one kind of values in a chart of days.
type layer struct {
	name, class string
	of          func(Day) int64
	always      bool // known without a run
}

// drawDays stacks layers day by day.
func drawDays(days []Day, layers []layer) chart {
	c := chart{Width: chartWidth, Height: chartHeight, Bottom: chartBottom}
	var most int64
	for _, d := range days {
		var sum int64
		for _, l := range layers {
			sum += l.of(d)
		}
		most = max(most, sum)
	}
	scale := niceCeiling(most)
	for i := range 5 {
		value := scale / 4 * int64(i)
		c.Ticks = append(c.Ticks, tick{chartBottom - height(value, scale), bytesText(value)})
	}
	step := float64(chartRight-chartLeft) / float64(max(len(days), fewDays))
	for i, d := range days {
		column := drawDay(d, layers, scale)
		column.X, column.Width = tenth(chartLeft+float64(i)*step+step*0.1), tenth(step*0.8)
		c.Columns = append(c.Columns, column)
		if (len(days)-1-i)%7 == 0 {
			c.Labels = append(c.Labels, label{tenth(column.X + column.Width/2), strings.TrimPrefix(d.Date[4:], "-")})
		}
	}
	return c
}

func drawDay(d Day, layers []layer, scale int64) column {
	column := column{Title: d.Date + ":"}
	y := float64(chartBottom)
	known := d.Known
	for _, l := range layers {
		known = known || l.always
		h := height(l.of(d), scale)
		if y -= h; h > 0 {
			column.Parts = append(column.Parts, part{l.class, tenth(y), tenth(h)})
		}
		column.Title += " " + l.name + " " + bytesText(l.of(d)) + ";"
	}
	if column.Title = strings.TrimSuffix(column.Title, ";"); !known {
		column.Unknown, column.Title = true, d.Date+": not known, no run of a profile was recorded"
	}
	return column
}

func height(value, scale int64) float64 {
	return float64(value) / float64(max(scale, 1)) * (chartBottom - chartTop)
}

// tenth rounds what is drawn: more digits are only longer.
func tenth(x float64) float64 { return float64(int64(x*10+0.5)) / 10 }

// niceCeiling is the least round number of bytes that is not below n, of which a
// quarter is round too.
func niceCeiling(n int64) int64 {
	for unit := int64(4); ; unit *= 2 {
		if unit >= n {
			return unit
		}
		if unit >= 1024 && unit/4*3 >= n {
			return unit / 4 * 3
		}
	}
}
