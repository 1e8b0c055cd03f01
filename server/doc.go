// Package server shows and gives locks over HTTP. Handler can be mounted in any
// server; the command holdfast serve runs it by itself.
package server
