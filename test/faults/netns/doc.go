// Package netns puts processes of this machine into network namespaces of their
// own, so that it is the kernel that cuts them off from servers: packets vanish,
// and TCP sends them again.
//
// In the middle stands a router, in a namespace, too:
//
//	this machine's own namespace        router              a client
//	198.18.N.1, .2, … on hfv<pid>n<N> ─ host, l0, l1, … ─ eth0, 198.18.N.129, …
//
// Servers listen on the addresses of this machine's end, beside loopback. All of
// it hangs on files that this process has open, so however it ends the kernel
// takes it away; what it could not is taken away by the next [Open].
//
// It needs root and the command ip; some faults need tc, which comes with it.
package netns
