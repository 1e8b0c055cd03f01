package holdfast

// LocalState is what callers of one Client have and want of one name.
type LocalState struct {
	Name    string
	Held    int // leases that are not over; those that share one, see Mutex.Reentrant, count once
	Waiting int // calls that have not got their answer, TryLock's too
}

// LocalState lists the names that callers of this Client hold or wait for, in no order, each
// once. It is what this process knows, exact at that moment: it asks nobody, and takes
// about a microsecond a name. A name that only lingers is not among them.
func (c *Client) LocalState() []LocalState {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]LocalState, 0, len(c.lines))
	at := make(map[string]int, len(c.lines)) // candidates and shared kinds have several lines of a name
	for _, l := range c.lines {
		held := 0
		if u := l.turn; u != nil && u.ended.Load() == nil {
			held = 1
		}
		if held+l.callers.n == 0 {
			continue
		}
		i, known := at[l.name]
		if !known {
			i = len(all)
			at[l.name] = i
			all = append(all, LocalState{Name: l.name})
		}
		all[i].Held += held
		all[i].Waiting += l.callers.n
	}
	return all
}
