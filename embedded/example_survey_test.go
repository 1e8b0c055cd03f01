package embedded_test

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
)

// What somebody should look after, and who that is.
func Example_survey() {
	client := newClient()
	defer client.Close()
	ctx := context.Background()

	lease, err := client.Mutex("nightly").Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = lease.Release() }()

	survey, err := admin.Of(client).Survey(ctx, "", 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	report := diagnose.Survey(survey, &diagnose.Options{ // with what is known of earlier days
		Typical: func(string) (time.Duration, bool) { return time.Hour, true },
	})
	for _, name := range report.Names {
		fmt.Println(name.Name, name.Reasons[0].Code, name.Problem() == nil)
	}
	fmt.Println(report.Counts.Held, "held,", report.Counts.Problems, "problems")
	// Output:
	// nightly held-healthy true
	// 1 held, 0 problems
}
