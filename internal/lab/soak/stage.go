//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/internal/lab/redistest"
)

// mortal is how many of the processes are killed now and then. The others live from
// beginning to end, and what they use is what must not grow.
const mortal = 2

// stage is the server and the processes.
type stage struct {
	plan    plan
	dir     string
	server  *redistest.Server
	members []*member
	buried  figures // sums over those that were killed
	result  *result
}

// member is a client process and its way to the server.
type member struct {
	proxy   *redistest.Proxy
	command *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Scanner
	latest  figures
}

func soak(plan plan) (*result, error) {
	dir, err := os.MkdirTemp("", "hfsoak")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	server, err := redistest.Run(dir, redistest.Options{AOF: true, Config: []string{"appendfsync always", "maxclients 4000"}})
	if err != nil {
		return nil, err
	}
	defer server.Close()
	s := &stage{plan: plan, dir: dir, server: server, members: make([]*member, plan.Processes), result: newResult(plan)}
	defer s.end()
	for i := range s.members {
		if err := s.begin(i); err != nil {
			return nil, err
		}
	}
	if err := s.play(); err != nil {
		return nil, err
	}
	return s.result, s.finish()
}

// begin starts a process, with the proxy that the place has or a new one.
func (s *stage) begin(i int) error {
	m := &member{}
	if old := s.members[i]; old != nil {
		m.proxy = old.proxy
	} else {
		proxy, err := redistest.RunProxy(s.server.Addr())
		if err != nil {
			return err
		}
		m.proxy = proxy
	}
	text, err := json.Marshal(setting{
		URL: "redis://" + m.proxy.Addr(), Board: filepath.Join(s.dir, "board"), Number: i,
		Clients: s.plan.Clients / s.plan.Processes, Names: s.plan.Names, TTL: s.plan.TTL, Seed: s.plan.Seed + uint64(i),
	})
	if err != nil {
		return err
	}
	m.command = exec.Command("/proc/self/exe") //nolint:noctx // it is ended by pid
	m.command.Env = append(os.Environ(), settingVariable+"="+string(text))
	m.command.Stderr = os.Stderr
	m.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if m.orders, err = m.command.StdinPipe(); err != nil {
		return err
	}
	out, err := m.command.StdoutPipe()
	if err != nil {
		return err
	}
	m.answers = bufio.NewScanner(out)
	s.members[i] = m
	return m.command.Start()
}

func (m *member) freeze() error { return m.command.Process.Signal(syscall.SIGSTOP) }
func (m *member) thaw() error   { return m.command.Process.Signal(syscall.SIGCONT) }

// dead kills a process and keeps what it had counted.
func (s *stage) dead(m *member) {
	s.buried.add(m.latest)
	_ = m.command.Process.Kill()
	_ = m.command.Wait()
}

// ask gives an order and reads the figures.
func (m *member) ask(order string) error {
	if _, err := fmt.Fprintln(m.orders, order); err != nil {
		return err
	}
	if !m.answers.Scan() {
		return fmt.Errorf("process %d has ended: %w", m.command.Process.Pid, m.answers.Err())
	}
	m.latest = figures{}
	return json.Unmarshal(m.answers.Bytes(), &m.latest)
}

// play lets faults hit, one after the other, and takes a sample every ten seconds.
func (s *stage) play() error {
	random := rand.New(rand.NewPCG(s.plan.Seed, 0))
	began := time.Now()
	next := began.Add(10 * time.Second)
	for time.Since(began) < s.plan.For {
		f := draw(random)
		if err := f.strike(s, random); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		s.result.Faults[f.name]++
		moment(random, 3*time.Second)
		if time.Now().Before(next) {
			continue
		}
		next = time.Now().Add(10 * time.Second)
		if err := s.sample(time.Since(began)); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) sample(at time.Duration) error {
	x := sample{Seconds: at.Seconds()}
	if err := s.profile(at); err != nil {
		return err
	}
	for i, m := range s.members {
		if err := m.ask("figures"); err != nil {
			return err
		}
		if i < mortal {
			continue
		}
		pid := m.command.Process.Pid
		x.Goroutines += float64(m.latest.Goroutines)
		x.Heap += float64(m.latest.Heap)
		x.RSS += resident(pid)
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil {
			return err
		}
		x.Descriptors += float64(len(open))
	}
	if err := s.serverSide(&x); err != nil {
		return err
	}
	s.total()
	return s.result.add(x)
}

// profile lets the process that lives longest say what its heap is used for.
func (s *stage) profile(at time.Duration) error {
	if s.plan.Profiles == "" || len(s.result.samples)%60 != 0 {
		return nil
	}
	file := filepath.Join(s.plan.Profiles, fmt.Sprintf("heap-%05.0f.pprof", at.Seconds()))
	return s.members[mortal].ask("profile " + file)
}

// do asks the server, which a busy machine may let wait.
func (s *stage) do(args ...any) (answer string, err error) {
	for range 20 {
		if answer, err = s.server.Do(args...); err == nil {
			return answer, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return "", err
}

// serverSide is what the server says of itself.
func (s *stage) serverSide(x *sample) error {
	text, err := s.do("INFO", "everything")
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		n, _ := strconv.ParseFloat(value, 64)
		switch key {
		case "used_memory_dataset":
			x.Dataset = n
		case "connected_clients":
			x.Connections = n
		}
	}
	keys, err := s.do("DBSIZE")
	if err != nil {
		return err
	}
	x.Keys, err = strconv.ParseFloat(keys, 64)
	return err
}

func (s *stage) total() {
	sum := s.buried
	for _, m := range s.members {
		sum.add(m.latest)
	}
	s.result.Total = sum
}

func (f *figures) add(g figures) {
	f.Asked += g.Asked
	f.Granted += g.Granted
	f.Lost += g.Lost
	f.Overlaps += g.Overlaps
	f.Failed += g.Failed
	if g.Error != "" {
		f.Error = g.Error
	}
}

// resident is the memory of a process that is its own, in bytes.
func resident(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kb * 1024
		}
	}
	return 0
}

// finish lets all end well and looks at what is left.
func (s *stage) finish() error {
	for _, m := range s.members {
		if err := m.ask("finish"); err != nil {
			return err
		}
		s.result.LeftGoroutines = max(s.result.LeftGoroutines, m.latest.Goroutines)
	}
	s.total()
	time.Sleep(s.plan.TTL + time.Second) // what the killed held
	for _, pattern := range []string{"soak:*", "holdfast/holders:*"} {
		left, err := s.do("KEYS", pattern)
		if err != nil {
			return err
		}
		s.result.LeftKeys = append(s.result.LeftKeys, strings.Fields(left)...)
	}
	return nil
}

func (s *stage) end() {
	for _, m := range s.members {
		if m == nil {
			continue
		}
		_ = m.command.Process.Kill()
		_ = m.command.Wait()
		m.proxy.Close()
	}
}
