package main

import "slices"

// all are the mutants of every table.
var all = slices.Concat(
	mutants,
	quorumMutants,
	electionMutants,
	evalMutants,
	orderMutants,
	holdMutants,
	sharedMutants,
	lightMutants,
	contribMutants,
	attackMutants,
	multiMutants,
)
