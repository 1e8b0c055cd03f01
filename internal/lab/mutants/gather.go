package main

// gatherMutants are the guards of requests that travel together.
var gatherMutants = []mutant{
	{guard: "gather: nobody waits longer than a millisecond", file: "gather.go", pkg: ".", name: "TestRequestsGather",
		edits: []string{"c.schedule.set(&g.timer, c.clock.now().add(gatherFor))", "_ = gatherFor"}},
	{guard: "gather: pipelines are bounded", file: "gather.go", pkg: ".", name: "TestRequestsGather",
		edits: []string{"min(gatherMost, len(g.requests))", "min(2*gatherMost, len(g.requests))"}},
	{guard: "gather: an answer lets them go", file: "client.go", pkg: ".", name: "TestGatheredLeaveWithAnAnswer",
		edits: []string{"\tc.leaveGathered(gatherFrom)\n", ""}},
	{guard: "gather: who travelled alone is back", file: "gather.go", pkg: ".", name: "TestFewRequestsTravelAlone",
		edits: []string{"\t\tc.gathering.underWay--\n", ""}},
	{guard: "gather: a pipeline is back", file: "request.go", pkg: ".", name: "TestFewRequestsTravelAlone",
		edits: []string{"\t*underWay--\n", ""}},
	{guard: "gather: no request for several names", file: "gather.go", pkg: ".", name: "TestMultiTravelsAlone",
		edits: []string{" && len(r.carries) == 0", ""}},
	{guard: "gather: nobody in a Cluster", file: "gather.go", pkg: ".", name: "TestNothingGathersInACluster",
		edits: []string{" && !c.store.Sharded()", ""}},
	{guard: "gather: no renewal", file: "gather.go", pkg: ".", name: "TestNoRenewalGathers",
		edits: []string{" && !renews(r.call.Script)", ""}},
	{guard: "gather: no renewal with WAIT", file: "gather.go", pkg: ".", name: "TestGatheredAndReplicas",
		edits: []string{" && !renews(r.call.Script)", " && (c.options.WaitReplicas > 0 || !renews(r.call.Script))"}},
}
