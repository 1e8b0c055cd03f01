# Each target is a line or two. `work` means every package of every module of
# the workspace; ./... would be the root module only.
GOLANGCI = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
VALE     = github.com/vale-cli/vale/v3/cmd/vale@v3.22.0
MODULES  = $(shell sed -n 's/^\t\(\.[^ ]*\)$$/\1/p' go.work)
FUZZTIME = 20s
# All mutations take an hour and more, and the medium bounds of the searches eight minutes of two
# processors: make test-all takes a ninetieth of the mutations and a sixth of the bounds, by the
# hash of the commit.
PART     = $(shell echo $$((0x$$(git rev-parse --short=6 HEAD 2>/dev/null || echo 0) % 90)))
SIXTH    = $(shell echo $$(($(PART) % 6)))
BENCHES  = $(sort $(dir $(shell git grep -l "^func Benchmark" -- "*_test.go" | sed "s|^|./|")))

# What make test runs: the command, all other packages outside of test/, and those of test/ that
# TESTED names. make test-all runs the rest. Packages that measure, or need much memory or time,
# run without the race detector. The tests of the command start hundreds of processes, which take
# three times as long with the detector: make test runs all without it, make test-all half of them
# with it, by the hash of the commit.
TEST     = github.com/holdfast-go/holdfast/test
COMMAND  = github.com/holdfast-go/holdfast/cmd/holdfast
HALF     = $(if $(filter %0 %2 %4 %6 %8,$(PART)),[A-R],[S-Z])
WORK     = $(shell go list work)
ROOT     = $(shell go list ./...)
TESTED   = $(filter-out $(COMMAND) $(TEST)/%,$(WORK)) $(filter $(addprefix $(TEST)/,client drivers guide guide/% journal layout promises support/redistest support/waiting),$(WORK))
UNRACED  = $(filter $(addprefix $(TEST)/,attack bench bench/% many faults),$(WORK))

# What make check runs besides the root. Linking the tests of all packages in test/ would take
# longer than running those that need no server.
QUICK    = $(filter-out $(ROOT) $(COMMAND) $(TEST)/%,$(WORK)) $(addprefix $(TEST)/,layout guide/... sim)

# The simulation runs in two halves that take the same time, so that both processors have
# work. TestCoverage counts what the random runs reach, so it is in their half, and so is
# what -sim.rounds makes longer. Without flags, go test ./test/sim plays a quarter of the
# runs, so that a slow machine needs less than the 10 minutes that go test allows.
SIMHALF  = RandomRuns|Coverage|ManyWaiters|Dedicated|QuorumLoop

# The limit for the tests of one package. The longest take minutes, and a busy machine may be
# four times slower.
LIMIT    = 30m

# Without this, every program that is built with the race detector takes a second to end.
export GORACE ?= atexit_sleep_ms=0

VERSION  = $(shell git describe --tags --always --dirty 2>/dev/null || echo v0.0.0)

.PHONY: build check test test-all failovers verify verify-long soak simulate model mutations reading lint prose vet fuzz interop bench bench-quick bench-quorum bench-check bench-compare dist packages dist-check tidy demo help

build: ## every package, and the command in bin/
	go build work && go build -o bin/ ./cmd/holdfast

check: ## what to run before each commit; Go alone, about a minute once all is built
	@scripts/steps "check: vet, format, all tests of the root, and those of other modules that are quick and need no server; not those of the command, which start processes. About a minute once all is built." "" \
		"! gofmt -l . | grep ." "scripts/beside 'go test $(ROOT)' 'go test -short $(QUICK)' 'go vet work'"

test: ## that library and command work here: race detector (not for the command), real servers, 400 random runs; under seven minutes
	@scripts/steps "test: with the race detector (the command without it), on real servers, and 400 random runs in simulated time. Under seven minutes once all is built. What else there is: make test-all." "gcc redis-server redis-cli" \
		"scripts/beside 'go test -race -p 2 -parallel 4 -timeout $(LIMIT) $(TESTED)' \
			'go test -parallel 4 -timeout $(LIMIT) $(COMMAND)' \
			'nice go test -race -timeout $(LIMIT) -run RandomRuns $(TEST)/sim -args -sim.seeds 40' \
			'nice go test -timeout $(LIMIT) -skip \"$(SIMHALF)\" $(TEST)/sim' \
			'nice go test -timeout $(LIMIT) -run \"$(SIMHALF)\" $(TEST)/sim -args -sim.seeds 400 -sim.rounds 4'"

# Programs that a test builds and runs are not seen by go test's cache, hence -count 1.
test-all: ## every test that make test leaves out: 1,600 more random runs, processes, faults, topologies, attacks, browser, databases, foreign clients
	@scripts/steps "test-all: all tests that make test leaves out." "gcc redis-server redis-cli postgres mariadbd ip promtool chromium python3 curl node npm" \
		"scripts/beside 'go test -race -count 1 -p 2 -parallel 4 -timeout $(LIMIT) $(filter-out $(COMMAND) $(TESTED) $(UNRACED) $(TEST)/sim,$(WORK))' \
			'go test -race -count 1 -parallel 4 -timeout $(LIMIT) -run \"^Test$(HALF)\" $(COMMAND)' \
			'go test -count 1 -timeout $(LIMIT) $(TEST)/faults'" \
		"scripts/beside 'go test -count 1 -p 1 -timeout $(LIMIT) $(filter-out $(TEST)/faults $(TEST)/many,$(UNRACED))' \
			'go test -count 1 -run ^TestSearch ./internal/machine ./internal/ballot -args -search.medium -search.part $(SIXTH)/6' \
			'go test -count 1 -timeout $(LIMIT) $(TEST)/many' \
			'go test -race -run ^TestRunEvery$$ ./cmd/holdfast -args -ticks 12' \
			'make interop'" \
		"scripts/beside 'go test -count 1 -timeout $(LIMIT) -run \"ManyWaiters|Dedicated|QuorumLoop\" $(TEST)/sim -args -sim.rounds 6' \
			'go run ./test/sim/simulate -first 400 -seeds 1600 -workers 1'" \
		"go test -run '^$$' -bench . -benchtime 1x $(BENCHES)" "make mutations MUTATIONS='-part $(PART)/90'"

