# The common commands; CMake does the work.
#
#   make            build/kerbin, build/libkerbin.so, build/libkerbin.a
#   make demo       a tour of the commands, in less than a minute: kerbin-demo/report.html
#   make test       all tests, those of the Python package too
#   make test-gpu   the tests of the module for GPUs on a machine that has one
#   make test-long  tests of minutes to hours, which make test leaves out
#   make fuzz       the fuzz targets with libFuzzer, FUZZ_SECONDS each (3600)
#   make coverage   line and branch coverage of src/ and cli/ by the tests, in build-coverage
#   make python     the Python package as a wheel, in build/wheel
#   make wheels     wheels for Linux on x86_64 and aarch64, in dist
#   make debs       Debian packages, in dist, and what lintian says of them
#   make dist       a reproducible source archive, an SBOM and checksums, in dist
#   make test-install   installed copies in clean roots, as root; many minutes
#   make bench      the benchmark
#   make bench-liblinear   against LIBLINEAR, some minutes
#   make bench-l1          the L1 solvers against LIBLINEAR, many minutes
#   make install    PREFIX=/usr/local, DESTDIR=
#   make docs       docs/options.md, from the program's tables
#   make site       the documentation as a site, in build/site/html
#   make format     clang-format on every source file; check-format only checks
#   make clean

BUILD  ?= build
PREFIX ?= /usr/local
WERROR ?= OFF
CMAKE_FLAGS ?=
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
MAKEFLAGS += --no-print-directory

SOURCES = $(shell git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.cu' '*.cuh' '*.cpp')

.PHONY: all setup setup-tests configure demo test test-gpu test-long fuzz coverage python wheels debs dist \
	test-install bench bench-liblinear bench-l1 install docs site clean format check-format

all: configure
	cmake --build $(BUILD) -j $(JOBS)

setup:
	@scripts/setup build

setup-tests:
	@scripts/setup build test
	@scripts/setup python || true # its tests are skipped then
	@scripts/setup mpi || true # likewise, and kerbin-mpi is not built

# The first test run adds the tests to the build.
configure: setup
	@cmake -S . -B $(BUILD) -DKERBIN_WERROR=$(WERROR) $(CMAKE_FLAGS) \
	  $(if $(wildcard $(BUILD)/CMakeCache.txt),,-DKERBIN_TESTS=OFF) --log-level=WARNING > /dev/null

demo: all
	@scripts/setup run || true # without it there are no figures
	@echo
	@$(BUILD)/kerbin demo

test: setup-tests
	@cmake -S . -B $(BUILD) -DKERBIN_TESTS=ON -DKERBIN_WERROR=$(WERROR) $(CMAKE_FLAGS) \
	  --log-level=WARNING > /dev/null
	cmake --build $(BUILD) -j $(JOBS)
	cd $(BUILD) && ctest -j 2 --output-on-failure
	@cat $(BUILD)/python-skipped 2>/dev/null || true

# Without a GPU, or nvcc, it fails: here a test must not be skipped.
test-gpu: setup-tests
	@cmake -S . -B $(BUILD) -DKERBIN_TESTS=ON -DKERBIN_CUDA=ON -DKERBIN_WERROR=$(WERROR) $(CMAKE_FLAGS) \
	  --log-level=WARNING > /dev/null
	cmake --build $(BUILD) -j $(JOBS) --target kerbin_program kerbin_cuda test_device_bins test_device_sweeps \
	  test_device_predict test_device_products kerbin_bench_gpu
	cd $(BUILD) && ctest -L gpu --output-on-failure | tee gpu.log
	@! grep -q 'Skipped' $(BUILD)/gpu.log

test-long: setup-tests
	@scripts/setup long
	@cmake -S . -B $(BUILD) -DKERBIN_TESTS=ON -DKERBIN_WERROR=$(WERROR) $(CMAKE_FLAGS) \
	  --log-level=WARNING > /dev/null
	cmake --build $(BUILD) -j $(JOBS)
	cd $(BUILD) && ctest -C long -L '^long$$' --output-on-failure

# Inputs that reach new code are kept in build-fuzz/corpus, findings in build-fuzz/findings.
FUZZ_SECONDS ?= 3600
fuzz:
	@scripts/setup build fuzz
	tests/fuzz/run $(FUZZ_SECONDS)

# The table is printed even if a test fails.
coverage:
	@scripts/setup build test
	@cmake -S . -B build-coverage -DKERBIN_COVERAGE=ON --log-level=WARNING > /dev/null
	cmake --build build-coverage -j $(JOBS)
	@find build-coverage -name '*.gcda' -delete
	-cd build-coverage && ctest -j 2 --output-on-failure
	@scripts/coverage build-coverage

python:
	python3 -m pip wheel -q --no-deps -w $(BUILD)/wheel .

wheels:
	packaging/wheels

debs:
	@scripts/setup build test debs
	packaging/debs

dist:
	packaging/dist

# Wheels and packages that are in dist already are not built again.
test-install: all
	@scripts/setup test debs roots
	@ls dist/*manylinux*.whl > /dev/null 2>&1 || $(MAKE) wheels
	@ls dist/*.deb > /dev/null 2>&1 || $(MAKE) debs
	tests/install/all.sh

bench: all
	$(BUILD)/kerbin-bench --json $(BUILD)/bench.json

bench-liblinear:
	@scripts/setup build bench
	@$(MAKE) all
	$(BUILD)/kerbin-bench-liblinear --json $(BUILD)/bench-liblinear.json

bench-l1:
	@scripts/setup build bench
	@$(MAKE) all
	$(BUILD)/kerbin-bench-l1 --json $(BUILD)/bench-l1.json

install: all
	DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX)

docs: configure
	cmake --build $(BUILD) -j $(JOBS) --target kerbin_program
	$(BUILD)/kerbin help --markdown > docs/options.md

site: all
	@scripts/setup build site
	docs/site/build $(BUILD)

clean:
	rm -rf $(BUILD) build-sanitize build-coverage build-fuzz build-threads build-wheels build-install

format:
	@clang-format -i $(SOURCES)

check-format:
	@clang-format --dry-run -Werror $(SOURCES)
