package redistest

// ProxyOn is RunProxy with a listener of one's own.
var ProxyOn = proxyOn

// Links counts connections that the proxy has not forgotten.
func (p *Proxy) Links() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}
