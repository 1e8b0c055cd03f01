package main

// sizeMutants are the guards of the size of a semaphore; see docs/adr/0030.
var sizeMutants = []mutant{
	{guard: "size: the name's counts, not the request's", file: "internal/script/shared_capacity.lua", name: "TestSharedRollingResize",
		edits: []string{"  capacity = stored\n", ""}},
	{guard: "size: it outlives the holders", file: "internal/script/shared_capacity.lua", name: "TestSharedSizeIsKept",
		edits: []string{"seen[2] or sized and redis.call('GET', sized) or ''", "seen[2] or ''"}},
	{guard: "size: the first use stores it", file: "internal/script/shared_size.lua", name: "TestSharedSizeIsKept",
		edits: []string{"== 0 then", "== 2 then"}},
	{guard: "size: what holders have comes first", file: "internal/script/shared_capacity.lua", name: "TestSharedSizeIsLost",
		edits: []string{"seen[2] or sized and redis.call('GET', sized) or ''", "sized and redis.call('GET', sized) or ''"}},
	{guard: "size: what makes no sense is none", file: "internal/script/shared_capacity.lua", name: "TestSharedSizeIsLost",
		edits: []string{"stored >= 1 and stored <= 1073741824 and ", ""}},
	{guard: "size: Resize of a name that nobody holds", file: "internal/script/shared_resize.lua", name: "TestSharedResizeOfNothing",
		edits: []string{"redis.call('SET', sized, ARGV[1], 'PX', '2592000000')", ""}},
	{guard: "size: Resize changes it for those who hold", file: "internal/script/shared_resize.lua", name: "TestSharedResize",
		edits: []string{"  redis.call('HSET', L, 'capacity', ARGV[1])\n", ""}},
	{guard: "size: more than there are is refused", file: "internal/script/shared_lock.lua", name: "TestSharedTooMany",
		edits: []string{"if weight > capacity then", "if false then"}},
	{guard: "size: no permits are refused", file: "semaphore.go", name: "TestSharedTooMany",
		edits: []string{"n < 1 || n > MaxSize", "false"}},
	{guard: "size: another one is told", file: "ask.go", name: "TestSharedSizeIsKept",
		edits: []string{"	l.sized(a)\n", ""}},
	{guard: "size: and told once", file: "semaphore.go", name: "TestSharedSizeIsKept",
		edits: []string{" || c.sizes[l.name] == a.capacity", ""}},
}
