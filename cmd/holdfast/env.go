package main

import (
	"slices"
	"strconv"

	"github.com/holdfast-go/holdfast"
)

// commandEnv is outer with what a command can know about its lease. What a lock
// around this one has set comes first and so gives way: package exec keeps the
// last of each name, and only that.
func commandEnv(outer []string, owner string, lease *holdfast.Lease) []string {
	return append(slices.Clip(outer),
		"HOLDFAST_NAME="+lease.Name(),
		"HOLDFAST_OWNER="+owner,
		"HOLDFAST_TOKEN="+strconv.FormatInt(lease.Token(), 10),
	)
}
