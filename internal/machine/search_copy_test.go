package machine

import (
	"container/list"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/internal/ballot"
	"github.com/holdfast-go/holdfast/internal/clock"
	"github.com/holdfast-go/holdfast/internal/keyspace"
	"github.com/holdfast-go/holdfast/internal/lifetime"
)

// copier copies all that can be reached from a pointer, so that a search can take two ways from
// one state. It knows the types by reflection, so no field is forgotten. What never changes is
// shared: strings, keys, arguments of scripts, errors. A function is copied if it is a method
// bound to what is copied.
type copier struct {
	known  table[unsafe.Pointer]
	timers []func() // the heap of timers comes last: it points into what has them
}

// copyOf returns a copy of all that can be reached from x.
func copyOf[T any](c *copier, x *T) *T {
	c.known.clear()
	y := (*T)(c.object(unsafe.Pointer(x), planOf(reflect.TypeFor[T]())))
	for len(c.timers) > 0 {
		later := c.timers
		c.timers = nil
		for _, f := range later {
			f()
		}
	}
	return y
}

// plan is what is to be done to copy a type, beside its bytes.
type plan struct {
	t     reflect.Type
	steps []copyStep
	inner []uintptr // places inside that others point to
}

type copyStep struct {
	at   uintptr
	t    reflect.Type
	do   func(c *copier, s *copyStep, p unsafe.Pointer)
	elem *plan
}

// planner has the plans of all types that were met, and what each type is named. What it has does
// not change: searches run side by side.
type planner struct {
	plans map[reflect.Type]*plan
	bound map[string]*plan // whose methods are stored as functions
}

var (
	planners  atomic.Pointer[planner]
	planMutex sync.Mutex
)

func planOf(t reflect.Type) *plan {
	if all := planners.Load(); all != nil && all.plans[t] != nil {
		return all.plans[t]
	}
	planMutex.Lock()
	defer planMutex.Unlock()
	next := &planner{map[reflect.Type]*plan{}, map[string]*plan{}}
	if all := planners.Load(); all != nil {
		maps.Copy(next.plans, all.plans)
		maps.Copy(next.bound, all.bound)
	}
	p := next.planOf(t)
	planners.Store(next)
	return p
}

func (all *planner) planOf(t reflect.Type) *plan {
	if p := all.plans[t]; p != nil {
		return p
	}
	p := &plan{t: t}
	all.plans[t] = p
	all.bound[t.Name()] = p
	p.add(all, t, 0)
	return p
}

// shared are types that are not copied, or that nothing here changes.
var sharedTypes = map[reflect.Type]bool{
	reflect.TypeFor[Settings](): true, reflect.TypeFor[keyspace.Keys](): true, reflect.TypeFor[driver.Script](): true,
	reflect.TypeFor[ballot.Place](): true, reflect.TypeFor[ballot.Call](): true, reflect.TypeFor[searchBounds](): true, reflect.TypeFor[world](): true, reflect.TypeFor[Kind](): true, reflect.TypeFor[lifetime.Terms](): true,
}

// add adds what is to be done for a value of type t at that place.
func (p *plan) add(all *planner, t reflect.Type, at uintptr) {
	step := func(do func(c *copier, s *copyStep, p unsafe.Pointer), elem reflect.Type) {
		s := copyStep{at: at, t: t, do: do}
		if elem != nil {
			s.elem = all.planOf(elem)
		}
		p.steps = append(p.steps, s)
	}
	if sharedTypes[t] {
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		switch t {
		case reflect.TypeFor[clock.Timer](), reflect.TypeFor[list.List](), reflect.TypeFor[list.Element]():
			p.inner = append(p.inner, at)
		}
		for i := range t.NumField() {
			p.add(all, t.Field(i).Type, at+t.Field(i).Offset)
		}
	case reflect.Array:
		for i := range t.Len() {
			p.add(all, t.Elem(), at+uintptr(i)*t.Elem().Size())
		}
	case reflect.Pointer:
		if !sharedTypes[t.Elem()] && t.Elem().PkgPath() != "time" {
			step((*copier).pointer, t.Elem())
		}
	case reflect.Slice:
		switch {
		case t.Elem().Kind() == reflect.String: // never appended to
		case t.Elem() == reflect.TypeFor[*clock.Timer]():
			step((*copier).heap, reflect.TypeFor[clock.Timer]())
		default:
			step((*copier).slice, t.Elem())
		}
	case reflect.Map:
		switch {
		case t.Elem().Kind() == reflect.Pointer:
			step((*copier).hash, t.Elem().Elem())
		case t.Key().Kind() == reflect.Pointer:
			step((*copier).hash, t.Key().Elem())
		default:
			step((*copier).hash, nil)
		}
	case reflect.Func:
		step((*copier).method, nil)
	case reflect.Interface:
		step((*copier).iface, nil)
	}
}

// object copies what a pointer points to, once.
func (c *copier) object(p unsafe.Pointer, pl *plan) unsafe.Pointer {
	if p == nil {
		return nil
	}
	if q, known := c.known.find(p); known {
		return q
	}
	to := reflect.New(pl.t)
	to.Elem().Set(reflect.NewAt(pl.t, p).Elem())
	q := to.UnsafePointer()
	c.known.add(p, q)
	for _, at := range pl.inner {
		if at > 0 {
			c.known.add(unsafe.Add(p, at), unsafe.Add(q, at))
		}
	}
	c.steps(pl, q)
	return q
}

func (c *copier) steps(pl *plan, q unsafe.Pointer) {
	for i := range pl.steps {
		s := &pl.steps[i]
		s.do(c, s, unsafe.Add(q, s.at))
	}
}

