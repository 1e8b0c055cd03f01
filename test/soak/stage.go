//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/test/support/child"
	"github.com/holdfast-go/holdfast/test/support/host"
	"github.com/holdfast-go/holdfast/test/support/redistest"
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
	buried  counts // sums over those that were killed
	result  *result
}

// member is a client process and its way to the server.
type member struct {
	*child.Child
	proxy  *redistest.Proxy
	latest counts
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
	if m.Child, err = child.Start(settingVariable, string(text), s.plan.For+time.Hour); err != nil {
		return err
	}
	s.members[i] = m
	return nil
}

// dead kills a process and keeps what it had counted.
func (s *stage) dead(m *member) {
	s.buried.add(m.latest)
	m.End()
}

// ask gives an order and reads the counts.
func (m *member) ask(order string) error {
	m.latest = counts{}
	return m.Ask(order, &m.latest)
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
	for i, m := range s.members {
		if err := m.ask("counts"); err != nil {
			return err
		}
		if i < mortal {
			continue
		}
		pid := m.Pid()
		x.Goroutines += float64(m.latest.Goroutines)
		x.Heap += float64(m.latest.Heap)
		x.RSS += host.Resident(pid)
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

// do asks the server.
func (s *stage) do(args ...any) (answer string, err error) {
	err = patiently(func() error {
		answer, err = s.server.Do(args...)
		return err
	})
	return answer, err
}

// patiently repeats what a busy machine may let wait.
func patiently(ask func() error) (err error) {
	for range 20 {
		if err = ask(); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// serverSide is what the server says of itself.
func (s *stage) serverSide(x *sample) error {
	var info map[string]string
	if err := patiently(func() (err error) {
		info, err = s.server.Info("everything")
		return err
	}); err != nil {
		return err
	}
	keys, err := s.do("DBSIZE")
	if err != nil {
		return err
	}
	for to, text := range map[*float64]string{&x.Dataset: info["used_memory_dataset"], &x.Connections: info["connected_clients"], &x.Keys: keys} {
		if *to, err = strconv.ParseFloat(text, 64); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) total() {
	sum := s.buried
	for _, m := range s.members {
		sum.add(m.latest)
	}
	s.result.Total = sum
}

func (f *counts) add(g counts) {
	f.Asked += g.Asked
	f.Granted += g.Granted
	f.Lost += g.Lost
	f.Overlaps += g.Overlaps
	f.Failed += g.Failed
	if g.Error != "" {
		f.Error = g.Error
	}
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
		m.End()
		m.proxy.Close()
	}
}
