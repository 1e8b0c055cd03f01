package sim

import "time"

// order checks L1 where the network was calm: a caller is overtaken only by
// callers of another process that stood in its line when the tenure which served
// them began, or that came at about the same time; and no process has more than
// two tenures in front of it.
func (w *Watch) order() {
	w.world.mu.Lock()
	defer w.world.mu.Unlock()
	const abreast = 60 * time.Millisecond // the try, the subscription, the place in line, and the recall
	for name, n := range w.names {
		began := map[string]time.Time{} // tenures, by their first lease
		for _, h := range n.all {
			if _, ok := began[h.tenure]; !ok {
				began[h.tenure] = h.Got
			}
		}
		for _, a := range n.calls {
			if a.Got.IsZero() {
				continue
			}
			tenures := map[*Link]map[string]bool{}
			for _, b := range n.all {
				if b.Process == a.Process || !b.Got.Before(a.Got) || b.Got.Before(a.Called) {
					continue
				}
				if from := began[b.tenure]; b.Called.After(from) && b.Called.After(a.Called.Add(abreast)) {
					w.broken("L1: %s, who called for %s at %v, was overtaken by %s, who called at %v into a tenure that began at %v",
						a.Process.Owner, name, w.since(a.Called), b.Process.Owner, w.since(b.Called), w.since(from))
				}
				if began[b.tenure].After(a.Called.Add(abreast)) {
					if tenures[b.Process] == nil {
						tenures[b.Process] = map[string]bool{}
					}
					tenures[b.Process][b.tenure] = true
				}
			}
			for l, t := range tenures {
				if len(t) > 2 {
					w.broken("L1: %s waited for %s during %d tenures of %s", a.Process.Owner, name, len(t), l.Owner)
				}
			}
		}
	}
}

func (w *Watch) since(t time.Time) time.Duration { return t.Sub(w.world.began) }
