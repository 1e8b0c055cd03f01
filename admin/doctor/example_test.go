package doctor_test

import (
	"context"
	"log"

	"github.com/holdfast-go/holdfast/admin/doctor"
	"github.com/holdfast-go/holdfast/driver"
)

var store driver.Store // from package rueidisstore, goredisstore or embedded

// Check finds faults in the server and its settings when a program starts.
func ExampleCheck() {
	for _, check := range doctor.Check(context.Background(), store, nil) {
		if check.State == doctor.Fail {
			log.Fatalf("%s: %s. %s. %s", check.Name, check.Finding, check.Consequence, check.Fix)
		}
	}
}
