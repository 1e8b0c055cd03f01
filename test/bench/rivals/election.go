package rivals

import (
	"context"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/test/bench/contend"
)

// What a candidate says of itself.
const candidateValue = "10.0.0.7:8080"

// HoldfastElection is Election.
var HoldfastElection = ofFamily("Election.Campaign, which also announces the term, and Release.",
	func(client *holdfast.Client, name string) (contend.Mutex, error) {
		election := client.Election(name)
		return &leased{take: func(ctx context.Context) (*holdfast.Lease, error) { return election.Campaign(ctx, candidateValue) }}, nil
	})

// EtcdElection is that of etcd.
var EtcdElection = contend.Contender{
	Who:      "etcd",
	Settings: "concurrency.Election, with a session for each candidate.",
	Open: openEtcd(func(own *concurrency.Session, name string) contend.Mutex {
		return etcdCandidate{concurrency.NewElection(own, name)}
	}),
}

type etcdCandidate struct{ election *concurrency.Election }

func (c etcdCandidate) Lock(ctx context.Context) error {
	return c.election.Campaign(ctx, candidateValue)
}
func (c etcdCandidate) Unlock() error { return c.election.Resign(context.Background()) }
