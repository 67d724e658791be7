# make run    set up, then run a campaign on real Redis masters (ARGS="--time-limit 60s …")
# make check  formatting, vet, staticcheck and the unit tests: before each commit
# make test   set up, then every check and every test
# make docs   the page of claims, the tables of figures and the quoted output of the documents, written anew
# make release  static binaries for Linux, macOS and Windows in dist/
# make image  an image FROM scratch with the program in it (ENGINE=podman for another engine)
# make module-path TO=example.org/you/lockpick  rename the module everywhere
# make claims the catalogue of claims (ARGS="--driver process --evidence unexpected")
# make torture the harness itself: ended at 1,200 random moments (FOR=28m, at most), and stopped with all masters and clients for 30 s
# make soak   a day of virtual time and an hour of real time with 50 clients: does memory grow?
# make stress the lock under faults for 15 minutes (FOR=1h for longer)
# make bench  the benchmarks, and the lock beside others (ARGS="-rounds 3 -only pairs")
# make nightly  what takes hours: 10,000,000 inputs of each parser, correct locks in many more random configurations and schedules,
#               the checkers beside their oracle on a million random histories, all planted faults
#               in them, a history of 10,000,000 lines, an audit of every lock with the whole battery,
#               and estimates of risks beside simulations of all that happens; known vulnerabilities
.PHONY: run check test torture soak nightly lint docs release image module-path scoreboard claims stress bench setup-run setup-test

GO ?= go
# Modules of their own, so that the lock and the harness depend on nothing of theirs.
MODULES = redlock/bench examples/otel examples/prometheus examples/own-lock examples/own-main examples/adapters examples/cluster clients/go

run: setup-run
	@$(GO) build -o lockpick ./cmd/lockpick
	@./lockpick run $(ARGS); code=$$?; \
	case $$code in \
	  0) echo "make run: no violation was found." ;; \
	  1) echo "make run: the lock was broken, as told above (lockpick exits with 1 then)." ;; \
	  *) exit $$code ;; \
	esac; \
	echo "make run: the program is ./lockpick here; ./lockpick --help says what else it can do."

setup-run:
	@.ci/setup run

setup-test:
	@.ci/setup test

lint:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@for module in $(MODULES); do echo "$(GO) vet ./$$module"; (cd $$module && $(GO) vet ./...) || exit 1; done

# The unit tests, without the packages that are about real masters and the documents.
MASTERS = lockpick/cluster/process lockpick/cluster/docker lockpick/cli lockpick/internal/doctest
check: lint
	$(GO) test -short $(filter-out $(MASTERS),$(shell $(GO) list ./...))

# Every test with the race detector, those that asked to run without it, and each fuzz target with
# FUZZ inputs; the end lists the slowest tests, and those that were skipped and why.
FUZZ ?= 10000
test: setup-test lint
	@$(GO) run ./internal/testrun -masters lockpick/cluster/process -fuzz $(FUZZ) $(MODULES:%=-module %) ./...

