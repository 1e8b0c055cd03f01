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
	all := []LocalState{}
	at := map[string]int{} // candidates and shared kinds have several local names for one name
	c.process.Each(func(name string, held, waiting int) {
		i, known := at[name]
		if !known {
			i = len(all)
			at[name] = i
			all = append(all, LocalState{Name: name})
		}
		all[i].Held += held
		all[i].Waiting += waiting
	})
	return all
}
