package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Without these edits two plays of a seed differ in 3 of 100 seeds. The runtime
// leaves the order of what happens at one instant to chance, or to how busy the
// machine is:
//
//   - which ready case of a select runs
//   - which of two timers of one instant fires first
//   - where a loop over a map begins, and how a process hashes its keys
//   - when a goroutine that runs for 10 ms of real time is interrupted
//   - when a mutex, after 1 ms of real time, goes to the goroutine that waits for it
//   - which goroutine runs next when one of the garbage collector becomes ready, or
//     when more than 256 are ready
//
// Each edit makes one of them the same in every play. The overlay flag of the go
// command builds the edited runtime into the program that plays the runs, and
// into no other.
var steadies = []struct{ file, old, steady string }{
	{"synctest.go", "\tnow     int64  // current fake time\n", "\tnow     int64  // current fake time\n\tchance  uint64\n\tdrawn   int64\n"},
	{"rand.go", "func rand() uint64 {\n", `func rand() uint64 {
	if gp := getg().m.curg; gp != nil && gp.bubble != nil {
		return gp.bubble.random()
	}
`},
	{"rand.go", "func allZero(", `// random is chance that is the same for each bubble that does the same, and of
// this instant more than a part.
//
//go:nosplit
func (b *synctestBubble) random() uint64 {
	if b.drawn != b.now {
		b.drawn, b.chance = b.now, b.instant()
	}
	b.chance = stir(b.chance + 0x9e3779b97f4a7c15)
	return b.chance
}

// instant is the same in all of an instant.
//
//go:nosplit
func (b *synctestBubble) instant() uint64 { return stir(uint64(b.now)) }

//go:nosplit
func stir(x uint64) uint64 {
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	return x ^ x>>32
}

func allZero(`},
	{"rand.go", "func maps_rand() uint64 {\n", `func maps_rand() uint64 {
	if gp := getg().m.curg; gp != nil && gp.bubble != nil {
		return gp.bubble.instant()
	}
`},
	{"rand.go", "\tglobalRand.state.Init(*seed)\n", "\tclear(seed[:]) // how keys of maps are hashed follows from it\n\tglobalRand.state.Init(*seed)\n"},
	{"select.go", "\t\tj := cheaprandn(uint32(norder + 1))\n", `		j := cheaprandn(uint32(norder + 1))
		if b := getg().bubble; b != nil {
			j = uint32(stir(b.instant()+uint64(norder)) % uint64(norder+1))
		}
`},
	{"time.go", "\t\t\tt.rand = cheaprand()\n", `			t.rand = cheaprand()
			if gp := getg().m.curg; gp != nil && gp.bubble != nil {
				t.rand = uint32(gp.bubble.instant())
			}
`},
	{"proc.go", "func preemptone(pp *p) bool {\n", "func preemptone(pp *p) bool {\n\tif gomaxprocs == 1 {\n\t\treturn false\n\t}\n"},
	{"proc.go", "\tif pp.schedtick%61 == 0 && ", "\tif pp.schedtick%61 == 0 && gomaxprocs > 1 && "},                                                     // where goroutines go when more than 256 wait
	{"proc.go", "\trunqput(mp.p.ptr(), gp, next)\n\twakep()\n", "\trunqput(mp.p.ptr(), gp, next && (gomaxprocs > 1 || gp.bubble != nil))\n\twakep()\n"}, // none of the collector's goes before a run's
	{"sema.go", "func internal_sync_nanotime() int64 {\n", `func internal_sync_nanotime() int64 {
	if b := getg().bubble; b != nil {
		return b.now
	}
`},
}

// steady writes the edited files to dir and returns the file that tells the go
// command about them. It fails where the runtime is another than it knows.
func steady(dir string) (overlay string, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	runtime := filepath.Join(strings.TrimSpace(string(root)), "src", "runtime")
	texts := map[string]string{}
	for _, s := range steadies {
		if texts[s.file] == "" {
			text, err := os.ReadFile(filepath.Join(runtime, s.file))
			if err != nil {
				return "", err
			}
			texts[s.file] = string(text)
		}
		if strings.Count(texts[s.file], s.old) != 1 {
			return "", fmt.Errorf("%s of this runtime has no line %q", s.file, s.old)
		}
		texts[s.file] = strings.Replace(texts[s.file], s.old, s.steady, 1)
	}
	replace := map[string]string{}
	for file, text := range texts {
		edited := filepath.Join(dir, file)
		if err := os.WriteFile(edited, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(runtime, file)] = edited
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}
