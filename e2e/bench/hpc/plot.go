package main

import (
	"errors"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/slurmcluster/slurmcluster/e2e/bench/program"
)

const (
	plotWidth, plotHeight = 32 * vg.Centimeter, 13 * vg.Centimeter
	padding               = 3 * vg.Millimeter
	// apart is the distance of the places of one kernel, of 1 between kernels.
	apart = 0.12
)

// drawTo writes the plot: kernels over those on the host, and the latency of all-reduce. The file's name says the format.
func drawTo(file string, r results) error {
	if len(r.values(onHost, kernels[0].title)) == 0 {
		program.Progress("there is nothing to draw: the parallel programs were not measured on the host")
		return nil
	}
	ratios, err := kernelPlot(r)
	if err != nil {
		return fmt.Errorf("drawing kernels: %w", err)
	}
	latency, err := latencyPlot(r)
	if err != nil {
		return fmt.Errorf("drawing latencies: %w", err)
	}
	picture, err := draw.NewFormattedCanvas(plotWidth, plotHeight, strings.TrimPrefix(filepath.Ext(file), "."))
	if err != nil {
		return fmt.Errorf("drawing %s: %w", file, err)
	}
	tiles := draw.Tiles{Rows: 1, Cols: 2, PadX: vg.Centimeter, PadTop: padding, PadBottom: padding, PadLeft: padding, PadRight: padding}
	plots := []*plot.Plot{ratios, latency}
	for i, canvas := range plot.Align([][]*plot.Plot{plots}, tiles, draw.New(picture))[0] {
		plots[i].Draw(canvas)
	}
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("writing the plot: %w", err)
	}
	_, err = picture.WriteTo(out)
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("writing the plot: %w", err)
	}
	if full, err := filepath.Abs(file); err == nil {
		file = full
	}
	program.Progress("the plot is %s", file)
	return nil
}

// whiskers are medians with their least and most.
type whiskers struct {
	plotter.XYs
	plotter.YErrors
}

func (w *whiskers) add(x float64, sorted []float64) {
	m := median(sorted)
	w.XYs = append(w.XYs, plotter.XY{X: x, Y: m})
	w.YErrors = append(w.YErrors, struct{ Low, High float64 }{m - sorted[0], sorted[len(sorted)-1] - m})
}

// addTo draws them in the style of the place.
func (w *whiskers) addTo(p *plot.Plot, place int, name string, joined bool) error {
	bars, err := plotter.NewYErrorBars(w)
	if err != nil {
		return err
	}
	line, points, err := plotter.NewLinePoints(w.XYs)
	if err != nil {
		return err
	}
	paint := plotutil.Color(place)
	bars.Color, line.Color, points.Color, points.Shape = paint, paint, paint, plotutil.Shape(place)
	if joined {
		p.Add(bars, line, points)
		p.Legend.Add(name, line, points)
	} else {
		p.Add(bars, points)
		p.Legend.Add(name, points)
	}
	return nil
}

func kernelPlot(r results) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.Y.Label.Text = "HPC Challenge, two ranks", "over the host's: median, least and most"
	p.Legend.Left, p.Legend.Padding = true, vg.Millimeter
	var names []string
	for _, k := range kernels {
		names = append(names, k.title)
	}
	p.NominalX(names...)
	same := plotter.NewFunction(func(float64) float64 { return 1 })
	same.Color, same.Dashes = color.Gray{Y: 128}, plotutil.Dashes(1)
	p.Add(plotter.NewGrid(), same)
	for i, place := range parallelPlaces {
		var w whiskers
		for x, k := range kernels {
			if list := r.ratios(place, onHost, k.title); place != onHost && len(list) > 0 {
				w.add(float64(x)+apart*(float64(i)-2.5), list)
			}
		}
		if len(w.XYs) == 0 {
			continue
		}
		if err := w.addTo(p, i, place, false); err != nil {
			return nil, err
		}
	}
	p.Y.Min, p.X.Min, p.X.Max = 0, -0.5, float64(len(kernels))-0.5
	return p, nil
}

func latencyPlot(r results) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "All-reduce, two ranks", "bytes", "µs: median, least and most"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, powersOfTwo{}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Millimeter
	p.Add(plotter.NewGrid())
	for i, place := range parallelPlaces {
		var w whiskers
		for _, bytes := range sizes {
			if list := r.values(place, allReduce(bytes)); len(list) > 0 {
				w.add(float64(bytes), list)
			}
		}
		if len(w.XYs) == 0 {
			continue
		}
		if err := w.addTo(p, i, place, true); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// powersOfTwo are the ticks of sizes in bytes.
type powersOfTwo struct{}

func (powersOfTwo) Ticks(least, most float64) (ticks []plot.Tick) {
	for i, bytes := range sizes {
		if float64(bytes) < least || float64(bytes) > most {
			continue
		}
		tick := plot.Tick{Value: float64(bytes)}
		if i%3 == 0 {
			tick.Label = allReduce(bytes)[len("all-reduce "):]
		}
		ticks = append(ticks, tick)
	}
	return ticks
}
