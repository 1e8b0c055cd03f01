module github.com/holdfast-go/holdfast/server

go 1.26.0

require github.com/holdfast-go/holdfast v0.1.0
