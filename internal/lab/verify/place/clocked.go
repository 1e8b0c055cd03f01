//go:build linux

package place
