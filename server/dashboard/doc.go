// Package dashboard shows in a browser who holds which name, who waits for it and
// what needs attention. Handler is one http.Handler with everything in it: pages,
// scripts and styles are part of the program, and nothing is fetched from
// elsewhere.
//
// Its limits first. It looks at Redis twice a second at most, and less often where
// a look takes long: a hold that begins and ends between two looks is not seen. What
// it tells of the past is what was seen since somebody opened a page, unless
// Options.Journal gives it more. It knows no users: put it behind what does.
//
// Redis is asked by one sampler for all who watch, so many open pages cost what one
// costs, and nothing at all when nobody has looked for a minute. The pages work
// without JavaScript; with it they follow what happens.
package dashboard
