// Package search compares models with scripts: the searches of internal/machine and internal/ballot run
// against models of servers, and these must answer as the scripts do. The README says what is searched.
package search
