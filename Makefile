# Everything a contributor types. `make run` on a fresh machine shows the main job; `make check test` is what CI runs.
#
# Needs: Go (the version in go.mod or newer), Node 20 or newer with npm, git, and a POSIX shell with bash.

# Tools, pinned, run by `go run tool@version` and never installed.
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# How long `make fuzz` spends on each target.
FUZZTIME ?= 20s

# Tests that drive the built binary and public npm packages as processes. The race detector would see only their helpers,
# so `check` leaves them to `test`.
PROCESS_TESTS := ^TestReal

ENGINE  := wasm/guest/engine/quickjs.wasm
SERVERS := e2e/node_modules/.complete

# A recipe that is interrupted leaves no target behind that looks finished.
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

.PHONY: help
help: ## this text
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: $(ENGINE) $(SERVERS) ## fetch the engine and the MCP servers of the tests, both by lock file

# The engine module is fetched, never committed. The step checks its sha256 before it puts it in place.
$(ENGINE): wasm/guest/package-lock.json wasm/guest/engine/quickjs.wasm.sha256
	cd wasm/guest && npm ci --loglevel=error
	go run ./wasm/guest/fetch
	@touch $@

# An engine that was altered in place is fetched again, however new it is.
ifneq ($(shell cd $(dir $(ENGINE)) && { sha256sum -c quickjs.wasm.sha256 || shasum -a 256 -c quickjs.wasm.sha256; } >/dev/null 2>&1 && echo intact),intact)
$(ENGINE): fetch-again
.PHONY: fetch-again
fetch-again:
endif

# npm ci empties node_modules first, so the stamp is there only after a whole installation.
$(SERVERS): e2e/package.json e2e/package-lock.json
	cd e2e && npm ci --loglevel=error
	@touch $@

.PHONY: build
build: $(ENGINE) ## build bin/codecell
	go build -o bin/codecell ./cmd/codecell

.PHONY: run
run: build $(SERVERS) ## do the main job on two public MCP servers
	examples/main-job.sh

.PHONY: test
test: setup ## run all tests, the real MCP servers and clients included
	node --test wasm/guest/test/*.test.mjs
	go test -timeout 20m ./...

.PHONY: check
check: setup ## everything that must hold before a change lands, but for the process tests
	@out=$$(gofmt -l -s $$(git ls-files '*.go')); test -z "$$out" || { echo "not gofmt'ed:"; echo "$$out"; exit 1; }
	go mod tidy -diff
	go mod verify
	go generate ./...
	@$(MAKE) --no-print-directory checkjs
	go vet ./...
	go run $(GOLANGCI_LINT) run
	go test -race -timeout 20m -skip '$(PROCESS_TESTS)' ./...
	@test -z "$$(git status --porcelain)" || { git status --short; \
		echo "The tree has changes: either not committed yet, or generated files were stale."; exit 1; }

# The guest's scripts are one expression when joined in the order of their names; programs are bodies of async functions.
.PHONY: checkjs
checkjs:
	cat wasm/guest/js/*.js | node --check -
	node --check examples/service.mjs
	@for f in examples/*.js; do { echo '(async () => {'; cat $$f; echo '})'; } | node --check - || { echo "in $$f"; exit 1; }; done

.PHONY: bench
bench: build ## measure, as JSON lines and a table
	bin/codecell bench

# A folder with public catalogs, NAME.tools.jsonl and NAME.queries.jsonl. Without it, the MCP servers of the tests are listed.
TOOLSEARCH ?=

.PHONY: bench-surface
bench-surface: setup ## compare what each surface sends and takes, for the same tasks
	go build -o bin/provider ./e2e/provider
	go run ./e2e/surfaces -provider bin/provider -data '$(TOOLSEARCH)'

.PHONY: fuzz
fuzz: setup ## fuzz each target for FUZZTIME
	@for pkg in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$target"; go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

.PHONY: golden
golden: setup ## rewrite golden files; review the diff
	go test -count=1 $$(git grep -l 'flag.Bool("update"' -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's|^|./|') -update

.PHONY: clean
clean: ## remove what setup and build made
	rm -rf bin e2e/node_modules wasm/guest/node_modules $(ENGINE)
