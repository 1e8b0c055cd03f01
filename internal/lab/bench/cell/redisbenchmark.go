package cell

import (
	"encoding/csv"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/internal/lab/bench/report"
)

// What redis-benchmark is to make of a second, more or less: it counts requests,
// not time.
const (
	benchmarkAlone = 10_000 // by one connection
	benchmarkMany  = 80_000 // by many
)

// redisBenchmark lets redis-benchmark measure for about the length of a window.
func (c *Cell) redisBenchmark() (report.Row, error) {
	row := report.Row{Workload: c.Workload.Name, Who: c.Contender.Who}
	path, err := exec.LookPath("redis-benchmark")
	if err != nil {
		return row, errors.New("redis-benchmark is not in PATH")
	}
	host, port, err := net.SplitHostPort(c.Server.Addr())
	if err != nil {
		return row, err
	}
	callers, rate := c.Workload.Callers, benchmarkMany
	if callers == 1 {
		rate = benchmarkAlone
	}
	requests := max(int(float64(rate)*c.Timing.Window.Seconds()), callers)
	from, err := lookAtCounters(c.Server)
	if err != nil {
		return row, err
	}
	out, err := exec.Command(path, "-h", host, "-p", port, "-c", strconv.Itoa(callers), "-n", strconv.Itoa(requests), "-r", "100000000", "--csv",
		"SET", "benchmark:__rand_int__", "id", "NX", "PX", "10000").Output()
	if err != nil {
		return row, fmt.Errorf("redis-benchmark: %w", err)
	}
	to, err := lookAtCounters(c.Server)
	if err != nil {
		return row, err
	}
	row.ServerCPU = float64((to.cpu - from.cpu).Microseconds()) / float64(requests)
	row.Commands = 1
	row.Jain = 1
	return row, readBenchmark(&row, string(out))
}

// readBenchmark reads the last line of its CSV.
func readBenchmark(row *report.Row, text string) error {
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) < 2 {
		return fmt.Errorf("redis-benchmark printed %q: %w", text, err)
	}
	last := lines[len(lines)-1]
	for i, name := range lines[0] {
		value, err := strconv.ParseFloat(last[i], 64)
		if err != nil {
			continue // the name of the test
		}
		switch name {
		case "rps":
			row.OpsPerSecond = value
		case "p50_latency_ms":
			row.P50 = value * 1000
		case "p99_latency_ms":
			row.P99 = value * 1000
		case "max_latency_ms":
			row.Max = value * 1000
		}
	}
	return nil
}
