package pages

import "net/http"

// Pages are all pages, in the order of the navigation.
var Pages = []Page{
	{Path: "/{$}", Name: "overview", Title: "Overview", Icon: "overview", Charts: true, Live: true, content: overview},
	{Path: "/locks", Name: "locks", Title: "Locks", Icon: "held", Live: true, content: locks},
	{Path: "/lock", Name: "lock", Title: "Locks", content: lock},
	{Path: "/processes", Name: "processes", Title: "Processes", Icon: "process", Live: true, content: processes},
	{Path: "/problems", Name: "problems", Title: "Problems", Icon: "watch", Live: true, content: problems},
	{Path: "/events", Name: "events", Title: "Events", Icon: "events", content: events},
	{Path: "/elections", Name: "elections", Title: "Elections", Icon: "election", Live: true, content: elections},
	{Path: "/jobs", Name: "jobs", Title: "Jobs", Icon: "jobs", content: jobs},
	{Path: "/redis", Name: "redis", Title: "Redis", Icon: "redis", content: redis},
	Nowhere,
}

// Nowhere is the page for unknown paths.
var Nowhere = Page{Path: "/", Name: "nowhere", Title: "No such page", content: func(v *visit) any {
	v.status = http.StatusNotFound
	return nil
}}
