# The front door. CMake does the work; see CMakePresets.json.

PRESET ?= release
JOBS ?= $(shell nproc)
BUILD := build/$(PRESET)
SOURCES := $(shell find include src tools examples tests bench -name '*.cpp' -o -name '*.h' 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help demo build test operators fuzz format tidy footprint rate clean packages configure

help: ## what there is to make
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "PRESET=release|debug|asan|tsan picks the build (now $(PRESET)), JOBS=N its parallelism."

demo: configure ## build, and let a trained policy reach for what it sees
	@cmake --build --preset $(PRESET) -j $(JOBS) --target reacher
	@echo
	@$(BUILD)/reacher --picture $(BUILD)/reacher.png

build: configure ## build the library, the tools, the examples and the tests
	@cmake --build --preset $(PRESET) -j $(JOBS)

test: build ## build everything and run every test
	@ctest --preset $(PRESET) -j $(JOBS) --timeout 600

FUZZ_SECONDS ?= 60
fuzz: packages ## search each parser's input space for FUZZ_SECONDS
	@scripts/install_packages.sh fuzz
	@cmake --preset fuzz > /dev/null
	@cmake --build --preset fuzz -j $(JOBS) --target fuzzers
	@scripts/run_fuzzers.sh build/fuzz $(FUZZ_SECONDS)

format: ## format all sources in place
	@scripts/install_packages.sh format
	@clang-format -i $(SOURCES)

tidy: build ## run clang-tidy over the library
	@scripts/install_packages.sh tidy
	@find src -name '*.cpp' -not -name '*_test.cpp' -not -name '*_fuzz.cpp' \
	  | xargs -P $(JOBS) -n 1 clang-tidy -p $(BUILD) --quiet

operators: configure ## write docs/operators.md from the registry and the conformance cases
	@cmake --build --preset $(PRESET) -j $(JOBS) --target operators_page
	@$(BUILD)/operators_page --write docs/operators.md

rate: configure ## how fast the math library multiplies on this machine, to compare bench with
	@cmake --build --preset $(PRESET) -j $(JOBS) --target product_rate
	@$(BUILD)/product_rate

footprint: build ## what a deployment weighs: programs, their libraries, memory, starts
	@scripts/footprint.sh $(BUILD)

clean: ## remove everything that was built
	@rm -rf build

packages:
	@scripts/install_packages.sh build

configure: packages
	@test -f $(BUILD)/build.ninja || cmake --preset $(PRESET)
