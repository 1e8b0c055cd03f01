package journal_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/journal"
)

var store driver.Store // of a driver: rueidisstore.Open("redis://127.0.0.1:6379", nil)

// A process that writes down what happens to its locks.
func ExampleWriter() {
	writer := journal.NewWriter(store, nil)
	defer writer.Close() // after the client: its last events are written, too

	client := holdfast.New(store, &holdfast.Options{OnEvent: writer.OnEvent})
	defer client.Close()
}

// The last hour of a name, newest first.
func ExampleRead() {
	query := journal.Query{Name: "invoice:42", Since: time.Now().Add(-time.Hour), Newest: true}
	for entry, err := range journal.Read(context.Background(), store, query) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(entry.At, entry.Event, entry.Owner, entry.Token)
	}
}

// Whether any two leases overlapped.
func ExampleAudit() {
	report, err := journal.Audit(journal.Read(context.Background(), store, journal.Query{}), time.Time{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Verdict, report.Leases, "leases of", report.Names, "names")
	for _, finding := range report.Findings {
		fmt.Println(finding)
	}
}

// Which jobs of `holdfast run` were not started in time.
func ExampleJobs() {
	jobs, _, err := journal.Jobs(context.Background(), store, "")
	if err != nil {
		log.Fatal(err)
	}
	for _, job := range jobs {
		if job.Late() {
			fmt.Println(job.Name, "last began", job.Started, "and was due", job.Due)
		}
	}
}
