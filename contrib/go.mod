module github.com/holdfast-go/holdfast/contrib

go 1.26.0

require (
	github.com/holdfast-go/holdfast v0.1.0
	github.com/holdfast-go/holdfast/embedded v0.1.0
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
)
