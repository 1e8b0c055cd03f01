package main

import "slices"

// tables are all mutants.
var tables = slices.Concat(
	mutants,
	quorumMutants,
	yieldMutants,
	metricsMutants,
	electionMutants,
	evalMutants,
	orderMutants,
	holdMutants,
	tickMutants,
	sharedMutants,
	sizeMutants,
	sharedOrderMutants,
	lightMutants,
	contribMutants,
	attackMutants,
	multiMutants,
	clockMutants,
	nearMutants,
	waitMutants,
	gatherMutants,
	handoverMutants,
	apiMutants,
	serverMutants,
	inspectMutants,
	journalMutants,
	cliMutants,
	waitingMutants,
	frozenMutants,
	ownMutants,
	goodbyeMutants,
	aliveMutants,
	manyMutants,
)
