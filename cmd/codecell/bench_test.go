package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// benchRun runs the command as main does, and gives what it printed.
func benchRun(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &stdout, err: &stderr, env: func(string) string { return "" }}
	code = a.run(t.Context(), append([]string{"bench"}, args...))
	return code, stdout.String(), stderr.String()
}

func TestBench_MeasuresCellsAndCalls(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	names := []string{"unit", "cell", "sequential", "parallel", "hooked", "bound", "yield", "throughput", "parked"}
	code, out, errs := benchRun(t, "--only", strings.Join(names, ","), "--seconds", "0.5")
	if code != exitCompleted {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	lines, table, found := strings.Cut(out, "\n\n")
	if !found {
		t.Fatalf("no table in:\n%s", out)
	}
	var got []string
	for line := range strings.SplitSeq(lines, "\n") {
		var f figure
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got = append(got, f.Name)
		if f.Rounds < leastRounds || f.Low > f.Value || f.Value > f.High || f.Unit == "" {
			t.Errorf("%s makes no sense", line)
		}
		if !slices.Contains([]string{"parallel", "sequential", "hooked", "bound"}, f.Name) && f.Value <= 0 { // those are small differences of few rounds here
			t.Errorf("%s makes no sense", line)
		}
		if (f.Aim > 0) != (f.Reached != nil) || f.Reached != nil && *f.Reached != (f.Value <= f.Aim) {
			t.Errorf("%s: wrong about its aim", line)
		}
		if !strings.Contains(table, "\n"+f.Name+" ") {
			t.Errorf("%s isn't in the table:\n%s", f.Name, table)
		}
	}
	if !slices.Equal(got, names) {
		t.Errorf("figures %v, want %v", got, names)
	}
}

func TestBench_RefusesWhatItDoesNotKnow(t *testing.T) {
	for args, want := range map[string]string{
		"--only cell,speed": "--only speed: there is no such figure; there are unit, cell,",
		"--seconds 0":       "--seconds 0: give more than 0",
		"--seconds 1e9":     "at most 600",
		"now":               "unknown command",
	} {
		code, out, errs := benchRun(t, strings.Fields(args)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, %q, %q", args, code, out, errs)
		}
	}
}

func TestBench_QuartilesInterpolate(t *testing.T) {
	for _, c := range []struct{ values, want []float64 }{
		{[]float64{7}, []float64{7, 7, 7}},
		{[]float64{3, 1}, []float64{1.5, 2, 2.5}},
		{[]float64{5, 1, 4, 2, 3}, []float64{2, 3, 4}},
	} {
		low, median, high := quartiles(c.values)
		if got := []float64{low, median, high}; !slices.Equal(got, c.want) {
			t.Errorf("quartiles of %v are %v, want %v", c.values, got, c.want)
		}
	}
}

func TestBench_FiguresKnowTheirAim(t *testing.T) {
	m := measurement{name: "cell", unit: roundTrips, aim: 15}
	f := newFigure(m, sample{values: []float64{14, 15, 99}, times: []time.Duration{1e3, 2e3, 3e3}})
	if f.Value != 15 || f.Micros != 2 || f.Reached == nil || !*f.Reached {
		t.Errorf("%+v: the aim is reached by the median", f)
	}
	if f := newFigure(m, sample{values: []float64{15.2}}); f.Reached == nil || *f.Reached {
		t.Errorf("%+v: the aim is missed", f)
	}
	if f := newFigure(m, sample{note: "not measured"}); f.Reached != nil || f.Rounds != 0 {
		t.Errorf("%+v: nothing was measured", f)
	}
}

func TestBench_RoundedKeepsWholeNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.25: "0.25", 2.5: "2.5", 10: "10", 40.25: "40.2", 100: "100", 1200: "1200"} {
		if got := rounded(v); got != want {
			t.Errorf("rounded(%v) = %s, want %s", v, got, want)
		}
	}
}
