package holdfast

// LocalState counts the leases and waiting calls of one Client for one name.
type LocalState struct {
	Name    string
	Held    int // leases; callers that share a lease (see Mutex.Reentrant) count once
	Waiting int // calls without an answer yet, also of TryLock
}

// LocalState lists the names that callers of this Client hold or wait for, each once,
// in no order. It does not contact Redis. A name that only lingers is not in the list.
func (c *Client) LocalState() []LocalState {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]LocalState, 0, len(c.names))
	at := make(map[string]int, len(c.names)) // candidates and shared kinds have several local names for one name
	for _, n := range c.names {
		held := 0
		if u := n.turn; u != nil && u.ended.Load() == nil {
			held = 1
		}
		if held+n.waiters.n == 0 {
			continue
		}
		i, known := at[n.name]
		if !known {
			i = len(all)
			at[n.name] = i
			all = append(all, LocalState{Name: n.name})
		}
		all[i].Held += held
		all[i].Waiting += n.waiters.n
	}
	return all
}
