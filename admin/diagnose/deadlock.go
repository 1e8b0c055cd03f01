package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/internal/keyspace"
)

// Processes and names are the nodes of a graph. A process that waits for nothing will
// release what it holds. So will a process that waits only for names that such processes
// hold, and so on. The processes that are left wait for each other. (Holt, Some Deadlock
// Properties of Computer Systems, 1972. Of a semaphore, only as many holders count as the
// head of the queue needs.)
//
// A command of 'holdfast run' ends when the commands in it have ended. So a process also
// waits for the processes that run in its command: holdfast.Details.Parent.
//
// The graph has processes, not what runs in them: a process that holds x and waits for y
// may do two things that have nothing to do with each other.

// circles is that graph, without the processes that are known to get on.
type circles struct {
	names map[string]*admin.State
	waits map[string][]string // by Client: the names that it waits for, in order
	holds map[string][]string // by Client: those that it has, or a part of
	stuck map[string]bool     // by Client

	parent   map[string]string   // by Client: the one in whose command it runs
	children map[string][]string // by Client: those that run in its command
}

// findCircles returns the circle of each name that is in one.
func findCircles(names []admin.Surveyed) map[string]Diagnosis {
	g := &circles{
		map[string]*admin.State{}, map[string][]string{}, map[string][]string{}, map[string]bool{},
		map[string]string{}, map[string][]string{},
	}
	for i := range names {
		if s := names[i].State; names[i].Err == nil && s.Holder != nil && !s.Holder.Foreign && !s.Holder.Cooldown {
			g.addHolders(s)
		}
	}
	g.addChildren()
	for _, s := range g.names {
		g.addWaiters(s)
	}
	g.reduce()
	return g.find()
}

func (g *circles) addHolders(s *admin.State) {
	g.names[s.Name] = s
	for _, h := range holders(s) {
		if h.Client != "" && !slices.Contains(g.holds[h.Client], s.Name) {
			g.holds[h.Client] = append(g.holds[h.Client], s.Name)
		}
		g.addParent(h.Client, h.Details)
	}
	for i := range s.Waiters {
		g.addParent(s.Waiters[i].Client, s.Waiters[i].Details)
	}
}

func (g *circles) addParent(client string, d *holdfast.Details) {
	if client != "" && d != nil && d.Parent != "" {
		g.parent[client] = d.Parent
	}
}

// addChildren fills in children. A parent that holds nothing has ended, or never was. One
// that runs in its own command was forged.
func (g *circles) addChildren() {
	for client, parent := range g.parent {
		if len(g.holds[parent]) == 0 || slices.Contains(g.ancestors(client), client) {
			continue
		}
		g.children[parent] = append(g.children[parent], client)
	}
	for _, all := range g.children {
		slices.Sort(all)
	}
}

// ancestors returns the Clients in whose commands a Client runs, innermost first. If it is
// among them, it comes last.
func (g *circles) ancestors(client string) (all []string) {
	for at := g.parent[client]; at != "" && !slices.Contains(all, at); at = g.parent[at] {
		all = append(all, at)
		if at == client {
			break
		}
	}
	return all
}

func (g *circles) addWaiters(s *admin.State) {
	for i := range s.Waiters {
		w := &s.Waiters[i]
		around := g.ancestors(w.Client)
		// One whose outer command has the name does not wait for a moment only.
		nested := slices.ContainsFunc(around, func(outer string) bool { return heldBy(s, outer) })
		// One that has a part of the name and waits for another part has several
		// pieces of work.
		if w.Client == "" || !w.Listening || w.Waited < stuckAfter && !nested || heldBy(s, w.Client) || slices.Contains(g.waits[w.Client], s.Name) {
			continue
		}
		g.waits[w.Client] = append(g.waits[w.Client], s.Name)
		slices.Sort(g.waits[w.Client])
		g.stuck[w.Client] = true
		for _, outer := range around {
			g.stuck[outer] = true
		}
	}
}

func heldBy(s *admin.State, client string) bool {
	return slices.ContainsFunc(holders(s), func(h admin.Holder) bool { return h.Client == client })
}

// reduce removes the processes that make progress, and then the processes that waited
// for them.
func (g *circles) reduce() {
	var free []string
	look := func(client string) {
		if !g.stuck[client] || slices.ContainsFunc(g.children[client], func(child string) bool { return g.stuck[child] }) {
			return
		}
		if !slices.ContainsFunc(g.waits[client], func(name string) bool { return !g.comes(name) }) {
			delete(g.stuck, client)
			free = append(free, client)
		}
	}
	for client := range maps.Clone(g.stuck) {
		look(client)
	}
	for len(free) > 0 {
		client := free[0]
		free = free[1:]
		for _, name := range g.holds[client] {
			for i := range g.names[name].Waiters {
				look(g.names[name].Waiters[i].Client)
			}
		}
		look(g.parent[client])
	}
}

