// Package draw draws panels of horizontal bars as SVG.
package draw

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Scale is that of a panel's horizontal axis.
type Scale int

// The scales.
const (
	Linear Scale = iota
	Logarithmic
	Unit // linear from 0 to 1
)

// Panel is one chart of horizontal bars.
type Panel struct {
	Title string
	Scale Scale
	Bars  []Bar
}

// Bar has a value, or several drawn over each other, the largest first.
type Bar struct {
	Label, Says string
	Bold        bool
	Values      []float64
	Least, Most float64 // over the rounds; 0: not shown
	Color       color.RGBA
}

var ink = color.RGBA{0x24, 0x29, 0x2f, 0xff}

const (
	columns    = 2
	panelWidth = 430
	barHeight  = 15 // with the space between
	around     = 60 // title and axis of a panel
	headHeight = 48

	titleHeight = 22
	nameWidth   = 124
)

// SVG makes a picture: a title, a line of smaller letters, and the panels.
func SVG(title, below string, panels []Panel) ([]byte, error) {
	var heights []vg.Length
	total := vg.Length(headHeight)
	for row := range slices.Chunk(panels, columns) {
		most := 0
		for _, one := range row {
			most = max(most, len(one.Bars))
		}
		heights = append(heights, vg.Length(most*barHeight+around))
		total += heights[len(heights)-1]
	}
	canvas := vgsvg.New(columns*panelWidth, total)
	page := draw.New(canvas)
	page.FillPolygon(color.White, []vg.Point{page.Min, {X: page.Max.X, Y: page.Min.Y}, page.Max, {X: page.Min.X, Y: page.Max.Y}})
	page.FillText(style(15, true), vg.Point{X: 13, Y: total - 22}, title)
	page.FillText(style(9, false), vg.Point{X: 13, Y: total - 37}, below)
	top := total - headHeight
	for i, one := range panels {
		height := heights[i/columns]
		left := vg.Length(i%columns) * panelWidth
		area := draw.Canvas{Canvas: canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: left + 8, Y: top - height + 4 + height - one.height()},
			Max: vg.Point{X: left + panelWidth - 10, Y: top - 4},
		}}
		one.draw(area)
		if i%columns == columns-1 {
			top -= height
		}
	}
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return withFonts(b.Bytes()), err
}

func (p Panel) height() vg.Length { return vg.Length(len(p.Bars)*barHeight + around) }

// draw draws one panel with its axis.
func (p Panel) draw(area draw.Canvas) {
	area.FillText(style(11, true), vg.Point{X: area.Min.X + 5, Y: area.Max.Y - 16}, p.Title)
	chart := plot.New()
	chart.BackgroundColor = color.Transparent
	chart.Add(bars{p.Bars, p.Scale == Logarithmic})
	chart.HideY()
	chart.Y.Min, chart.Y.Max = -0.7, float64(len(p.Bars))-0.3
	low, high, end := p.bounds()
	chart.X.Min, chart.X.Max = low, end
	chart.X.Tick.Marker = ticks{p.Scale, high}
	if p.Scale == Logarithmic {
		chart.X.Scale = plot.LogScale{}
	}
	chart.X.Tick.Label = style(8, false)
	chart.X.Tick.Label.XAlign, chart.X.Tick.Label.YAlign = draw.XCenter, draw.YTop
	chart.X.Tick.Color, chart.X.Color = ink, color.Transparent
	chart.X.Tick.Length = 3
	chart.X.Padding = 0
	chart.Draw(draw.Crop(area, nameWidth, 0, 0, -titleHeight))
}

