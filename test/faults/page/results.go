package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// controls are situations outside the promises.
type controls struct {
	Tried   int                 `json:"tried"`
	Seen    int                 `json:"seen"`
	By      map[string][]string `json:"predicted,omitempty"` // what was seen, by the checker that saw it
	LeftOut []string            `json:"left_out,omitempty"`
}

// controlsResult is what TestControls writes.
type controlsResult struct {
	controls
	List []struct {
		Why  string `json:"why"`
		Seen string `json:"seen"` // what broke
	} `json:"list"`
}

func keepControls(l *latest, result controlsResult) {
	l.Controls = result.controls
	l.Controls.By = map[string][]string{}
	for _, c := range result.List {
		checker, _, _ := strings.Cut(c.Seen, ":")
		why, held := strings.CutSuffix(c.Why, ": two hold")
		if held {
			checker += " (two hold)"
		}
		l.Controls.By[checker] = append(l.Controls.By[checker], why)
	}
}

func writeControls(l *latest, b *strings.Builder) {
	if !l.from(b, "controls", "Outside the promises") {
		return
	}
	fmt.Fprintf(b, "%d situations that no promise covers; in %d the checkers found the predicted failure. No fence let a late write through.\n\n", l.Controls.Tried, l.Controls.Seen)
	for _, checker := range slices.Sorted(maps.Keys(l.Controls.By)) {
		fmt.Fprintf(b, "- *%s*: %s\n", checker, strings.Join(l.Controls.By[checker], "; "))
	}
	for _, left := range l.Controls.LeftOut {
		fmt.Fprintf(b, "\nNot run: %s.\n", left)
	}
}

// peer is another library in the same scenarios.
type peer struct {
	Histories int                `json:"histories"`
	Grants    int                `json:"grants"`
	Overtaken int                `json:"overtaken"`
	Promises  map[string]promise `json:"promises"`
}

// promise is in how many histories it was checked, and in how many of them broken.
type promise struct {
	Histories int `json:"histories"`
	Broken    int `json:"broken"`
}

// peersResult is what TestPeers writes.
type peersResult struct {
	Peers map[string]peer `json:"peers"`
}

func keepPeers(l *latest, result peersResult) { l.Peers = result.Peers }

func writePeers(l *latest, b *strings.Builder) {
	if !l.from(b, "peers", "Other libraries in the same scenarios") {
		return
	}
	b.WriteString("Each cell is the number of histories that broke the promise / that checked it; –: not checked or not offered. The table\nshows what can happen, not how often: most of these libraries promise less. The view of rueidislock is its context, so one\nfailure stands in two columns.\n\n")
	known := map[string]bool{}
	for _, p := range l.Peers {
		for promise := range p.Promises {
			known[promise] = true
		}
	}
	promises := slices.Sorted(maps.Keys(known))
	fmt.Fprintf(b, "library | %s\n---%s\n", strings.Join(promises, " | "), strings.Repeat("|---:", len(promises)))
	for _, name := range slices.Sorted(maps.Keys(l.Peers)) {
		b.WriteString(name)
		for _, promise := range promises {
			if p, checked := l.Peers[name].Promises[promise]; checked {
				fmt.Fprintf(b, " | %d/%d", p.Broken, p.Histories)
			} else {
				b.WriteString(" | –")
			}
		}
		b.WriteString("\n")
	}
}

// stories are runs of the simulation.
type stories struct {
	Stories    int      `json:"stories"`
	Operations int      `json:"operations"`
	Faults     int      `json:"faults"`
	Kinds      int      `json:"kinds_of_faults"`
	Violations []string `json:"violations"`
}

// storiesResult is what simulate writes.
type storiesResult struct {
	Stories    int            `json:"stories"`
	Operations map[string]int `json:"operations"`
	Faults     map[string]int `json:"faults"`
	Violations []string       `json:"violations"`
}

func keepStories(l *latest, r storiesResult) {
	l.Stories = stories{r.Stories, total(r.Operations), total(r.Faults), len(r.Faults), r.Violations}
}

func writeStories(l *latest, b *strings.Builder) {
	if !l.from(b, "simulation", "Simulated time") {
		return
	}
	s := l.Stories
	fmt.Fprintf(b, "%s stories, %s operations, %s faults of %d kinds: **%d promises broken**.\n",
		thousands(s.Stories), thousands(s.Operations), thousands(s.Faults), s.Kinds, len(s.Violations))
}

// model is the sum of the searches of its states, and of those without one guard.
type model struct {
	Model    string   `json:"model"`
	Searches int      `json:"searches"`
	States   int      `json:"states"`
	Steps    int      `json:"steps"`
	Seconds  float64  `json:"seconds"`
	Broken   []string `json:"broken"` // how, of searches with all guards
	Guards   int      `json:"guards"`
	Missed   []string `json:"missed"` // guards without which nothing broke
}

// searched is one search; the command of the models writes a list of them.
type searched struct {
	Model       string  `json:"model"`
	Bounds      string  `json:"bounds"`
	Guard       string  `json:"guard"` // that was taken out
	States      int     `json:"states"`
	Transitions int     `json:"transitions"`
	Seconds     float64 `json:"seconds"`
	Broken      string  `json:"broken"`
	Good        bool    `json:"good"`
}

