package mutation

// frontMutants are what tells waiters that joined far behind, and came near since.
var frontMutants = []mutant{
	{guard: "front: a hand-over notifies the front", file: "internal/script/part/hand_over.lua", name: "TestFrontAfterTurns",
		edits: []string{"      notify_front(gone, tonumber(px))\n", ""}},
	{guard: "front: a hand-over that empties the queue notifies nobody", file: "internal/script/part/hand_over.lua", pkg: "./test/cluster", name: "TestHandOverEmptiesAQueueThatMoves",
		edits: []string{"left > math.max(0, {{front_size}} - gone)", "left > {{front_size}} - gone"}},
	{guard: "front: a hand-over that removes 500 dead waiters notifies the front", file: "internal/script/part/retry_after_removal.lua", name: "TestFrontBehindManyDead",
		edits: []string{"    notify_front(gone, math.max(0, redis.call('PTTL', lock)))\n", ""}},
	{guard: "front: so does one of a shared kind", file: "internal/script/part/shared_hand_over.lua", name: "TestFrontBehindManyDead",
		edits: []string{" or waiting > gone", ""}},
	{guard: "front: shared: waiters that gave up far behind are removed", file: "internal/script/shared/unlock.lua", name: "TestFrontWhenTheHeadIsGrantedAndOneGaveUp",
		edits: []string{
			"if rank and rank >= {{front_size}} then redis.call('ZREM', queue, id) end -- before others come to the front\n", "",
			"hand_over(plan, '', id, capacity)\n", "hand_over(plan, '', id, capacity)\nif rank and rank >= {{front_size}} then redis.call('ZREM', queue, id) end\n",
		}},
	{guard: "cancel: the fence key is read only for a hand-over", file: "internal/script/mutex/cancel.lua", name: "TestGivenUpWhileTheFenceIsDamaged",
		edits: []string{"-- include part/notify.lua\n", "local token_now, newest_token, pushed, base, room, size, top\n-- include part/read_fence.lua\n-- include part/notify.lua\n"}},
	{guard: "front: a cancel behind the head notifies", file: "internal/script/mutex/cancel.lua", name: "TestFrontAfterOthersGaveUp",
		edits: []string{"if rank and rank < {{front_size}} then", "if false then"}},
	{guard: "front: a cancel of the head notifies", file: "internal/script/mutex/cancel.lua", name: "TestFrontAfterTheHeadGaveUp",
		edits: []string{"    notify_front(left, remaining)\n", ""}},
	{guard: "front: cooldown notifies", file: "internal/script/mutex/cooldown.lua", name: "TestFrontWhileCoolingDown",
		edits: []string{"  notify_front(#dead, tonumber(left))\n", ""}},
	{guard: "front: shared: a hand-over notifies", file: "internal/script/part/shared_hand_over.lua", name: "TestFrontAfterTurns",
		edits: []string{"  if plan.first or waiting > gone then notify_front(gone, math.min(left, {{claim_window_ms}})) end\n", ""}},
	{guard: "front: shared: a waiter that gave up behind the head counts", file: "internal/script/shared/unlock.lua", name: "TestFrontAfterOthersGaveUp",
		edits: []string{"if rank and rank < {{front_size}} then", "if false then"}},
	{guard: "front: a waiter takes the push", file: "internal/machine/subscriber.go", pkg: "./internal/machine", name: "TestRulePushesAreNotTrusted",
		edits: []string{"case \"head\", \"front\":", "case \"head\":"}},
}
