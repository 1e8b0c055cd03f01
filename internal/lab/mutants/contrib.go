package main

// contribMutants are the guards of what fits holdfast to schedulers.
var contribMutants = []mutant{
	{guard: "gocron: a job's name outlives its process", file: "contrib/gocronlock/locker.go", pkg: "./internal/lab", name: "TestProcessTickKilled",
		edits: []string{"	mutex.MinHold = max(l.options.MinHold, 0)\n", ""}},
	{guard: "cron: a job's name outlives its process", file: "contrib/cronlock/cronlock.go", pkg: "./internal/lab", name: "TestProcessTickKilled",
		edits: []string{"	m.MinHold = max(m.MinHold, o.MinHold)\n", ""}},
}
