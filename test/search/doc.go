// Package search has no code, only tests: the models of servers that the searches of internal/machine
// and internal/ballot run against answer as the scripts do. The README says what is searched.
package search