// comes reports whether the head of a queue gets the name when the processes that are not stuck
// release it. No waiter overtakes the head.
func (g *circles) comes(name string) bool {
	s := g.names[name]
	w, _ := head(s)
	if w == nil || len(s.Holders) < s.Holding {
		return true // not all are known
	}
	free, need, capacity := 0, 0, 0
	switch {
	case s.Kind == holdfast.KindSemaphore && s.Size > 0:
		free, need, capacity = s.Size-s.Used, w.Part.Permits, s.Size
	case s.Kind == holdfast.KindRWMutex && w.Part.Reads && s.Holder.Part.Reads:
		return true
	}
	all := true
	for _, h := range holders(s) {
		if g.stuck[h.Client] {
			all = false
		} else {
			free += h.Part.Permits
		}
	}
	return all || capacity > 0 && free >= need
}

// find follows each process that is stuck to a name that it waits for, and to a holder of
// that name, until a circle closes.
func (g *circles) find() map[string]Diagnosis {
	found := map[string]Diagnosis{}
	clients := make([]string, 0, len(g.stuck))
	for client := range g.stuck {
		clients = append(clients, client)
	}
	slices.Sort(clients)
	seen := map[string]bool{}
	for _, client := range clients {
		var path []step
		for !seen[client] {
			seen[client] = true
			s := g.next(client)
			path = append(path, s)
			client = s.holder
		}
		if from := slices.IndexFunc(path, func(s step) bool { return s.client == client }); from >= 0 {
			d := g.diagnosis(path[from:])
			for _, s := range path[from:] {
				if s.name != "" {
					found[s.name] = d
				}
			}
		}
	}
	return found
}

// step is one process that waits for a name that another has, or, without a name, for a
// process in its command.
type step struct{ client, name, holder string }

func (g *circles) next(client string) step {
	for _, name := range g.waits[client] {
		if g.comes(name) {
			continue
		}
		holder := ""
		for _, h := range holders(g.names[name]) {
			if holder == "" && g.stuck[h.Client] {
				holder = h.Client
			}
		}
		return step{client, name, holder}
	}
	for _, child := range g.children[client] {
		if g.stuck[child] {
			return step{client: client, holder: child}
		}
	}
	return step{client: client, holder: client} // not reached: it would not be stuck
}

func (g *circles) diagnosis(circle []step) Diagnosis {
	first := -1 // so that the same circle is described in the same words
	for i := range circle {
		if circle[i].name != "" && (first < 0 || circle[i].name < circle[first].name) {
			first = i
		}
	}
	circle = append(slices.Clone(circle[first+1:]), circle[:first+1]...)
	last := circle[len(circle)-1].name
	had, by := last, circle[0].client
	var parts []string
	for _, s := range circle {
		if s.name == "" {
			continue
		}
		inner := ""
		if s.client != by {
			inner = fmt.Sprintf(", and %s in its command", g.nameOf(s.name, s.client))
		}
		parts = append(parts, fmt.Sprintf("%s holds %s%s%s waits for %s", g.nameOf(had, by), keyspace.Clean(had, 80), inner, and(inner == ""), keyspace.Clean(s.name, 80)))
		had, by = s.name, s.holder
	}
	about := "if one goroutine of each process both holds its name and waits for the other name, the wait never ends. %s. Then lock the names in the same order everywhere, or together with Client.Multi"
	switch nested := len(parts) < len(circle); {
	case nested && len(parts) == 1:
		about = "the outer command waits for the nested one, so the wait never ends. %s. Then lock the name only once"
	case nested:
		about = "each outer command waits for its nested one, so the wait never ends. %s. Then lock the names in the same order everywhere"
	}
	return Diagnosis{PossibleDeadlock, strings.Join(parts, "; "), fmt.Sprintf(about, subject{g.names[last]}.toBreak())}
}

// and joins a verb to the one before it.
func and(join bool) string {
	if join {
		return " and"
	}
	return ""
}

// nameOf describes a process that has a name, or waits for it.
func (g *circles) nameOf(name, client string) (who string) {
	for i := range g.names[name].Waiters {
		if w := &g.names[name].Waiters[i]; w.Client == client {
			who = w.Describe()
		}
	}
	for _, h := range holders(g.names[name]) {
		if h.Client == client {
			who = h.Describe()
		}
	}
	return who
}