func (c *copier) pointer(s *copyStep, p unsafe.Pointer) {
	if at := (*unsafe.Pointer)(p); *at != nil {
		*at = c.object(*at, s.elem)
	}
}

func (c *copier) slice(s *copyStep, p unsafe.Pointer) {
	old := reflect.NewAt(s.t, p).Elem()
	if old.IsNil() {
		return
	}
	fresh := reflect.MakeSlice(s.t, old.Len(), old.Len())
	reflect.Copy(fresh, old)
	for i := range old.Len() {
		c.steps(s.elem, fresh.Index(i).Addr().UnsafePointer())
	}
	old.Set(fresh)
}

func (c *copier) heap(s *copyStep, p unsafe.Pointer) {
	c.timers = append(c.timers, func() {
		timers := (*[]*clock.Timer)(p)
		fresh := make([]*clock.Timer, len(*timers), len(*timers)+2)
		for i, t := range *timers {
			fresh[i] = (*clock.Timer)(c.object(unsafe.Pointer(t), s.elem))
		}
		*timers = fresh
	})
}

// hash copies a map. All maps from strings to pointers are alike, and all from pointers to
// nothing: reflection would take several times as long.
func (c *copier) hash(s *copyStep, p unsafe.Pointer) {
	key, value := s.t.Key(), s.t.Elem()
	switch {
	case *(*unsafe.Pointer)(p) == nil:
	case key.Kind() == reflect.String && value.Kind() == reflect.Pointer:
		m := (*map[string]unsafe.Pointer)(p)
		fresh := make(map[string]unsafe.Pointer, len(*m))
		for k, v := range *m {
			fresh[k] = c.object(v, s.elem)
		}
		*m = fresh
	case key.Kind() == reflect.Pointer && value.Size() == 0:
		m := (*map[unsafe.Pointer]struct{})(p)
		fresh := make(map[unsafe.Pointer]struct{}, len(*m))
		for k := range *m {
			fresh[c.object(k, s.elem)] = struct{}{}
		}
		*m = fresh
	case key.Kind() == reflect.String && value.Kind() == reflect.Int64:
		m := (*map[string]int64)(p)
		fresh := make(map[string]int64, len(*m))
		for k, v := range *m {
			fresh[k] = v
		}
		*m = fresh
	default:
		panic(fmt.Sprintf("search: no way to copy a %v", s.t))
	}
}

// closure is how a method that is bound to a pointer is stored.
type closure struct {
	code uintptr
	of   unsafe.Pointer
}

// methods are the plans for the receivers of bound methods, by their code; nil: a plain function.
var methods sync.Map

func (c *copier) method(_ *copyStep, p unsafe.Pointer) {
	at := (*unsafe.Pointer)(p)
	if *at == nil {
		return
	}
	old := (*closure)(*at)
	if pl := receiverOf(old.code); pl != nil {
		*at = unsafe.Pointer(&closure{old.code, c.object(old.of, pl)})
	}
}

// receiverOf finds whose method a function is, by its name; nil: it is bound to nothing.
func receiverOf(code uintptr) *plan {
	if p, known := methods.Load(code); known {
		return p.(*plan)
	}
	p := findReceiver(code)
	methods.Store(code, p)
	return p
}

func findReceiver(code uintptr) *plan {
	name := runtime.FuncForPC(code).Name()
	whole, isBound := strings.CutSuffix(name, "-fm")
	_, method, ok := strings.Cut(whole, "(*")
	if !ok {
		panic("search: a function that may have variables of its own: " + name)
	}
	if !isBound {
		return nil
	}
	of, _, _ := strings.Cut(method, ")")
	p := planners.Load().bound[of]
	if p == nil {
		panic("search: a method of a type that is not known: " + name)
	}
	return p
}

// iface copies what is in an interface, if that is part of a state.
func (c *copier) iface(s *copyStep, p unsafe.Pointer) {
	v := reflect.NewAt(s.t, p).Elem()
	if v.IsNil() {
		return
	}
	switch in := v.Elem(); {
	case in.Type() == reflect.TypeFor[*searchProc]():
		at := (*[2]unsafe.Pointer)(p)
		at[1] = c.object(at[1], planOf(reflect.TypeFor[searchProc]()))
	case in.Kind() == reflect.Struct && strings.HasSuffix(in.Type().PkgPath(), "/memory"): // an element of a list
		fresh := reflect.New(in.Type())
		fresh.Elem().Set(in)
		c.steps(planOf(in.Type()), fresh.UnsafePointer())
		v.Set(fresh.Elem())
	}
}

// table remembers things by their address. It is a hash table that is cleared by counting.
type table[V any] struct {
	slots [1024]struct {
		of    unsafe.Pointer
		value V
		round uint32
	}
	round uint32
}

func (t *table[V]) clear() { t.round++ }

func (t *table[V]) slot(p unsafe.Pointer) int {
	i := int(uint64(uintptr(p)) * 0x9E3779B97F4A7C15 >> 54)
	for t.slots[i].round == t.round && t.slots[i].of != p {
		i = (i + 1) % len(t.slots)
	}
	return i
}

func (t *table[V]) find(p unsafe.Pointer) (v V, known bool) {
	if s := &t.slots[t.slot(p)]; s.round == t.round {
		return s.value, true
	}
	return v, false
}

func (t *table[V]) add(p unsafe.Pointer, v V) {
	s := &t.slots[t.slot(p)]
	s.of, s.value, s.round = p, v, t.round
}
