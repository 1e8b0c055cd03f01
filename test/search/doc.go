// Package search has no code, only a test: the model of the server that the search of
// internal/machine runs against answers as the scripts do.
package search
