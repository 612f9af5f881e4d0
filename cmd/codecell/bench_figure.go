package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// sample is what one figure was measured to be, round by round.
type sample struct {
	// values in the unit of the figure.
	values []float64
	// times are the same rounds in absolute time, where values are ratios.
	times []time.Duration
	// note says what a reader must know of the figure.
	note string
}

// figure is one line of the benchmark's output.
type figure struct {
	Name string `json:"figure"`
	What string `json:"what"`
	// Value is the median of the rounds, Low and High are their quartiles, in Unit.
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Unit  string  `json:"unit"`
	// Micros is the median in µs, where Value is a ratio.
	Micros  float64 `json:"us,omitempty"`
	Rounds  int     `json:"rounds"`
	Aim     float64 `json:"aim,omitempty"`
	Reached *bool   `json:"reached,omitempty"`
	Note    string  `json:"note,omitempty"`
}

func newFigure(m measurement, s sample) figure {
	f := figure{Name: m.name, What: m.what, Unit: m.unit, Rounds: len(s.values), Aim: m.aim, Note: s.note}
	if len(s.values) == 0 {
		return f
	}
	f.Low, f.Value, f.High = quartiles(s.values)
	if len(s.times) > 0 {
		_, median, _ := quartiles(s.times)
		f.Micros = median.Seconds() * 1e6
	}
	for _, v := range []*float64{&f.Low, &f.Value, &f.High, &f.Micros} {
		*v = math.Round(*v*1000) / 1000
	}
	if m.aim > 0 {
		reached := f.Value <= m.aim
		f.Reached = &reached
	}
	return f
}

// quartiles gives the lower quartile, the median and the upper quartile.
func quartiles[T float64 | time.Duration](values []T) (low, median, high T) {
	sorted := slices.Sorted(slices.Values(values))
	at := func(q float64) T {
		x := q * float64(len(sorted)-1)
		i := int(x)
		if i+1 == len(sorted) {
			return sorted[i]
		}
		return sorted[i] + T((x-float64(i))*float64(sorted[i+1]-sorted[i]))
	}
	return at(0.25), at(0.5), at(0.75)
}

// printFigures shows the table.
func (a *app) printFigures(figures []figure) {
	fmt.Fprintf(a.out, "\n%s, %s/%s, %d CPUs\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tMEDIAN\tQUARTILES\tTIME\tAIM\tREACHED\tWHAT")
	for i := range figures {
		fmt.Fprintln(w, figures[i].row())
	}
	_ = w.Flush() // nobody is left to tell when standard output is gone
	for i := range figures {
		if f := &figures[i]; f.Note != "" {
			fmt.Fprintf(a.out, "%s: %s\n", f.Name, f.Note)
		}
	}
}

func (f *figure) row() string {
	median, spread, absolute, aim, reached := "-", "-", "", "", ""
	if f.Rounds > 0 {
		median = rounded(f.Value) + " " + f.Unit
		spread = rounded(f.Low) + " – " + rounded(f.High)
	}
	if f.Micros > 0 {
		absolute = rounded(f.Micros) + " µs"
	}
	if f.Aim > 0 {
		aim = "≤ " + rounded(f.Aim)
	}
	if f.Reached != nil {
		reached = map[bool]string{true: "yes", false: "no"}[*f.Reached]
	}
	return strings.Join([]string{f.Name, median, spread, absolute, aim, reached, f.What}, "\t")
}

// rounded shows as many digits as are worth reading.
func rounded(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return trimmed(fmt.Sprintf("%.1f", v))
	}
	return trimmed(fmt.Sprintf("%.2f", v))
}

func trimmed(s string) string { return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") }