failovers: ## fifty in a row behind Sentinel, with what gets lost known in time; ten minutes
	@scripts/need gcc redis-server redis-cli
	go test -race -count 1 -timeout 30m -v -run '^TestSentinelFailovers$$' ./test/process -args -failovers 50 -known 1s

verify: ## faults on real processes and servers, every history checked; ten minutes
	@scripts/need gcc redis-server redis-cli ip
	go test -count 1 -timeout 30m -v -run '^TestVerify$$' ./test/faults -args -scenario . -for 10m -parallel-histories 6 -result verify.json

verify-long: ## the same for two hours
	@scripts/need gcc redis-server redis-cli ip
	go test -count 1 -timeout 3h -v -run '^TestVerify$$' ./test/faults -args -scenario . -for 2h -parallel-histories 6 -result verify.json

soak: ## two hours with 200 clients, 2,000 names and faults: that nothing grows
	@scripts/need redis-server
	go run ./test/soak -for 2h

simulate: ## a million random runs in simulated time, a day on two cores; SIM="-seeds 10000"
	go run ./test/sim/simulate $(SIM)

model: ## all states of the client, and of the clients of a quorum, within the large bounds; hours
	go test -count 1 -timeout 12h -v -run '^TestSearch' ./internal/machine ./internal/ballot -args -search.large

mutations: ## that the tests can fail: one check of the code is removed at a time; MUTATIONS=-fit only looks for the rows' places
	@scripts/need gcc redis-server redis-cli postgres mariadbd
	go test -count 1 -timeout 3h -v -run '^TestMutations$$' ./test/mutation -args $(or $(MUTATIONS),-part 0/1)

reading: ## the lists of functions in docs/reading.md, from the coverage of each operation
	go test -count 1 -v -run '^TestWayOfALock$$' ./test/guide -args -write

prose: ## what it would change in pages and comments; it never fails
	-@scripts/need gcc && git ls-files '*.md' '*.go' '*.lua' '*.txt' ':!*_test.go' ':!test' ':!*/testdata/*' ':!docs/benchmarks*' | \
		xargs go run $(VALE) --no-exit --output line

lint: ## golangci-lint, which it downloads; CI fails without it
	go run $(GOLANGCI) run $$(go list -m -f '{{.Dir}}/...')

vet: ## for each system that holdfast is built for
	for os in linux darwin windows; do echo "vet for $$os" && GOOS=$$os go vet work || exit 1; done

fuzz: ## every fuzz test for FUZZTIME
	@for p in $$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' work); do for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
		echo "$$f in $$p" && go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p || exit 1; done; done

interop: ## foreign clients on the same keys
	@scripts/need gcc redis-server redis-cli node npm python3
	@/usr/bin/python3 -c 'import redis' 2>/dev/null || { echo "installing python3-redis"; apt-get update -qq && apt-get install -y -qq python3-redis; }
	go test -race -tags interop -count 1 -timeout 10m ./test/interop/...

bench: ## beside other libraries, a quarter of an hour; BENCH="-save" keeps it, -help says what else
	@scripts/need redis-server
	go run ./test/bench/cmd $(BENCH)

bench-quick: ## that all benchmarks still run; the figures mean little
	@scripts/need redis-server
	go run ./test/bench/cmd -quick
	go test -run '^$$' -bench . -benchtime 1x work

bench-quorum: ## a quorum of five beside redsync on the same servers, with faults; two minutes
	@scripts/need redis-server
	go run ./test/bench/cmd -run '^Q$$' $(BENCH)

bench-check: ## that nothing got slower than docs/benchmarks/latest.json, as ratios to limits; minutes
	@scripts/need redis-server
	go run ./test/bench/cmd -check -who '^(holdfast|limit)' -run '^(B[1-7]c?|F[1-38]n?)$$' $(BENCH)

bench-compare: ## how much slower the client itself is than at REV, to a percent or two; minutes
	@scripts/need redis-server
	go run ./test/bench/cmd -before $(or $(REV),HEAD) -run '^C' -rounds 60 $(BENCH)

# test/ is tidied with -e: the tests of a library that it measures need a
# module that not every proxy has, and tidy looks at the tests of dependencies.
tidy: ## go.mod and go.sum of every module
	@for m in $(MODULES); do echo "tidy $$m" && \
		GOFLAGS="$$GOFLAGS $$(test $$m != ./test || echo -e=true)" scripts/modget $$m || exit 1; done

dist: ## archives for five systems, in dist/; VERSION=v1.2.3
	packaging/build $(VERSION)

packages: dist ## .deb and .rpm, too
	packaging/packages $(VERSION)

dist-check: ## that two builds are the same to the byte, and what the .deb has in it; minutes
	packaging/check

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1: /p' Makefile

demo: ## a flash sale with four kinds of locks; it needs only Go
	go run ./cmd/holdfast demo
