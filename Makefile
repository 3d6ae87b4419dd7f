.POSIX:
# Only Go, make and a POSIX shell are needed; `make lint` also fetches a linter
# and `make bench` compares with the programs that are installed.

GO = go
PROFILE = release.pgo
MODULE = github.com/sessctl/sessctl
FUZZTIME = 30s
TARGETS =
RULES = ^Test(Imports|Rooms|RoomsCanFail|RootNeedsNoCgo|FewTestPrograms|Source|SourceCitesTheRepository|SmallestAdapter|PagesNameWhatThereIs|PagesForUsersAreShort|PagesForUsersTellNoDiary|ReadmeListsEveryPage|FaultTierHasEveryShare|RulesAreRun|DocumentedCommands|EveryScriptOfThePages|EveryExampleRuns|Seeds|StoredIsNotPrinted|StoredIsNotPrintedCanFail|ArrowsRunDown|ArrowsCanFail)$$
VERSION = $$(git describe --tags --always --abbrev=12 --dirty 2>/dev/null || echo dev)

.PHONY: help build man packages demo test test-program test-rules test-faults test-floors test-long test-nightly accept accept-newest accept-pages accept-packages accept-postgres load-postgres accept-cluster bench bench-quick bench-compact lint format clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

build: ## build bin/sessctl
	CGO_ENABLED=0 $(GO) build -trimpath -pgo=$(PROFILE) \
		-ldflags "-s -w -X $(MODULE)/cmd.version=$(VERSION)" \
		-o bin/ .

man: ## man pages, completions and the licences of all modules in bin/share
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null)} CGO_ENABLED=0 $(GO) run -trimpath ./internal/packages -version "$(VERSION)" -manual bin/share
	CGO_ENABLED=0 $(GO) run -trimpath ./internal/packages -licences bin/share/doc/sessctl/THIRD-PARTY-LICENSES

packages: ## archives, packages of Debian and RPM, SBOMs and checksums in dist/packages, from .goreleaser.yaml (3 minutes)
	cd tools/packages && CGO_ENABLED=0 $(GO) build -trimpath -o ../../bin/ tool
	GO="$(GO)" $(GO) run ./internal/packages -targets "$(TARGETS)" dist/packages

demo: build ## the main job on the bundled sample agent, in a temporary home
	sh testdata/demo.sh

# A timeout is there to end what hangs; a slow machine does not reach it.

