//go:build linux

package faults

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/holdfast-go/holdfast/test/faults/client"
	"github.com/holdfast-go/holdfast/test/faults/inject"
	"github.com/holdfast-go/holdfast/test/faults/topology"
)

// Scenario is what histories are made of.
type Scenario struct {
	Topology topology.Kind
	Fault    *inject.Fault
	Step     client.Step // empty: the fault hits no client
}

// String is topology/fault or topology/fault/step; Scenarios finds it by that.
func (c Scenario) String() string {
	if c.Step == "" {
		return fmt.Sprintf("%s/%s", c.Topology, c.Fault.Name)
	}
	return fmt.Sprintf("%s/%s/%s", c.Topology, c.Fault.Name, c.Step)
}

// Scenarios are all whose name matches and that this machine can play.
func Scenarios(match *regexp.Regexp) (scenarios []Scenario) {
	for _, c := range named(match) {
		if c.can() == nil {
			scenarios = append(scenarios, c)
		}
	}
	return scenarios
}

// LeftOut are those whose name matches and that this machine can't play: by the
// reason.
func LeftOut(match *regexp.Regexp) map[string][]string {
	out := map[string][]string{}
	for _, c := range named(match) {
		if err := c.can(); err != nil {
			out[err.Error()] = append(out[err.Error()], c.String())
		}
	}
	return out
}

// can says why this machine can't play the scenario.
func (c Scenario) can() error {
	if err := c.Topology.Can(); err != nil || c.Fault.Needs == nil {
		return err
	}
	return c.Fault.Needs()
}

// named are all whose name matches.
func named(match *regexp.Regexp) []Scenario {
	return slices.DeleteFunc(scenariosOf(inject.All()), func(c Scenario) bool { return !match.MatchString(c.String()) })
}

// scenariosOf are all scenarios of faults.
func scenariosOf(catalogue []inject.Fault) (scenarios []Scenario) {
	for _, kind := range topology.Kinds {
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
				scenarios = append(scenarios, Scenario{kind, f, step})
			}
		}
	}
	return scenarios
}
