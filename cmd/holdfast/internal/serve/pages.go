package serve

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/admin"
	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/cli"
	"github.com/holdfast-go/holdfast/driver"
	"github.com/holdfast-go/holdfast/server/auth"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// pagesOf are the pages of a Client, with the past as the journal has it. A base path
// that is a mistake in a program may be a typing error on a command line.
func (f *serveFlags) pagesOf(client *holdfast.Client, store driver.Store, prefix string) (pages http.Handler, err error) {
	defer func() {
		if refusal := recover(); refusal != nil {
			text := strings.TrimPrefix(fmt.Sprint(refusal), "holdfast/dashboard: ")
			err = cli.Usagef("%s", strings.ReplaceAll(text, "Options.BasePath", "--base-path"))
		}
	}()
	return dashboard.Handler(admin.Of(client), &dashboard.Options{
		BasePath: f.options.BasePath, ReadOnly: f.options.ReadOnly,
		Journal: dashboard.JournalIn(store, prefix), Authorize: onlyAdmins,
	}), nil
}

// onlyAdmins may revoke and steal by the pages, as by the API.
func onlyAdmins(r *http.Request, _ dashboard.Action) error {
	if auth.PrincipalOf(r).Role < auth.Admin {
		return errors.New("this needs a token with the role admin")
	}
	return nil
}
