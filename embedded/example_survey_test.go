package embedded_test

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast"
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

	survey, err := client.Survey(ctx, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	survey.Diagnose(&holdfast.DiagnoseOptions{ // with what is known of earlier days
		Typical: func(string) (time.Duration, bool) { return time.Hour, true },
	})
	for _, name := range survey.Names {
		fmt.Println(name.Name, name.Reasons[0].Code, name.Problem() == nil)
	}
	fmt.Println(survey.Counts.Held, "held,", survey.Counts.Problems, "problems")
	// Output:
	// nightly held-healthy true
	// 1 held, 0 problems
}
