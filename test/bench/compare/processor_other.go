//go:build !linux

package main

func onOneProcessor(f func() error) error { return f() }
