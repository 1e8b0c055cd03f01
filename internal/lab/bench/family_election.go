package bench

import (
	"context"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/holdfast-go/holdfast"
)

// What a candidate says of itself.
const candidateValue = "10.0.0.7:8080"

var holdfastElection = ofFamily("Election.Campaign, which also announces the term, and Release.",
	func(client *holdfast.Client, name string) (mutex, error) {
		election := client.Election(name)
		return &leased{take: func(ctx context.Context) (*holdfast.Lease, error) { return election.Campaign(ctx, candidateValue) }}, nil
	})

var etcdElection = contender{
	who:      "etcd",
	settings: "concurrency.Election, with a session for each candidate.",
	open: openEtcd(func(own *concurrency.Session, name string) mutex {
		return etcdCandidate{concurrency.NewElection(own, name)}
	}),
}

type etcdCandidate struct{ election *concurrency.Election }

func (c etcdCandidate) lock(ctx context.Context) error {
	return c.election.Campaign(ctx, candidateValue)
}
func (c etcdCandidate) unlock() error { return c.election.Resign(context.Background()) }
