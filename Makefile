# make run    set up, then run a campaign on real Redis masters (ARGS="--time-limit 60s …")
# make check  formatting, vet, staticcheck and the unit tests: before each commit
# make test   set up, then formatting, vet, staticcheck and the tests of all that a change usually breaks
# make test-real      what takes minutes of real time: the tests with the tag real, on every driver (SAMPLE=all: with all cases)
# make test-portable  other systems, another module path, fuzz targets, mutants
# make docs   the page of claims, the tables of figures and the quoted output of the documents, written anew
# make release  static binaries for Linux, macOS and Windows in dist/
# make image  an image FROM scratch with the program in it (ENGINE=podman for another engine)
# make module-path TO=example.org/you/lockpick  rename the module everywhere
# make claims the catalogue of claims (ARGS="--driver process --evidence unexpected")
# make torture the harness itself: ended at 1,200 random moments (FOR=28m, at most), and stopped with all masters and clients for 30 s
# make soak   a day of virtual time and an hour of real time with 50 clients: does memory grow?
# make stress the lock under faults for 15 minutes (FOR=1h for longer)
# make bench  the benchmarks, and the lock beside others (ARGS="-rounds 3 -only pairs"); with AGAINST=COMMIT
#             the commands of this version beside those of that one, in turns, as a table
# make nightly  what takes hours: make test and make test-real with all cases, 10,000,000 inputs of each parser,
#               correct locks in many more random configurations and schedules, the checkers beside their oracle on a million random histories, all planted faults
#               in them, a history of 10,000,000 lines, an audit of every lock with the whole battery,
#               and estimates of risks beside simulations of all that happens; known vulnerabilities
.PHONY: run check test test-real test-portable torture soak nightly lint docs release image module-path scoreboard claims stress bench setup-run setup-test setup-lint

SHELL = bash
GO ?= go
# Modules of their own, so that the lock and the harness depend on nothing of theirs.
MODULES = redlock/bench examples/otel examples/prometheus examples/own-lock examples/redsync examples/own-main examples/reported examples/adapters examples/cluster examples/services/etcd clients/go

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

# Packages are installed, which mostly waits for the network, while the tree is compiled and checked. What is compiled depends on
# whether there is a C compiler, so that comes first.
setup-lint:
	@.ci/setup compiler
	@$(MAKE) --no-print-directory -j 2 setup-test lint

# Without tags: what vet compiles is what the tests of make test need.
lint:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@$(call vetted,$(QUICK))

# What lint leaves out: the files with tags, and modules that take minutes to build.
lint-real:
	nice $(GO) vet -tags real,portable ./...
	nice $(GO) tool staticcheck -tags real,portable ./...
	@$(call vetted,$(SLOW))
vetted = for module in $(1); do echo "$(GO) vet ./$$module"; nice $(GO) vet -C $$module ./... || exit 1; done

# The unit tests: what -short leaves out simulates long.
check: lint
	$(GO) test -short ./...

# Each of the three targets for tests ends with the slowest tests, the skipped ones with their reasons,
# the failed ones, one line of counts, and how long each of its steps took.
#
# Heaps of compilers, simulations and tests are small and short-lived. Fewer garbage collections take a sixth off the processor
# time of compiling the tree, and a fifth off that of the tests that simulate. Those with large heaps keep to the limit.
test test-real test-portable: export GOGC ?= 400
test test-real test-portable: export GOMEMLIMIT ?= 1GiB
test:
	@$(call timed,setup-lint tests)
test-real:
	@$(call timed,setup-test lint-and-tests-real)
test-portable:
	@$(call timed,tests-portable)

# The tests with the tag real leave a third of the processors' time, in which what make test did not check is checked.
lint-and-tests-real:
	@$(MAKE) --no-print-directory -j 2 lint-real tests-real

# timed makes targets one after the other, and prints how long each of them took.
timed = took=; for step in $(1); do began=$$SECONDS; $(MAKE) --no-print-directory $$step || exit 1; took="$$took, $$step $$((SECONDS - began)) s"; done; \
	echo "make $@: $${took:2}"

