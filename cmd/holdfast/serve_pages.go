package main

import (
	"errors"
	"net/http"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/server"
	"github.com/holdfast-go/holdfast/server/dashboard"
)

// pagesOf are the pages of a Client, with the past as the journal has it.
func (f *serveFlags) pagesOf(client *holdfast.Client, store holdfast.Store, prefix string) http.Handler {
	return dashboard.Handler(client, &dashboard.Options{
		BasePath: f.options.BasePath, ReadOnly: f.options.ReadOnly,
		Journal: dashboard.JournalIn(store, prefix), Authorize: onlyAdmins,
	})
}

// onlyAdmins may revoke and steal by the pages, as by the API.
func onlyAdmins(r *http.Request, _ dashboard.Action) error {
	if server.PrincipalOf(r).Role < server.Admin {
		return errors.New("this needs a token with the role admin")
	}
	return nil
}
