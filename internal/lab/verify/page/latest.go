package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// latest is docs/verification/latest.json.
type latest struct {
	counts
	Seconds  float64           `json:"seconds"`
	Cells    map[string]counts `json:"cells"`
	Mutants  mutants           `json:"mutants"`
	Controls controls          `json:"negative_controls"`
	Models   []model           `json:"models,omitempty"`
	Stories  stories           `json:"simulation"`
	Peers    peers             `json:"peers,omitempty"`
	Runs     map[string]origin `json:"runs"` // by the flag of page
}

// counts are sums over histories.
type counts struct {
	Histories  int `json:"histories"`
	Operations int `json:"operations"`
	Grants     int `json:"grants"`
	Faults     int `json:"faults"`
	Ended      int `json:"ended"`
	Late       int `json:"late"`
	Undecided  int `json:"undecided"`
	Violations int `json:"violations"`
}

type mutants struct {
	Tried  int      `json:"tried"`
	Killed int      `json:"killed"`
	List   []mutant `json:"list,omitempty"`
}

type mutant struct {
	Guard   string  `json:"guard"`
	File    string  `json:"file"`
	Test    string  `json:"test"`
	Seconds float64 `json:"seconds"`
	Killed  bool    `json:"killed"`
}

type stories struct {
	Stories    int            `json:"stories"`
	Operations map[string]int `json:"operations,omitempty"`
	Faults     map[string]int `json:"faults,omitempty"`
	Violations []string       `json:"violations"`
}

// origin is how a part was found.
type origin struct {
	Command string `json:"command"`
	Date    string `json:"date"`
	Machine string `json:"machine"`
}

// part is one run that ends here.
type part struct {
	flag    string
	command string
	of      func(*latest) any
}

func machine() string {
	server := "redis-server of another kind"
	if out, err := exec.Command("redis-server", "--version").Output(); err == nil { //nolint:noctx // it ends by itself
		if _, after, ok := strings.Cut(string(out), " v="); ok {
			server, _, _ = strings.Cut(after, " ")
			server = "Redis " + server
		}
	}
	return fmt.Sprintf("%d cores%s, %s/%s, %s, %s", runtime.NumCPU(), processor(), runtime.GOOS, runtime.GOARCH, server, runtime.Version())
}

// processor is " of " its name, where the system says it.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "model name\t: "); ok {
			return " of " + strings.TrimSpace(name)
		}
	}
	return ""
}
