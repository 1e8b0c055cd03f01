package main

import (
	"context"
	"fmt"

	"github.com/holdfast-go/holdfast"
)

// lockPart locks a name as a mutex, or as what part says: read, write, or N/SIZE
// permits.
func lockPart(ctx context.Context, client *holdfast.Client, name string, part []string) (*holdfast.Lease, error) {
	switch {
	case len(part) == 0:
		return client.Mutex(name).Lock(ctx)
	case part[0] == "read":
		return client.RWMutex(name).RLock(ctx)
	case part[0] == "write":
		return client.RWMutex(name).Lock(ctx)
	}
	var n, size int
	if _, err := fmt.Sscanf(part[0], "%d/%d", &n, &size); err != nil {
		return nil, err
	}
	return client.Semaphore(name, size).Acquire(ctx, n)
}
