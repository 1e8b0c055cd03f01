package mutation

// Mutations of the machine that the search of its states finds.
var _ = table([]mutation{
	{what: "search: a deadline is counted from before the request", pkg: "./internal/machine", name: "TestSearch",
		in: "internal/machine Name.lockGranted", where: "now clock.Instant", edits: []string{"start: r.Sent", "start: now"}},
	{what: "search: the start of a pushed grant is a bound from below", pkg: "./internal/machine", name: "TestSearch",
		in: "internal/machine Subscriber.OnPush", edits: []string{"t.pushStart(m.Server, s.sentAt, now)", "now"}},
	{what: "search: a request in flight does not count for that", pkg: "./internal/machine", name: "TestSearch",
		in: "internal/machine Tenure.pushStart", edits: []string{"start := max(t.firstSent, subscribed)", "start := max(t.firstSent, subscribed); if r := t.asking; r != nil { start = max(start, r.Sent) }"}},
	{what: "search: a lease that was over is not prolonged", pkg: "./internal/machine", name: "TestSearch",
		in: "internal/machine Request.renewAnswered", edits: []string{"case now >= t.Ends():", "case false:"}},
	{what: "search: a late granted answer is cancelled", pkg: "./internal/machine", name: "TestSearch",
		in: "internal/machine Client.granted", edits: []string{"c.cancelID(t.ID, n, now)", ""}},
	{what: "search: a late queued answer is cancelled", pkg: "./internal/machine", name: "TestSearch",
		in: "internal/machine Name.notGranted", edits: []string{"n.client.cancelID(t.ID, n, now)", "_ = 0"}},
	{what: "search: so it is while its id is released", pkg: "./internal/machine", name: "TestSearch",
		in: "internal/machine Tenure.givenBack", edits: []string{"t.phase == releasing ||", ""}},
	{what: "search: so it is if a lock failed that may run later", pkg: "./internal/machine", name: "TestSearch",
		in: "internal/machine Name.lockFailed", edits: []string{"n.client.cancelTenure(t, now)", ""}},
	{what: "search: an ended id that is pushed is cancelled", pkg: "./internal/machine", name: "TestSearch",
		in: "internal/machine Subscriber.OnPush", edits: []string{"c.cancelStaleID(m.ID, now)", ""}},
	{what: "search: a tenure that is released is never revived", pkg: "./internal/machine", name: "TestSearch",
		in: "internal/machine Client.granted", edits: []string{"case asked, queued:", "case asked, queued, releasing:", "case releasing, ended:", "case ended:"}},
	{what: "search: a waiter asks again by the clock", pkg: "./internal/machine", name: "TestSearch",
		in: "internal/machine Name.queued", edits: []string{"n.nextPoll", "24*time.Hour + n.nextPoll"}},
	// The id of a successor that was not queued is asked for at once, see unlockAnswered. Without that nothing
	// breaks within the bounds: the timer that was set for the unlock asks for it within an attempt.
	// TestFreshIDThatWasNotQueued notices it.
	{what: "search: the id to queue again is fresh", pkg: "./internal/machine", name: "TestSearch",
		in: "internal/machine Name.sendRelease", edits: []string{"t.successor.firstSent", "t.successor.ID = t.ID; t.successor.firstSent"}},
	{what: "search: a token is given only above every token used", pkg: "./internal/machine", name: "TestSearch",
		in: "internal/tokens Blocks.Add", edits: []string{"base = max(base, b.end)", "b.next = b.end"}},
})
