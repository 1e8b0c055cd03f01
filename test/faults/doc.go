// Package faults looks for histories that break what holdfast promises: real processes
// lock names on real servers while faults hit them at exact steps. Each process writes
// down what it saw, and checkers look for broken promises in all of it.
//
// A scenario is a topology, a fault and, for a fault of clients, a step. A history is a
// few seconds in one scenario. The packages below: topology has the servers, inject the
// catalogue of faults, client and resource the processes, workers runs them, history has
// the events, check the checkers. To add a fault, add a row to inject. To add a checker,
// add it to check.All.
//
// Run it as the tests of this package; see the flags there. It runs on Linux.
package faults