# Each false alarm comes with a scenario in ALARMS that shows it again; the first lines of the
# output have the seed.
CONFIGURATIONS ?= 1000
SCHEDULES ?= 100000
ALARMS ?= alarms
ORACLE_HISTORIES ?= 1000000
nightly: setup-test
	$(GO) test ./checker -run '^Test(CheckersAgreeWithTheOracle|CorrectLocksConvictNobody)$$' -count=1 -timeout 24h -v -oracle.histories=$(ORACLE_HISTORIES) -oracle.seed=0
	@for p in cluster/resp cluster/shadow history history/logs risk watch claims campaign/scenario workload/remote search; do \
	  $(GO) test ./$$p -run '^TestManyInputs$$' -count=1 -timeout 24h -v -inputs=10000000 -inputs.for=20m -inputs.seed=0 || exit 1; done
	$(GO) test ./internal/mutate -count=1 -timeout 24h -v -mutants=0
	$(GO) test ./search -run '^TestCorrectLocksAreNeverConvicted$$' -count=1 -timeout 24h -v \
	  -alarm.configurations=$(CONFIGURATIONS) -alarm.seed=0 -alarm.schedules=$(SCHEDULES) -alarm.dir=$(abspath $(ALARMS))
	$(GO) test ./campaign/judge -run '^TestPackedFileStaysSmall$$' -count=1 -timeout 1h -v -check.lines=10000000
	$(GO) test ./audit -run '^TestWholeAudits$$' -count=1 -timeout 3h -v -audit.whole
	$(GO) test ./risk -run '^TestEstimateAgreesWithDirectSimulation$$' -count=1 -timeout 2h -v -risk.setups=200
	cd examples/own-lock && $(GO) test -count=1 -timeout 2h -v -all-bugs
	@for module in . $(MODULES); do echo "govulncheck $$module"; (cd $$module && $(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...) || exit 1; done

# Static binaries. What a system lacks (Windows: real masters) lockpick doctor says there.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
BUILD = CGO_ENABLED=0 $(GO) build -trimpath -ldflags="-s -w -X lockpick/cli.version=$(VERSION)"
release:
	@mkdir -p dist
	@for platform in $(PLATFORMS); do \
	  os=$${platform%/*}; arch=$${platform#*/}; suffix=; [ $$os = windows ] && suffix=.exe; \
	  file=dist/lockpick-$(VERSION)-$$os-$$arch$$suffix; echo "$$file"; \
	  GOOS=$$os GOARCH=$$arch $(BUILD) -o $$file ./cmd/lockpick || exit 1; \
	done
	@cd dist && sha256sum lockpick-$(VERSION)-* > SHA256SUMS

# The program is built here and the image FROM scratch, so that no registry is needed.
ENGINE ?= docker
image:
	@rm -rf dist/image && mkdir -p dist/image/tmp dist/image/store
	GOOS=linux $(BUILD) -o dist/image/lockpick ./cmd/lockpick
	$(ENGINE) build -q -t lockpick:$(VERSION) -t lockpick:latest -f .ci/image.Dockerfile dist/image
	$(ENGINE) run --rm lockpick:latest version

# Writes the quoted output and the tables of the documents anew.
docs:
	$(GO) generate ./cmd/lockpick
	$(GO) test ./internal/doctest -count=1 -update

# Renames the module everywhere, for whoever hosts it: make module-path TO=example.org/you/lockpick
module-path:
	@$(GO) run ./internal/modulepath $(TO)

# Audits the clients of other libraries, and writes docs/scoreboard.md: about two hours.
scoreboard: setup-test
	@$(BUILD) -o lockpick ./cmd/lockpick
	@mkdir -p dist/clients && $(GO) build -C clients/go -o ../../dist/clients/lockpick-go-clients .
	@PATH="$$PATH:$(CURDIR)/dist/clients" ./lockpick scoreboard --reuse --markdown docs/scoreboard.md $(ARGS)

claims:
	@$(GO) build -o lockpick ./cmd/lockpick
	@./lockpick claims $(ARGS)

KILLS ?= 1000
DOCKER_KILLS ?= 200
torture: FOR ?= 28m
torture: setup-test
	$(GO) test ./cli -run '^TestTorture$$' -count=1 -timeout 1h -v -torture.kills=$(KILLS) -torture.docker=$(DOCKER_KILLS) -torture.for=$(FOR) -torture.aside=3
	$(GO) test ./cli -run '^TestTheMachineStandsStill$$' -count=1 -timeout 1h -v -standstill.for=30s -standstill.times=3

# Two long runs, and whether they need more memory at their end than after a quarter. To judge the
# first one takes 9 GB, and its history 14 GB on the disk until it is compressed.
VIRTUAL ?= 24h
REAL ?= 1h
soak: setup-test
	$(GO) test ./cli -run '^TestSoak$$' -count=1 -timeout 12h -v -soak.virtual=$(VIRTUAL) -soak.real=$(REAL)

stress: FOR ?= 15m
stress: setup-run
	STRESS=$(FOR) $(GO) test -race -timeout 0 -parallel 3 -v ./redlock -run '^TestStress$$'

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...
	cd redlock/bench && $(GO) run . $(ARGS)
