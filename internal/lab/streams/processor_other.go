//go:build !unix

package main

import "time"

func processor() time.Duration { return 0 }
