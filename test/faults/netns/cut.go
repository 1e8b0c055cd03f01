//go:build linux

package netns

import "fmt"

// Direction is that of what is cut.
type Direction int

// The directions.
const (
	Requests Direction = iota // from the client
	Answers                   // to it
)

// Down takes the link down at the router: the client's side has no carrier, and
// what is sent either way vanishes.
func (l *Line) Down() error { return l.network.router.ip(fmt.Sprintf("link set %s down", l.port())) }

// Off turns the client's interface off: it has no route, so a new connection
// fails at once.
func (l *Line) Off() error { return l.space.ip("link set eth0 down") }

// Nameless takes the client's address away: what it sends goes nowhere, and what
// comes is for nobody.
func (l *Line) Nameless() error {
	return l.space.ip(fmt.Sprintf("addr del %v peer %v dev eth0", l.Addr(), l.network.block.addr(router)))
}

// Drop lets vanish what goes in one direction between the client and some
// servers. The other direction stays open.
func (l *Line) Drop(d Direction, servers ...int) error { return l.rule("blackhole", d, servers) }

// Refuse has the router say to the client that it can't reach some servers.
func (l *Line) Refuse(servers ...int) error { return l.rule("unreachable", Requests, servers) }

func (l *Line) rule(kind string, d Direction, servers []int) error {
	var lines []string
	for _, i := range servers {
		from, to := l.Addr(), l.network.Server(i)
		if d == Answers {
			from, to = to, from
		}
		rule := fmt.Sprintf("pref 100 from %v to %v type %s", from, to, kind)
		l.rules = append(l.rules, rule)
		lines = append(lines, "rule add "+rule)
	}
	return l.network.router.ip(lines...)
}

// Narrow lets through only so many kbit in a second each way. What does not fit
// waits for 200 ms at most; more is lost.
func (l *Line) Narrow(kbit int) error {
	return l.shape(fmt.Sprintf("tbf rate %dkbit burst 3000 latency 200ms", kbit))
}

// Delay makes packets arrive so many ms later each way, some later still, and
// loses some.
func (l *Line) Delay(ms, percent int) error {
	return l.shape(fmt.Sprintf("netem delay %dms %dms loss %d%%", ms, ms/3, percent))
}

func (l *Line) shape(how string) error {
	l.shaped = true
	if err := l.network.router.tc(fmt.Sprintf("qdisc add dev %s root %s", l.port(), how)); err != nil {
		return err
	}
	return l.space.tc("qdisc add dev eth0 root " + how)
}

// Lose loses so many percent of the packets each way, whichever.
func (l *Line) Lose(percent int) error {
	l.lossy = true
	return l.network.router.tc(losing(l.port(), percent)...)
}

// losing draws a random number for each packet (BPF): above the limit it passes.
func losing(device string, percent int) []string {
	const random = 1<<32 - 0x1000 + 56 // SKF_AD_OFF + SKF_AD_RANDOM
	program := fmt.Sprintf(`bpf da bytecode "4,32 0 0 %d,37 0 1 %d,6 0 0 0,6 0 0 2"`, random, int64(percent)*(1<<32)/100)
	return []string{
		fmt.Sprintf("qdisc add dev %s clsact", device),
		fmt.Sprintf("filter add dev %s egress %s", device, program),
		fmt.Sprintf("filter add dev %s ingress %s", device, program),
	}
}

// Heal ends all faults of the line.
func (l *Line) Heal() error {
	router := l.network.router
	if err := router.ip(append(l.withoutRules(), fmt.Sprintf("link set %s up", l.port()))...); err != nil {
		return err
	}
	if err := l.space.ip(l.whole()...); err != nil {
		return err
	}
	if l.lossy {
		l.lossy = false
		if err := router.tc(fmt.Sprintf("qdisc del dev %s clsact", l.port())); err != nil {
			return err
		}
	}
	if !l.shaped {
		return nil
	}
	l.shaped = false
	if err := router.tc(fmt.Sprintf("qdisc del dev %s root", l.port())); err != nil {
		return err
	}
	return l.space.tc("qdisc del dev eth0 root")
}
