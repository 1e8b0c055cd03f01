package admin_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/admin/diagnose"
	"github.com/holdfast-go/holdfast/driver"
)

var (
	store driver.Store // from package rueidisstore, goredisstore or embedded
	names = (*admin.Admin)(nil)
)

// An Admin needs a store and no Client.
func ExampleNew() {
	names := admin.New(store, nil)
	for name, err := range names.Names(context.Background(), "invoice:") {
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Println(name)
	}
}

// Inspect shows the holder, the waiters and what they mean.
func ExampleAdmin_Inspect() {
	state, err := names.Inspect(context.Background(), "invoice:42")
	if err != nil {
		log.Print(err)
		return
	}
	if state.Holder != nil {
		fmt.Println(state.Holder.Describe(), "holds it for", state.Holder.Held)
	}
	fmt.Println(state.Waiting, "waiters")
	for _, d := range diagnose.State(state, nil) {
		fmt.Println(d.Code, d.Sentence, d.Action)
	}
}

// Revoke asks the holder that Inspect saw to stop.
func ExampleAdmin_Revoke() {
	ctx := context.Background()
	state, err := names.Inspect(ctx, "invoice:42")
	if err != nil || state.Holder == nil {
		log.Print("nothing to revoke: ", err)
		return
	}
	_, err = names.Revoke(ctx, "invoice:42", state.Holder.Hash, "deployment at 14:00")
	if errors.Is(err, holdfast.ErrTenure) {
		log.Print("another holder has it now: ", err)
	} else if err != nil {
		log.Print(err)
	}
}

// Survey finds the names that need an operator.
func ExampleAdmin_Survey() {
	survey, err := names.Survey(context.Background(), "invoice:", 0)
	if err != nil {
		log.Print(err)
		return
	}
	for _, name := range diagnose.Survey(survey, nil).Names {
		if problem := name.Problem(); problem != nil {
			fmt.Println(name.Name, problem.Sentence, problem.Action)
		}
	}
}
