package redistest

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link is one connection through a proxy: both its halves.
type link struct {
	client, server *net.TCPConn
	stalled        bool // protected by the proxy's mutex
	once           sync.Once
	done           chan struct{} // closed by close
	ended          atomic.Int32  // sides that have closed it
	over           chan struct{} // closed when both have: what is held back then is for nobody
}

// close resets both halves, so that what is in the buffers is lost.
func (c *link) close() {
	c.once.Do(func() {
		close(c.done)
		for _, half := range []*net.TCPConn{c.client, c.server} {
			_ = half.SetLinger(0) // the peer may have reset it already
			_ = half.Close()
		}
	})
}

// chunk is what one read gave, and when it is due at the other side.
type chunk struct {
	bytes []byte
	due   time.Time
}

// pump moves bytes one way. The reader stamps and the writer waits, so that a
// delay costs latency and not throughput. While the mode is at least from, the
// writer holds back; the chunks between the two and then the kernel's buffers
// fill up, and the sender blocks as it would before a silent peer.
func (p *Proxy) pump(c *link, to, from *net.TCPConn, held mode) {
	chunks := make(chan chunk, 256)
	var wg sync.WaitGroup
	wg.Go(func() { p.write(c, to, chunks, held) })
	for {
		buffer := make([]byte, 16<<10)
		n, err := from.Read(buffer)
		if n > 0 {
			p.mu.Lock()
			due := time.Now().Add(p.delay)
			p.mu.Unlock()
			select {
			case chunks <- chunk{buffer[:n], due}:
			case <-c.done:
			}
		}
		if err != nil {
			break
		}
	}
	if c.ended.Add(1) == 2 {
		close(c.over)
	}
	close(chunks)
	wg.Wait()
}

// write delivers the chunks and then the end of the stream.
func (p *Proxy) write(c *link, to *net.TCPConn, chunks <-chan chunk, held mode) {
	for next := range chunks {
		if wait := time.Until(next.due); wait > 0 {
			select {
			case <-time.After(wait):
			case <-c.done:
			}
		}
		if !p.await(c, held) {
			continue // cut: let the reader see it
		}
		if held == holdReplies && p.loses() {
			c.close()
			continue
		}
		if _, err := to.Write(next.bytes); err != nil {
			c.close()
		}
	}
	if p.await(c, held) {
		_ = to.CloseWrite() // the peer may have closed first
	}
}
