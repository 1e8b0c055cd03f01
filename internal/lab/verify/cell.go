//go:build linux

package verify

import (
	"fmt"
	"regexp"

	"github.com/holdfast-go/holdfast/internal/lab/verify/client"
	"github.com/holdfast-go/holdfast/internal/lab/verify/faults"
	"github.com/holdfast-go/holdfast/internal/lab/verify/place"
)

// Cell is what histories are made of.
type Cell struct {
	Place place.Kind
	Fault *faults.Fault
	Step  client.Step // empty: the fault hits no client
}

// String is place/fault or place/fault/step; Cells finds it by that.
func (c Cell) String() string {
	if c.Step == "" {
		return fmt.Sprintf("%s/%s", c.Place, c.Fault.Name)
	}
	return fmt.Sprintf("%s/%s/%s", c.Place, c.Fault.Name, c.Step)
}

// Cells are all whose name matches.
func Cells(match *regexp.Regexp) (cells []Cell) {
	catalogue := faults.All()
	for _, kind := range place.Kinds {
		for i := range catalogue {
			f := &catalogue[i]
			if !f.At(kind) {
				continue
			}
			steps := f.Steps
			if len(steps) == 0 {
				steps = []client.Step{""}
			}
			for _, step := range steps {
				if c := (Cell{kind, f, step}); match.MatchString(c.String()) {
					cells = append(cells, c)
				}
			}
		}
	}
	return cells
}
