package sim

import "time"

// Pause is SIGSTOP, and SIGCONT later: meanwhile the process sends and hears
// nothing, its clock stands still, and it believes what it did. Then all that
// came meanwhile is there at once.
func (l *Link) Pause(d time.Duration) {
	w := l.world
	w.mu.Lock()
	if l.dead || l.resumed != nil {
		w.mu.Unlock()
		return
	}
	resumed := make(chan struct{})
	l.resumed = resumed
	l.pauses = append(l.pauses, [2]time.Time{time.Now()})
	l.stopped.Store(int64(l.now()) + 1)
	w.note("%s is paused", l.Owner)
	w.mu.Unlock()
	w.sleep(d)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note("%s goes on", l.Owner)
	l.pauses[len(l.pauses)-1][1] = time.Now()
	l.stopped.Store(0)
	l.resumed = nil
	for name := range w.Watch.names {
		w.Watch.check(name)
	}
	close(resumed)
}

// paused reports whether the process stands still.
func (l *Link) paused() bool { return l.stopped.Load() != 0 }

// awake waits until the process runs; false: all is over, or done is.
func (l *Link) awake(done <-chan struct{}) bool {
	for {
		l.world.mu.Lock()
		resumed := l.resumed
		l.world.mu.Unlock()
		if resumed == nil {
			return true
		}
		select {
		case <-resumed:
		case <-done:
			return false
		case <-l.world.over:
			return false
		}
	}
}

// now is the clock of the process.
func (l *Link) now() time.Duration {
	if at := l.stopped.Load(); at != 0 {
		return time.Duration(at - 1)
	}
	return time.Duration(float64(time.Since(l.world.began))*l.rate) + time.Duration(l.ahead.Load())
}

// OneWay loses, for a while, all that the process sends, or all that is sent to
// it.
func (l *Link) OneWay(out bool, d time.Duration) {
	set := func(on bool) {
		l.world.mu.Lock()
		defer l.world.mu.Unlock()
		if l.world.note("%s one-way out=%v %v", l.Owner, out, on); out {
			l.mute = on
		} else {
			l.deaf = on
		}
	}
	set(true)
	l.world.sleep(d)
	set(false)
}

// Sever ends all connections of the process: requests on their way are not read,
// answers on theirs do not come, and it is told so.
func (l *Link) Sever() {
	l.world.mu.Lock()
	l.world.note("all connections of %s are cut", l.Owner)
	l.severed++
	l.world.mu.Unlock()
	l.cut()
}

// epoch counts the times that the connections were cut.
func (l *Link) epoch() int {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	return l.severed
}

// unheard reports whether nothing comes to the process at present; quiet, whether
// nothing comes from it.
func (l *Link) unheard() bool {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	return l.silent || l.deaf
}