// bounds are where the axis begins, where what is shown ends, and where the
// axis does: what the bars say needs room behind them.
func (p Panel) bounds() (low, high, end float64) {
	low = math.Inf(1)
	room := 0
	for _, b := range p.Bars {
		low, high = min(low, slices.Min(b.Values)), max(high, slices.Max(b.Values), b.Most)
		room = max(room, len([]rune(b.Says)))
	}
	part := min(float64(room)*0.0175+0.03, 0.6) // of the axis
	switch p.Scale {
	case Unit:
		return 0, 1, 1 / (1 - part)
	case Linear:
		high = max(high, 1)
		return 0, high, high / (1 - part)
	}
	low = math.Pow(10, math.Floor(math.Log10(max(low, 0.01))-0.15))
	high = max(high, 10*low)
	return low, high, low * math.Pow(high/low, 1/(1-part))
}

// style is a text's.
func style(size vg.Length, bold bool) draw.TextStyle {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = 3 // font.WeightBold of golang.org/x/image
	}
	return draw.TextStyle{Color: ink, Font: f, Handler: plot.DefaultTextHandler}
}

// withFonts names fonts that people have beside the one that was measured with.
func withFonts(svg []byte) []byte {
	return []byte(strings.ReplaceAll(string(svg), "font-family:Liberation Sans", "font-family:Liberation Sans,Arial,Helvetica,sans-serif"))
}

// bars is the plotter of a panel.
type bars struct {
	all         []Bar
	logarithmic bool
}

// Plot draws the bars, each darker than the one below it.
func (p bars) Plot(c draw.Canvas, chart *plot.Plot) {
	x, y := chart.Transforms(&c)
	half := vg.Length(barHeight) * 0.36
	for i, b := range p.all {
		middle := y(float64(len(p.all) - 1 - i))
		var end vg.Length
		for k, value := range b.Values {
			if p.logarithmic && value < chart.X.Min {
				value = chart.X.Min
			}
			right := x(value)
			end = max(end, right)
			box := []vg.Point{{X: c.Min.X, Y: middle - half}, {X: right, Y: middle - half}, {X: right, Y: middle + half}, {X: c.Min.X, Y: middle + half}}
			c.FillPolygon(paler(b.Color, len(b.Values)-1-k), box)
		}
		if b.Most > b.Least && b.Least > 0 {
			c.StrokeLine2(draw.LineStyle{Color: ink, Width: 0.8}, x(b.Least), middle, x(b.Most), middle)
			end = max(end, x(b.Most))
		}
		name := style(9, b.Bold)
		name.YAlign = draw.YCenter
		c.FillText(name, vg.Point{X: c.Min.X - nameWidth, Y: middle}, b.Label)
		says := style(8, b.Bold)
		says.YAlign = draw.YCenter
		c.FillText(says, vg.Point{X: end + 4, Y: middle}, b.Says)
	}
}

// paler mixes a color with white, more so by each step.
func paler(c color.RGBA, steps int) color.RGBA {
	mix := func(v uint8) uint8 {
		part := math.Pow(0.55, float64(steps))
		return uint8(255 - part*(255-float64(v)))
	}
	return color.RGBA{mix(c.R), mix(c.G), mix(c.B), c.A}
}

// ticks are those of an axis, up to where something is shown.
type ticks struct {
	scale Scale
	high  float64
}

// Ticks implements plot.Ticker.
func (t ticks) Ticks(low, _ float64) []plot.Tick {
	if t.scale != Logarithmic {
		all := plot.DefaultTicks{}.Ticks(low, t.high)
		return slices.DeleteFunc(all, func(tick plot.Tick) bool { return tick.Label == "" || tick.Value > t.high })
	}
	var all []plot.Tick
	first, last := math.Round(math.Log10(low)), math.Floor(math.Log10(t.high*1.0001))
	step := math.Ceil((last - first) / 6)
	for e := first; e <= last; e += max(step, 1) {
		all = append(all, plot.Tick{Value: math.Pow(10, e), Label: short(math.Pow(10, e))})
	}
	return all
}

// short is a power of ten with few letters.
func short(x float64) string {
	switch {
	case x >= 1e6:
		return fmt.Sprintf("%gM", x/1e6)
	case x >= 1e3:
		return fmt.Sprintf("%gk", x/1e3)
	}
	return fmt.Sprintf("%g", x)
}
