// Package dashboard shows in a browser which names are held, by which holders,
// which waiters wait, and what needs attention. [Handler] is one http.Handler
// with everything in it. Pages, scripts and styles are part of the program, and
// nothing is fetched from elsewhere.
//
// Its limits:
//
//   - It polls Redis at most twice a second, and less often if a poll takes
//     long. It does not see a hold that begins and ends between two polls.
//   - It shows the past only since a page was opened. Options.Journal adds the
//     time before.
//   - It has no users of its own: put it behind a server that authenticates.
//
// One sampler polls Redis for all open pages: 100 pages cost as much as one.
// If no page was open for 1 min, it stops. The pages work without
// JavaScript; with JavaScript they update automatically.
package dashboard
