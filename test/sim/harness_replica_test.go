package sim

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// replica is a server that copies the master. One that is not frozen has all
// that the master has; a frozen one what the master had when it froze.
type replica struct {
	frozen bool
	image  []imaged
}

// imaged is a key as a replica has it.
type imaged struct {
	key, kind string
	values    []string
	expiry    time.Time // by the server's clock; zero: none
}

// Replicate gives the master so many replicas.
func (w *World) Replicate(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for range n {
		w.replicas = append(w.replicas, &replica{})
	}
}

// Freeze stops a replica: it stays connected and acknowledges nothing.
func (w *World) Freeze(i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.replicas[i]; !r.frozen {
		w.note("replica %d freezes", i)
		r.frozen, r.image = true, w.image()
	}
}

// Thaw lets a replica go on: it catches up at once.
func (w *World) Thaw(i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.replicas[i].frozen {
		w.note("replica %d thaws", i)
	}
	*w.replicas[i] = replica{}
}

// Failover loses the master and makes replica i the next one, with what it has,
// and the old one a replica. It tells whether anything was lost by that.
func (w *World) Failover(i int, after time.Duration) (lost bool) {
	w.mu.Lock()
	w.down = true
	w.masters++
	r := w.replicas[i]
	w.note("the master is lost; replica %d takes over, frozen=%v", i, r.frozen)
	if lost = r.frozen; lost {
		w.restore(r.image)
		w.Watch.fellBack()
	}
	*r = replica{}
	links := w.links
	w.mu.Unlock()
	for _, l := range links {
		l.cut()
	}
	time.Sleep(after)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = false
	w.note("the new master takes connections")
	return lost
}

// image is what the master has.
func (w *World) image() (image []imaged) {
	for _, key := range w.list("KEYS", "*") {
		k := imaged{key: key, kind: fmt.Sprint(w.Do("TYPE", key))}
		switch k.kind {
		case "string":
			k.values = []string{fmt.Sprint(w.Do("GET", key))}
		case "zset":
			k.values = w.list("ZRANGE", key, "0", "-1", "WITHSCORES")
		case "hash":
			k.values = w.list("HGETALL", key)
		}
		if ms, _ := w.Do("PTTL", key).(int64); ms >= 0 {
			k.expiry = w.serverTime().Add(time.Duration(ms) * time.Millisecond)
		}
		image = append(image, k)
	}
	return image
}

func (w *World) restore(image []imaged) {
	w.Do("FLUSHALL")
	for _, k := range image {
		left := k.expiry.Sub(w.serverTime()).Milliseconds()
		if !k.expiry.IsZero() && left <= 0 {
			continue
		}
		if k.kind == "string" {
			w.Do("SET", k.key, k.values[0])
		}
		if k.kind == "hash" {
			w.Do(append([]string{"HSET", k.key}, k.values...)...)
		}
		for i := 0; k.kind == "zset" && i < len(k.values); i += 2 {
			w.Do("ZADD", k.key, k.values[i+1], k.values[i])
		}
		if !k.expiry.IsZero() {
			w.Do("PEXPIRE", k.key, strconv.FormatInt(left, 10))
		}
	}
}

func (w *World) list(args ...string) (texts []string) {
	values, _ := w.Do(args...).([]any)
	for _, v := range values {
		texts = append(texts, fmt.Sprint(v))
	}
	return texts
}

var errFailover = errors.New("sim: the connection ended with its server")

// master numbers the servers that were it.
func (w *World) master() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.masters
}

// acknowledged waits, as WAIT does, on the server where the calls ran.
func (w *World) acknowledged(master, want int, timeout time.Duration) (acked int, err error) {
	for end := time.Now().Add(timeout); ; {
		w.mu.Lock()
		acked = 0
		for _, r := range w.replicas {
			if !r.frozen {
				acked++
			}
		}
		over := w.masters != master
		w.mu.Unlock()
		left := time.Until(end)
		switch {
		case over:
			return 0, errFailover
		case acked >= want || left <= 0:
			return acked, nil
		case !w.sleep(min(left, 5*time.Millisecond)):
			return 0, errFailover
		}
	}
}
