package report

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/holdfast-go/holdfast/test/bench/workload"
	"github.com/holdfast-go/holdfast/test/support/figures"
)

// Where the committed figures and the page made of them lie, from the root of
// the repository.
const (
	LatestFile = "docs/benchmarks/latest.json"
	plotDir    = "docs/benchmarks"
	PageFile   = "docs/benchmarks.md"
)

// Save keeps a report as the latest, or a part of it, and makes the page of it.
func Save(r *Report, partly bool, stderr io.Writer) error {
	if partly {
		earlier, err := readLatest()
		if err != nil {
			return err
		}
		r = with(earlier, r)
	}
	if err := figures.SaveJSON(filepath.FromSlash(LatestFile), r); err != nil {
		return fmt.Errorf("%w: run this from the root of the repository", err)
	}
	return WritePage(stderr)
}

// WritePage makes the page and the plots of the committed figures.
func WritePage(stderr io.Writer) error {
	latest, err := readLatest()
	if err != nil {
		return err
	}
	page, err := Page(latest)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.FromSlash(PageFile), page, 0o644); err != nil {
		return err
	}
	plots, err := Plots(latest)
	if err != nil {
		return err
	}
	for name, svg := range plots {
		if err := os.WriteFile(filepath.Join(filepath.FromSlash(plotDir), name), svg, 0o644); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(stderr, "bench: wrote %s and %d plots\n", PageFile, len(plots))
	return err
}

// Overlapped is an error when holdfast let two hold one name: the run's figures
// are still printed, but the run has failed. What peers do is only reported.
func Overlapped(r *Report) error {
	for _, row := range r.Rows {
		if c, _ := workload.ContenderNamed(row.Who); c.IsOurs() && row.Overlaps > 0 {
			return fmt.Errorf("%s, %s: %d overlaps of two holders", row.Workload, row.Who, row.Overlaps)
		}
	}
	return nil
}

// readLatest reads the committed figures.
func readLatest() (*Report, error) {
	var r Report
	if err := figures.ReadJSON(filepath.FromSlash(LatestFile), &r); err != nil {
		return nil, fmt.Errorf("%w: run this from the root of the repository", err)
	}
	return &r, nil
}