func keepModels(l *latest, all []searched) {
	at := map[string]*model{}
	for _, s := range all {
		m := at[s.Model]
		if m == nil {
			m = &model{Model: s.Model, Broken: []string{}, Missed: []string{}}
			at[s.Model] = m
		}
		if s.Guard != "" {
			if m.Guards++; !s.Good {
				m.Missed = append(m.Missed, s.Guard)
			}
			continue
		}
		m.Searches++
		m.States, m.Steps, m.Seconds = m.States+s.States, m.Steps+s.Transitions, m.Seconds+s.Seconds
		if !s.Good {
			m.Broken = append(m.Broken, s.Bounds+": "+s.Broken)
		}
	}
	l.Models = nil
	for _, name := range slices.Sorted(maps.Keys(at)) {
		l.Models = append(l.Models, *at[name])
	}
}

// guards are those of all models, and how many of them a search missed.
func guards(l *latest) (all, missed int) {
	for _, m := range l.Models {
		all, missed = all+m.Guards, missed+len(m.Missed)
	}
	return all, missed
}

func writeModels(l *latest, b *strings.Builder) {
	if !l.from(b, "models", "All states of the models") {
		return
	}
	b.WriteString("model | searches | states | steps | time | broken\n---|---:|---:|---:|---:|---:\n")
	for _, m := range l.Models {
		fmt.Fprintf(b, "%s | %d | %s | %s | %.0f s | %d\n", m.Model, m.Searches, thousands(m.States), thousands(m.Steps), m.Seconds, len(m.Broken))
	}
	all, missed := guards(l)
	fmt.Fprintf(b, "\nWithout one guard at a time, the search found a broken promise for %d of %d guards.\n", all-missed, all)
	for _, m := range l.Models {
		for _, guard := range m.Missed {
			fmt.Fprintf(b, "\n- **not found**: %s, %s\n", m.Model, guard)
		}
		for _, how := range m.Broken {
			fmt.Fprintf(b, "\n- **broken**: %s, %s\n", m.Model, how)
		}
	}
}

// soak is a run of hours after which nothing may have grown.
type soak struct {
	Seconds   float64          `json:"seconds"`
	Processes int              `json:"processes"`
	Clients   int              `json:"clients"`
	Names     int              `json:"names"`
	Faults    int              `json:"faults"`
	Granted   int              `json:"granted"`
	Lost      int              `json:"lost"`
	Overlaps  int              `json:"overlaps"`
	Failed    int              `json:"failed"`
	LeftKeys  int              `json:"left_keys"`
	Trends    map[string]trend `json:"trends"`
}

// grew is by how many percent something was more in the last fifth of the time
// than in the second.
func (s *soak) grew(what string) float64 {
	t := s.Trends[what]
	if t.Begin == 0 {
		return 0
	}
	return 100 * (t.End/t.Begin - 1)
}

// trend is the median in the second and in the last fifth of the time.
type trend struct {
	Begin float64 `json:"begin"`
	End   float64 `json:"end"`
}

// soakResult is what the soak writes.
type soakResult struct {
	Seconds   float64        `json:"seconds"`
	Processes int            `json:"processes"`
	Clients   int            `json:"clients"`
	Names     int            `json:"names"`
	Faults    map[string]int `json:"faults"`
	Total     struct{ Granted, Lost, Overlaps, Failed int }
	Trends    map[string]trend `json:"trends"`
	LeftKeys  []string         `json:"left_keys"`
}

func (s soakResult) soak() soak {
	t := s.Total
	return soak{s.Seconds, s.Processes, s.Clients, s.Names, total(s.Faults), t.Granted, t.Lost, t.Overlaps, t.Failed, len(s.LeftKeys), s.Trends}
}

func writeSoak(l *latest, b *strings.Builder) {
	if !l.from(b, "soak", "Hours on end") {
		return
	}
	s := &l.Soak
	fmt.Fprintf(b, "%d Clients in %d processes, %s names, %.0f s, %s faults: %s locks granted, %d of them lost, **%d times two held a mutex**.\nCalls with an error that no fault explains: %d. Keys left at the end: %d. In the last fifth of the time no value may be\nmore than 10 %% above the second fifth.\n\n",
		s.Clients, s.Processes, thousands(s.Names), s.Seconds, thousands(s.Faults), thousands(s.Granted), s.Lost, s.Overlaps, s.Failed, s.LeftKeys)
	b.WriteString("processes that ran all the time, and Redis | second fifth | last fifth\n---|---:|---:\n")
	for _, name := range slices.Sorted(maps.Keys(s.Trends)) {
		t := s.Trends[name]
		fmt.Fprintf(b, "%s | %s | %s\n", name, thousands(int(t.Begin)), thousands(int(t.End)))
	}
}

// total is the sum of what was counted.
func total(counted map[string]int) (n int) {
	for _, times := range counted {
		n += times
	}
	return n
}