test: test-program ## run the tests, with a smoke share of the fault runs and of the scripts (90 seconds)
	CGO_ENABLED=0 SESSCTL_PROGRAM="$$PWD/bin/test/sessctl" $(GO) test -trimpath -p 4 -parallel 4 -vet=off -timeout 60m ./...
	@all=testdata/script/*.txtar; printf 'left out: %d of %d scripts, the ends of %d, and all of the fault table but one or two faults for each main way; make test-faults runs them\n' \
		"$$(grep -l '^\[smoke\] skip' $$all | wc -l)" "$$(ls $$all | wc -l)" "$$(grep -l '^\[smoke\] stop' $$all | wc -l)"

# The program that tests start is built before every run of them. It becomes another
# file only where its bytes have changed: results that go test has kept stay good.
test-program:
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags "-s -w" -o bin/test/built .
	cmp -s bin/test/built bin/test/sessctl || { cp bin/test/built bin/test/new && mv bin/test/new bin/test/sessctl; }

test-rules: ## the rules of the repository: imports, layout, citations, that every command on a page and every example runs, and that testdata is what its stories make (1 minute)
	CGO_ENABLED=0 SESSCTL_RULES=1 $(GO) test -trimpath -vet=off -timeout 30m -run '$(RULES)' . ./cmd
	CGO_ENABLED=0 $(GO) test -trimpath -vet=off ./testdata/gen ./testdata/accept

test-faults: test-program ## all tests whole; of the fault table what the change touches that SESSCTL_CHANGED lists, a file with names of files (all of it without; 10 to 15 minutes)
	CGO_ENABLED=0 SESSCTL_FAULTS=1 SESSCTL_PROGRAM="$$PWD/bin/test/sessctl" $(GO) test -trimpath -vet=off -timeout 4h ./... ./testdata/gen ./testdata/accept
	CGO_ENABLED=0 $(GO) run -trimpath ./internal/faults/table -choice

test-floors: ## the floors of summaries, facts and recall, and that the peers of the benchmarks give the same answers (1 minute)
	cd bench && CGO_ENABLED=0 SESSCTL_FAULTS=1 $(GO) test -trimpath -vet=off -timeout 4h ./...

test-long: test-program ## all rows and columns of the fault table at SESSCTL_CALLS calls (3, or "all"), all planted bugs, and fuzzing for FUZZTIME (30s) each (2 hours)
	CGO_ENABLED=0 SESSCTL_LONG=1 SESSCTL_PROGRAM="$$PWD/bin/test/sessctl" $(GO) test -trimpath -vet=off -count=1 -timeout 24h ./... ./testdata/gen ./testdata/accept
	cd bench && CGO_ENABLED=0 SESSCTL_LONG=1 $(GO) test -trimpath -vet=off -count=1 -timeout 4h ./...
	GO="$(GO)" sh testdata/fuzz.sh $(FUZZTIME)
	CGO_ENABLED=0 SESSCTL_LONG=1 $(GO) run -trimpath ./internal/faults/table -choice

test-nightly: ## all that there is: test-long, and floors, pages, packages, lint, vet for every system, benchmarks (3 hours)
	bash .ci/run nightly

accept: build ## the real runtimes on what sessctl leaves (from npm, 6.8 GB in ACCEPT_DIR; 40 minutes)
	$(GO) run ./testdata/accept -sessctl bin/sessctl

accept-newest: build ## the newest versions of the runtimes: requests compared with replays, unknown records; docs/runtimes.md says which (15 minutes)
	$(GO) run ./testdata/accept -sessctl bin/sessctl -newest -versions docs/runtimes.md

accept-pages: ## the report and the reader in a headless Chromium, with axe-core; pictures in dist/pages (2 minutes)
	GO="$(GO)" sh testdata/pages/accept.sh dist/pages

accept-packages: ## packages built twice and compared; installed, used, upgraded and removed in a Debian and with rpm, as root (3 minutes)
	GO="$(GO)" sh testdata/packages/accept.sh

accept-postgres: ## the shared memory on a real PostgreSQL with pgvector (from Debian's packages), with load and killed servers (5 minutes)
	sh testdata/postgresql/install.sh
	CGO_ENABLED=0 SESSCTL_LONG=1 $(GO) test -count=1 -timeout 4h -v -run . ./pkg/memory/remote/postgres
	CGO_ENABLED=0 $(GO) test -count=1 -timeout 10m -v -run TestSharedMemory ./internal/e2e
	CGO_ENABLED=0 SESSCTL_FAULTS=1 $(GO) test -count=1 -timeout 10m -v -run 'TestScript/fleet_' .
	CGO_ENABLED=0 $(GO) test -count=1 -timeout 10m -v -run TestYarnnn ./pkg/session/adapters

load-postgres: ## 100,000 generated records of 2,000 hosts in a real PostgreSQL: room, locks, 50 questions at once; then 20 hosts push 300,000 at once, and it is killed twice (30 minutes, 5 GB)
	sh testdata/postgresql/install.sh
	CGO_ENABLED=0 SESSCTL_LONG=1 POSTGRES_FLEET=$${POSTGRES_FLEET:-2000} POSTGRES_GENERATED=$${POSTGRES_GENERATED:-100000} $(GO) test -count=1 -timeout 1h -v -run 'TestGenerated$$' ./pkg/memory/remote/postgres
	CGO_ENABLED=0 SESSCTL_LONG=1 POSTGRES_HOSTS=$${POSTGRES_HOSTS:-20} POSTGRES_RECORDS=$${POSTGRES_RECORDS:-15000} $(GO) test -count=1 -timeout 4h -v -run 'TestLoad$$' ./pkg/memory/remote/postgres

accept-cluster: ## the shared memory on three nodes of Weaviate (built from the Go module proxy, 130 MB), two of them killed (15 minutes, the build included)
	sh testdata/weaviate/install.sh
	CGO_ENABLED=0 SESSCTL_LONG=1 $(GO) test -count=1 -timeout 2h -v ./pkg/memory/remote/weaviate
	CGO_ENABLED=0 SESSCTL_LONG=1 $(GO) test -count=1 -timeout 2h -v -run 'TestCluster$$' ./internal/e2e

bench: ## compare with wc, find, Python, Node, jq and zstd on generated sessions (15 minutes)
	cd bench && CGO_ENABLED=0 $(GO) run .

bench-quick: ## the same on small sessions (under 2 minutes)
	cd bench && CGO_ENABLED=0 $(GO) run . -quick

bench-compact: ## CPU of compact on 100 and 200 MB of real text, by step (2 minutes)
	cd bench && CGO_ENABLED=0 $(GO) run . -only 'of real text' -rounds 1

lint: ## the linter that tools/go.mod pins, with the rules of .golangci.yml
	cd tools && $(GO) build -o ../bin/ tool
	bin/golangci-lint config verify
	bin/golangci-lint run
	cd bench && ../bin/golangci-lint run

format: ## gofmt and goimports
	cd tools && $(GO) build -o ../bin/ tool
	bin/golangci-lint fmt
	cd bench && ../bin/golangci-lint fmt

clean: ## remove what was built
	rm -rf bin dist
