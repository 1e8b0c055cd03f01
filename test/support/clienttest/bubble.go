package clienttest

import (
	"testing"
	"testing/synctest"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/embedded"
)

// Connected runs a test in a bubble of testing/synctest, with a Client and its connection to a store
// in memory, which the test may cut. Connected connects it again, so that Close cleans up.
func Connected(t *testing.T, test func(t *testing.T, client *holdfast.Client, connection *embedded.Connection)) {
	synctest.Test(t, func(t *testing.T) {
		store, err := embedded.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		connection := store.Connect()
		client := holdfast.New(connection, nil)
		defer client.Close()
		defer connection.Reconnect()
		test(t, client, connection)
	})
}
