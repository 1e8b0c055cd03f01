package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// soak is a run of hours after which nothing may have grown.
type soak struct {
	Seconds        float64          `json:"seconds"`
	Processes      int              `json:"processes"`
	Clients        int              `json:"clients"`
	Names          int              `json:"names"`
	Faults         map[string]int   `json:"faults"`
	Total          soakTotal        `json:"total"`
	Trends         map[string]trend `json:"trends"`
	LeftGoroutines int              `json:"left_goroutines"`
	LeftKeys       []string         `json:"left_keys"`
}

type soakTotal struct {
	Asked, Granted, Lost, Overlaps, Failed int
}

// trend is the median in the second and in the last fifth of the time, and the
// slope between.
type trend struct {
	Begin float64 `json:"begin"`
	End   float64 `json:"end"`
	Slope float64 `json:"slope_per_hour"`
}

func (l *latest) soak(b *strings.Builder) {
	if !l.from(b, "soak", "Hours on end") {
		return
	}
	s := &l.Soak
	fmt.Fprintf(b, "%d Clients in %d processes, %s names, %.0f s, %s faults: %s locks granted, %d of them lost, **%d times two held a mutex**.\nCalls with an error that no fault explains: %d. Keys left at the end: %d. In the last fifth of the time no value may be\nmore than 10 %% above the second fifth.\n\n",
		s.Clients, s.Processes, thousands(s.Names), s.Seconds, thousands(total(s.Faults)), thousands(s.Total.Granted), s.Total.Lost, s.Total.Overlaps, s.Total.Failed, len(s.LeftKeys))
	b.WriteString("processes that ran all the time, and Redis | second fifth | last fifth\n---|---:|---:\n")
	for _, name := range slices.Sorted(maps.Keys(s.Trends)) {
		t := s.Trends[name]
		fmt.Fprintf(b, "%s | %s | %s\n", name, thousands(int(t.Begin)), thousands(int(t.End)))
	}
}
