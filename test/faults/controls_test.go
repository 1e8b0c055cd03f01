//go:build linux

package faults_test

import (
	"flag"
	"fmt"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/test/faults"
)

var (
	controlMatch = flag.String("control", "", "regular expression: the scenarios of TestControls")
	controlTries = flag.Int("control-tries", 48, "histories in which a control has to show what it is for")
)

// In situations that no promise covers, the checkers see the predicted failures, and nothing is lost
// behind the fence. So it means something that the checkers are silent elsewhere.
func TestControls(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes long")
	}
	match, err := regexp.Compile(*controlMatch)
	if err != nil {
		t.Fatal(err)
	}
	var outcomes controlsResult
	t.Cleanup(func() { faults.WriteFile(t, *result, &outcomes) })
	for _, c := range faults.Controls {
		if !match.MatchString(c.Scenario) {
			continue
		}
		if err := c.Can(); err != nil {
			t.Logf("%s is not played: %v", c.Scenario, err)
			outcomes.LeftOut = append(outcomes.LeftOut, fmt.Sprintf("%s: %v", c.Scenario, err))
			continue
		}
		outcomes.Tried++
		t.Run(c.Scenario, func(t *testing.T) {
			t.Parallel()
			controlled := faults.NewControlled(t, *slack)
			for try := range *controlTries {
				random := *seed
				if random == 0 || try > 0 {
					random = uint64(time.Now().UnixNano()) >> 12
				}
				o, err := controlled.Play(c, random)
				if err != nil {
					t.Fatalf("the harness: %v", err)
				}
				for _, v := range o.Behind {
					t.Errorf("seed %d: got %v, want nothing of the kind there", o.Seed, v)
				}
				if len(o.Seen) > 0 {
					outcomes.add(controlResult{c.Why, c.Scenario, o.Seed, o.Seen[0].String()})
					t.Logf("%s: seen in history %d, seed %d, of %d grants, %d times: %v", c.Why, try+1, o.Seed, o.Grants, len(o.Seen), o.Seen[0])
					for _, e := range o.Seen[0].Events {
						t.Logf("    %+v", e)
					}
					return
				}
			}
			t.Errorf("%s: not seen in %d histories", c.Why, *controlTries)
		})
	}
}

// controlsResult is what -result gets.
type controlsResult struct {
	Tried int             `json:"tried"`
	Seen  int             `json:"seen"`
	List  []controlResult `json:"list"`

	LeftOut []string `json:"left_out,omitempty"` // scenarios that this machine can't play, and why

	mu sync.Mutex
}

type controlResult struct {
	Why      string `json:"why"`
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	Seen     string `json:"seen"`
}

func (r *controlsResult) add(c controlResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Seen++
	r.List = append(r.List, c)
}