# The tests of these packages run with the race detector. The others run without it: they simulate thousands
# of schedules, for which the race detector keeps gigabytes, or start the program as it is built for users.
# Whatever a package imports is compiled once more with the race detector.
RACED = ./cluster ./cluster/account ./cluster/process ./cluster/resp ./cluster/shadow ./nemesis ./redlock/... ./watch ./workload/...
# Those of them that use real masters, containers or browsers have tests with the tag real.
MASTERS = ./campaign ./cluster/docker ./cluster/process ./watch
PROGRAMS = ./audit/card ./cli ./clients ./cluster/shadow ./docs/model ./history ./internal/doctest ./masters ./reports ./serve
# These try more of their cases with the tag real (internal/sampletest).
SAMPLED = ./audit ./checker ./claims ./locktest ./risk ./search ./search/exhaust ./search/reduce ./redlock
# What else runs with the race detector now and then: less of it is simulated then (internal/racetest). Nothing that uses
# cluster/virtual: the race detector itself fails in bubbles of that size (CHECK failed: tsan_rtl.cpp, go1.26). Each run takes
# some of them, and with SAMPLE=all it takes all.
SIMULATED = ./audit ./campaign/judge ./campaign/scenario ./checker ./claims ./cluster/sim/... ./history/... ./risk ./search/... ./serve
# The other modules depend on libraries that take minutes to build.
QUICK = examples/own-lock examples/redsync examples/own-main examples/reported
SLOW = $(filter-out $(QUICK),$(MODULES))
# Those of them that have tests.
TESTED = examples/adapters examples/otel examples/prometheus examples/cluster

SUMMED = $(GO) tool gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --format-icons text --ignore-non-json-output-lines --raw-command -- .ci/events
# -vet=off: lint has vetted every module.
TEST = $(GO) test -json -vet=off -timeout 1h
raced = $(shell $(GO) list $(RACED))
plain = $(filter-out $(raced),$(shell $(GO) list ./...))

tests:
	@$(SUMMED) "$(TEST) $(plain)" --beside "$(TEST) -race $(raced)" $(QUICK:%="cd % && $(TEST) ./...")

# Three lanes: all of them wait for masters, clients and browsers for a third of their time.
tests-real:
	@$(SUMMED) "$(TEST) -race $(call more,$(MASTERS)) -p 1 -parallel 5" "$(TEST) -race $(if $(filter all,$(SAMPLE)),$(SIMULATED),$(shell shuf -n 2 -e $(SIMULATED)))" \
	  --beside "$(TEST) $(call more,$(PROGRAMS)) -p 1 -parallel 3" \
	  --beside "cd examples/reported && $(TEST) -count=1 -tags real . -driver process" $(TESTED:%="cd % && $(TEST) ./...") \
	  "$(TEST) $(call more,$(SAMPLED)) -p 1 -parallel 3" "$(TEST) -count=1 -tags real -run '$$(.ci/tests 'sampletest\.' ./campaign)' ./campaign"

