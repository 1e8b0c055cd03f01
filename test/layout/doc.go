// Package layout has tests of the tree as a whole: that what decides is pure, that no event is
// forgotten, that pages show code which compiles and name what exists, and that the modules can be
// published. Which package may import which is in .golangci.yml.
package layout
