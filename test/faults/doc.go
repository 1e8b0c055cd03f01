// Package verify looks for histories that break what holdfast promises: real
// processes lock names on real servers while faults hit them at exact steps, each
// writes down what it saw, and checkers judge the whole.
//
// A scenario is a topology, a fault and, for a fault of clients, a step. A history is a
// few seconds in one scenario. Packages below: history has the events, client and
// resource the processes, crew runs them, place the servers, faults the catalogue,
// check the judges. To add a fault, add a row to faults; to add a judge, one to
// check.All.
//
// Run it as the tests of this package; see the flags there. It runs on Linux.
package faults
