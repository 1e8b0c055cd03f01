package mutation

// Waiters that joined far behind, and came to the front since.
var _ = table([]mutation{
	{what: "front: a hand-over notifies the front", name: "TestFrontAfterTurns",
		in: "internal/script/part/hand_over.lua", edits: []string{"-- include part/notify_front.lua\nnotify_front(gone, tonumber(px))", "-- include part/notify_front.lua"}},
	{what: "front: a hand-over that empties the queue notifies nobody", pkg: "./test/cluster", name: "TestHandOverEmptiesAQueueThatMoves",
		in: "internal/script/part/hand_over.lua", edits: []string{"math.max(0, {{front_size}} - gone)", "{{front_size}} - gone"}},
	{what: "front: a hand-over that removes 500 dead waiters notifies the front", name: "TestFrontBehindManyDead",
		in: "internal/script/part/retry_after_removal.lua", edits: []string{"notify_front(gone, math.max(0, redis.call('PTTL', lock)))", ""}},
	{what: "front: so does one of a shared kind", name: "TestFrontBehindManyDead",
		in: "internal/script/part/shared_hand_over.lua", edits: []string{"or waiting > gone", ""}},
	{what: "front: shared: waiters that gave up far behind are removed", name: "TestFrontWhenTheHeadIsGrantedAndOneGaveUp",
		in: "internal/script/shared/unlock.lua", edits: []string{"if rank and rank >= {{front_size}} then redis.call('ZREM', queue, id) end", "", "plan.more", "rank and rank >= {{front_size}} then redis.call('ZREM', queue, id) end if plan.more"}},
	{what: "cancel: the fence key is read only for a hand-over", name: "TestGivenUpWhileTheFenceIsDamaged",
		in: "internal/script/mutex/cancel.lua", where: "local token_now, newest_token, pushed, base, room, size, top", edits: []string{"-- include part/notify.lua", "local token_now, newest_token, pushed, base, room, size, top\n-- include part/read_fence.lua\n-- include part/notify.lua"}},
	{what: "front: a cancel behind the head notifies", name: "TestFrontAfterOthersGaveUp",
		in: "internal/script/mutex/cancel.lua", edits: []string{"if rank and rank < {{front_size}} then", "if false then"}},
	{what: "front: a cancel of the head notifies", name: "TestFrontAfterTheHeadGaveUp",
		in: "internal/script/mutex/cancel.lua", edits: []string{"-- include part/notify_front.lua\nnotify_front(left, remaining)", "-- include part/notify_front.lua"}},
	{what: "front: cooldown notifies", name: "TestFrontWhileCoolingDown",
		in: "internal/script/mutex/cooldown.lua", edits: []string{"notify_front(#dead, tonumber(left))", ""}},
	{what: "front: shared: a hand-over notifies", name: "TestFrontAfterTurns",
		in: "internal/script/part/shared_hand_over.lua", edits: []string{"if plan.first or waiting > gone then notify_front(gone, math.min(left, {{claim_window_ms}})) end", ""}},
	{what: "front: shared: a waiter that gave up behind the head counts", name: "TestFrontAfterOthersGaveUp",
		in: "internal/script/shared/unlock.lua", edits: []string{"rank and rank < {{front_size}}", "false"}},
	{what: "front: a waiter takes the push", pkg: "./internal/machine", name: "TestRulePushesAreNotTrusted",
		in: "internal/machine Subscriber.OnPush", edits: []string{"wire.PushHead, wire.PushFront", "wire.PushHead"}},
})
