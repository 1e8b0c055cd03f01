package mutation

// What a call still waits for after its context has ended.
var _ = table([]mutation{
	{what: "give up: the call waits until Redis stores nothing of it", name: "TestNothingIsLeftWhenAWaitReturns",
		in: "internal/engine Engine.giveUp", edits: []string{"e.AwaitLeftovers(Leftovers{left})", "_ = left"}},
	{what: "give up: it waits only briefly", name: "TestAWaitReturnsInTime",
		in: "internal/engine leftoverPatience", edits: []string{"20 * time.Millisecond", "200 * time.Millisecond"}},
	{what: "give up: the names of a Multi share one time limit", name: "TestMultiGivesUpInTime",
		in: "internal/engine Engine.giveUp", edits: []string{"all != nil", "false"}},
	{what: "give up: it waits for a pending lock", pkg: "./internal/machine", name: "TestRuleGivenUpIsCancelled",
		in: "internal/machine Client.leftoverProgress", edits: []string{"|| t.openLocks > 0", ""}},
	{what: "give up: it waits for the answer to the cancel", pkg: "./internal/machine", name: "TestRuleGivenUpIsCancelled",
		in: "internal/machine Client.leftoverProgress", edits: []string{"!undo.answered", "false"}},
	{what: "give up: it waits for the id that an unlock queues", pkg: "./internal/machine", name: "TestRuleGivenUpIsCancelled",
		in: "internal/machine Client.Abandon", edits: []string{"t.phase == releasing && t.successor != nil", "false"}},
	{what: "give up: it waits for a grant that was not confirmed", pkg: "./internal/machine", name: "TestRuleWaitReplicas",
		in: "internal/machine Client.Abandon", edits: []string{"|| t.phase == releasing", ""}},
})
