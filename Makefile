# make run    set up, then run a campaign on real Redis masters (ARGS="--time-limit 60s …")
# make test   set up, then every check and every test
# make claims the catalogue of claims (ARGS="--driver process --evidence unexpected")
# make stress the lock under faults for 15 minutes (FOR=1h for longer)
# make bench  the benchmarks, and the lock beside others (ARGS="-rounds 3 -only pairs")
# make nightly  what takes hours: correct locks in many more random configurations and schedules,
#               the checkers beside their oracle on a million random histories, all planted faults
#               in them, and a history of 10,000,000 lines
.PHONY: run test nightly lint claims stress bench setup-run setup-test

GO ?= go
# Modules of their own, so that the lock and the harness depend on nothing of theirs.
MODULES = redlock/bench examples/otel examples/prometheus

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

# -p 1: the packages with real masters would disturb each other on a small machine.
# Property tests draw the same cases each time; RAPID_SEED=0 draws others.
RAPID_SEED ?= 1
RAPID = $(sort $(dir $(shell grep -rl --include='*_test.go' '"pgregory.net/rapid"' .)))
# So do the random configurations and histories; make nightly draws fresh ones, many more.
ALARM_SEED ?= 1
ORACLE_SEED ?= 1
# Tests that simulate thousands of worlds run without the race detector: it keeps memory
# for each coroutine that has ended, 10 GB and more in all. The same code is run with it by
# the tests of fewer worlds.
WORLDS = ^Test(ExploreFindsAndShrinks|ExploreFindsLeasesThatAreDeadOnArrival|CounterexamplesReproduceOnProcesses|CorrectLockHoldsInEverySchedule|CorrectLocksAreNeverConvicted|AlarmsShowThemselvesAgain|Explorations.*|ShrinkRunOfANemesis|CatalogueIsAsExpected|Verify.*|NotAsExpected|Baseline|EveryLockIsConvicted|Convictions|PropertiesConvictPlantedBugs|NoFalseAlarm|Exhaust.*|NothingIsLeftOut|StatesSaveWorkAlone|LateCommandsProlongNoKey|CheckersAgreeWithTheOracle|CorrectLocksConvictNobody|CheckFileStaysSmall)$$
test: setup-test lint
	$(GO) test -race -p 1 -timeout 40m $(filter-out $(patsubst ./%/,lockpick/%,$(RAPID)),$(shell $(GO) list ./...))
	$(GO) test -race -p 1 -timeout 40m $(RAPID) -skip '$(WORLDS)' -rapid.seed=$(RAPID_SEED)
	$(GO) test -timeout 40m ./campaign -run '$(WORLDS)' -rapid.seed=$(RAPID_SEED) -alarm.seed=$(ALARM_SEED)
	$(GO) test -timeout 40m ./checker -run '$(WORLDS)' -rapid.seed=$(RAPID_SEED) -oracle.seed=$(ORACLE_SEED)
	@for module in $(MODULES); do echo "$(GO) test -race ./$$module"; (cd $$module && $(GO) test -race ./...) || exit 1; done

# Each false alarm comes with a scenario in ALARMS that shows it again; the first lines of the
# output have the seed.
CONFIGURATIONS ?= 1000
SCHEDULES ?= 100000
ALARMS ?= alarms
ORACLE_HISTORIES ?= 1000000
nightly: setup-test
	$(GO) test ./checker -run '^Test(CheckersAgreeWithTheOracle|CorrectLocksConvictNobody)$$' -count=1 -timeout 24h -v -oracle.histories=$(ORACLE_HISTORIES)
	$(GO) test ./internal/mutate -count=1 -timeout 24h -v -mutants=0
	$(GO) test ./campaign -run '^TestCorrectLocksAreNeverConvicted$$' -count=1 -timeout 24h -v \
	  -alarm.configurations=$(CONFIGURATIONS) -alarm.schedules=$(SCHEDULES) -alarm.dir=$(abspath $(ALARMS))
	$(GO) test ./campaign -run '^TestCheckFileStaysSmall$$' -count=1 -timeout 1h -v -check.lines=10000000

claims:
	@$(GO) build -o lockpick ./cmd/lockpick
	@./lockpick claims $(ARGS)

FOR ?= 15m
stress: setup-run
	STRESS=$(FOR) $(GO) test -race -timeout 0 -v ./redlock -run '^TestStress$$'

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...
	cd redlock/bench && $(GO) run . $(ARGS)
