package main

// nearMutants are what tells waiters that joined far behind, and came near since.
var nearMutants = []mutant{
	{guard: "near: a hand-over tells", file: "internal/script/handover.lua", name: "TestNearAfterTurns",
		edits: []string{"  if left > 16 - gone then near(gone, tonumber(px)) end\n", ""}},
	{guard: "near: a cancel behind the head tells", file: "internal/script/cancel.lua", name: "TestNearAfterOthersGaveUp",
		edits: []string{"if rank and rank < 16 then", "if false then"}},
	{guard: "near: a cancel of the head tells", file: "internal/script/cancel.lua", name: "TestNearAfterTheHeadGaveUp",
		edits: []string{"    near(gone, life)\n", ""}},
	{guard: "near: so does a name that rests", file: "internal/script/rest.lua", name: "TestNearWhileItRests",
		edits: []string{"  near(#dead, tonumber(left))\n", ""}},
	{guard: "near: shared: a hand-over tells", file: "internal/script/shared_handover.lua", name: "TestNearAfterTurns",
		edits: []string{"  if plan.first then near(gone, math.min(left, 2000)) end\n", ""}},
	{guard: "near: shared: who gave up behind the head counts", file: "internal/script/shared_unlock.lua", name: "TestNearAfterOthersGaveUp",
		edits: []string{"if rank and rank < 16 then", "if false then"}},
	{guard: "near: it is heard", file: "wake.go", name: "TestNearAfterTurns",
		edits: []string{"case \"next\", \"near\":", "case \"next\":"}},
}
