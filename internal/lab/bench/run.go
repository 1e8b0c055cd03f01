package bench

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// run starts the server, gives every workload to all in turn, round after
// round, and tells talk how far it is.
func run(s settings, serverPath, command string, talk io.Writer) (Report, error) {
	report := newReport(s, command)
	dir, err := os.MkdirTemp("", "holdfast-bench")
	if err != nil {
		return report, err
	}
	defer os.RemoveAll(dir)
	if err := use(serverPath, dir); err != nil {
		return report, err
	}
	server, err := redistest.Run(dir, redistest.Options{})
	if err != nil {
		return report, err
	}
	defer server.Close()
	if report.Versions["server"], err = serverVersion(server); err != nil {
		return report, err
	}
	rows := map[[2]string][]Row{}
	for round := range s.rounds {
		fmt.Fprintf(talk, "bench: round %d of %d, %s\n", round+1, s.rounds, time.Now().Format(time.TimeOnly))
		for _, w := range workloads {
			for _, row := range inTurn(w, s, round, server, dir, talk) {
				key := [2]string{row.Workload, row.Who}
				rows[key] = append(rows[key], row)
			}
		}
	}
	for _, w := range workloads {
		for _, c := range w.runs() {
			if w.limit != "" {
				c.who = "limit"
			}
			if all := rows[[2]string{w.name, c.who}]; len(all) > 0 {
				report.Rows = append(report.Rows, merge(all))
			}
		}
	}
	return report, nil
}

// inTurn gives a workload to all who run it; another begins in each round. One
// that fails costs its row and not the run.
func inTurn(w workload, s settings, round int, server *redistest.Server, dir string, talk io.Writer) []Row {
	var rows []Row
	turn := w.runs()
	for i := range turn {
		c := turn[(i+round)%len(turn)]
		cell := cell{
			contender: c, workload: w, timing: s.timing, server: server, dir: dir,
			name: fmt.Sprintf("bench:%s:%s:%d", w.name, c.who, round),
		}
		row, err := cell.run()
		if err != nil {
			fmt.Fprintf(talk, "bench: no row: %v\n", err)
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

// use makes path the redis-server that is found in PATH, under that name and
// ahead of others; Valkey's program has another. Empty: leave PATH alone.
func use(path, dir string) error {
	if path == "" {
		return nil
	}
	path, err := exec.LookPath(path)
	if err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	if err := os.Symlink(path, filepath.Join(bin, "redis-server")); err != nil {
		return err
	}
	return os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}