# Tests do more with the tag real if they have it, or try more cases or drivers then. tests has run all others.
MORE = _real_test\.go$$|sampletest\.|onEachDriver\(|exceptOnDocker\(
more = -count=1 -tags real -run '$$(.ci/tests '$(MORE)' $(1))' $(1)

# Each fuzz target gets FUZZ inputs. No time is set: go test fails a target whose time is over while it minimizes an input.
FUZZ ?= 10000
# Packages with fuzz targets, and the targets, as PACKAGE:TARGET.
fuzzed = $(shell grep -roE '^func Fuzz[A-Za-z0-9]+' --include=*_test.go . | sed -E 's,/[^/]*:func ,:,')
tests-portable:
	@$(SUMMED) "$(TEST) -count=1 -tags portable ./internal/architecture ./internal/modulepath" "$(TEST) ./internal/mutate -mutants=$(MUTANTS)" \
	  $(foreach target,$(fuzzed),"$(TEST) -run '^$$' -fuzz '^$(word 2,$(subst :, ,$(target)))\$$' -fuzztime $(FUZZ)x -fuzzminimizetime 100x $(word 1,$(subst :, ,$(target)))")
MUTANTS ?= 8

# Each false alarm comes with a scenario in ALARMS that shows it again; the first lines of the
# output have the seed.
CONFIGURATIONS ?= 1000
SCHEDULES ?= 100000
ALARMS ?= alarms
ORACLE_HISTORIES ?= 1000000
nightly:
	SAMPLE=all $(MAKE) test test-real
	$(GO) test ./checker -run '^Test(CheckersAgreeWithTheOracle|CorrectLocksConvictNobody)$$' -count=1 -timeout 24h -v -oracle.histories=$(ORACLE_HISTORIES) -oracle.seed=0
	@for p in cluster/resp cluster/shadow history history/logs risk watch claims campaign/scenario workload/remote search; do \
	  $(GO) test ./$$p -run '^TestManyInputs$$' -count=1 -timeout 24h -v -inputs=10000000 -inputs.for=20m -inputs.seed=0 || exit 1; done
	$(GO) test ./internal/mutate -count=1 -timeout 24h -v -mutants=0
	$(GO) test ./search -run '^TestCorrectLocksAreNeverConvicted$$' -count=1 -timeout 24h -v \
	  -alarm.configurations=$(CONFIGURATIONS) -alarm.seed=0 -alarm.schedules=$(SCHEDULES) -alarm.dir=$(abspath $(ALARMS))
	$(GO) test ./campaign/judge -run '^TestPackedFileStaysSmall$$' -count=1 -timeout 1h -v -check.lines=10000000
	$(GO) test ./audit -run '^TestWholeAudits$$' -count=1 -timeout 3h -v -audit.whole
	$(GO) test -tags real ./audit -run '^TestNoSeedConvictsACorrectLock$$' -count=1 -timeout 12h -v -audit.seeds=100 -audit.most=0
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
	SAMPLE=all $(GO) test -tags real ./internal/doctest -count=1 -update

# Renames the module everywhere, for whoever hosts it: make module-path TO=example.org/you/lockpick
module-path:
	@$(GO) run ./internal/modulepath $(TO)

# Audits the clients of other libraries, and writes docs/scoreboard.md: some hours.
scoreboard: setup-test
	@$(BUILD) -o lockpick ./cmd/lockpick
	@mkdir -p dist/clients && $(GO) build -C clients/go -o ../../dist/clients/lockpick-go-clients .
	@$(GO) build -C examples/services/etcd -o ../../../dist/clients/lockpick-etcd .
	@PATH="$$PATH:$(CURDIR)/dist/clients" ./lockpick audit all --resume --markdown docs/scoreboard.md $(ARGS)

claims:
	@$(GO) build -o lockpick ./cmd/lockpick
	@./lockpick claims $(ARGS)

KILLS ?= 1000
DOCKER_KILLS ?= 200
torture: FOR ?= 28m
torture: setup-test
	$(GO) test -tags real ./cli -run '^TestTorture$$' -count=1 -timeout 1h -v -torture.kills=$(KILLS) -torture.docker=$(DOCKER_KILLS) -torture.for=$(FOR) -torture.aside=3
	$(GO) test -tags real ./cli -run '^TestTheMachineStandsStill$$' -count=1 -timeout 1h -v -standstill.for=30s -standstill.times=3

# Two long runs, and whether they need more memory at their end than after a quarter. To judge the
# first one takes 9 GB, and its history 14 GB on the disk until it is compressed.
VIRTUAL ?= 24h
REAL ?= 1h
soak: setup-test
	$(GO) test -tags real ./cli -run '^TestSoak$$' -count=1 -timeout 12h -v -soak.virtual=$(VIRTUAL) -soak.real=$(REAL)

stress: FOR ?= 15m
stress: setup-run
	STRESS=$(FOR) $(GO) test -race -timeout 0 -parallel 5 -v ./redlock -run '^TestStress$$'

bench:
ifdef AGAINST
	$(GO) run ./internal/versions -against $(AGAINST) $(ARGS)
else
	$(GO) test -tags real -run '^$$' -bench . -benchmem ./...
	cd redlock/bench && $(GO) run . $(ARGS)
endif
