package embedded

// Read decodes one value of the protocol.
var Read = read

// Deadlines is the heap that knows which key is over next.
type Deadlines = deadlines

func (d *deadlines) Set(key string, at int64)            { d.set(key, at) }
func (d *deadlines) Pop(now int64) (key string, ok bool) { return d.pop(now) }
