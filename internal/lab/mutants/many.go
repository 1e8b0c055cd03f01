package main

// manyMutants are about many names in one Client.
var manyMutants = []mutant{
	{guard: "many: a subscription looks at its own lines", file: "wake.go", pkg: ".", name: "TestSubscriptionLooksAtItsOwnLines",
		edits: []string{
			"		for l := w.first; l != nil; {\n",
			"		for _, l := range w.c.lines {\n			if l.wake == w && !yield(l) {\n				return\n			}\n		}\n		for l := (*line)(nil); l != nil; {\n",
		}},
	{guard: "many: of broken subscriptions one at a time asks for the mutex", file: "wake.go", pkg: ".", name: "TestManyBrokenSubscriptionsLetCallersPass",
		edits: []string{"	w.c.turnstile.Lock()\n", "", "	w.c.turnstile.Unlock()\n", ""}},
	{guard: "many: a subscription ends with its last line", file: "wake.go", pkg: ".", name: "TestSubscriptionEndsWithItsLastLine",
		edits: []string{"	if w.first == nil {\n		w.close()", "	if false {\n		w.close()"}},
	{guard: "many: and not before", file: "wake.go", pkg: ".", name: "TestSubscriptionEndsWithItsLastLine",
		edits: []string{"	if w.first == nil {\n		w.close()", "	if true {\n		w.close()"}},
}
