# SPDX-License-Identifier: MIT
#
# gradwire: one Makefile. It finds sources by folder and writes objects to $(B).
# .ci/deps first installs missing packages.

VERSION := 0.1.0
SOVERSION := 1
B ?= build
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
AR ?= ar
PREFIX ?= /usr/local
OPT ?= -O2 -g
FUZZ_SECONDS ?= 20
FUZZ_JOBS ?= 1

ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif

# ---- flags ----

CSTD := -std=gnu11
WARN := -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wcast-qual \
	-Wwrite-strings -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wformat=2 -Wundef -Wvla -Wdouble-promotion \
	-Wimplicit-fallthrough -Wpointer-arith
CPPFLAGS += -D_GNU_SOURCE -Ilib/include -Ilib -Icmd
CFLAGS += $(CSTD) $(WARN) $(OPT) -fvisibility=hidden -fPIC -pthread $(SAN)
# Plug-ins call the library of the tool that opens them.
LDFLAGS += $(SAN) -Wl,--as-needed -rdynamic

# ---- installed libraries ----

# Missing packages are installed first. $(B)/config.mk then lists the libraries.
# make starts again when that list has changed, so that an optional library that
# is installed later is used.
need = $(if $(filter $(2),$(MAKECMDGOALS)),$(1))
ifneq ($(filter-out clean format help uninstall,$(or $(MAKECMDGOALS),all)),)
include $(B)/config.mk
endif
$(B)/config.mk: always
	@.ci/deps build $(call need,check,check% run-%san lint deps) $(call need,demo,demo deps) \
		$(call need,model,check-all check-model) $(call need,deb,check-deb check-bare) \
		$(call need,lint,lint) $(call need,fuzz,run-fuzz) $(call need,bench%,bench)
	@mkdir -p $(B)
	@config=$$(.ci/config) && { echo "$$config" | cmp -s - $@ || echo "$$config" >$@; }

# A stamp holds the words of a command. Its dependents are built again when they
# change.
define STAMP
$(B)/$(1).stamp: always
	@mkdir -p $(B); echo '$(2)' | cmp -s - $$@ || echo '$(2)' >$$@
endef
COMPILE = $(CC) $(CPPFLAGS) $(LIB_CFLAGS) $(CFLAGS)
$(eval $(call STAMP,compile,$(COMPILE)))
$(eval $(call STAMP,link,$(CC) $(LDFLAGS) $(TOOL_LIBS) $(UNIT_LIBS)))

# ---- sources ----

# The verbs wire has either all files or one replacement, and so have sealing and the
# search by z3.
VERBS_NONE := lib/wire/verbs/verbs_none.c
VERBS_SRC := $(filter-out $(VERBS_NONE),$(wildcard lib/wire/verbs/verbs_*.c))
LIB_SRC := $(sort $(filter-out lib/mpi/%.c $(if $(VERBS_PC),$(VERBS_NONE),$(VERBS_SRC)) \
	lib/wire/$(if $(SEAL_LIB),seal_none,seal).c \
	lib/sim/synthesis/$(if $(Z3_PC),steps_none,steps_z3).c, \
	$(wildcard $(addsuffix /*.c,lib/* lib/*/* lib/*/*/*))))
LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o)
COMMON_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard cmd/common/*.c cmd/common/*/*.c)))
folders = $(patsubst %/,%,$(sort $(dir $(wildcard $(1)))))
WORLDS := $(filter-out %/common,$(call folders,cmd/simcluster/*/*.c)) cmd/simcluster/common
PARTS := $(filter-out cmd/common,$(call folders,cmd/*/*.c)) $(WORLDS)
TOOLS := $(patsubst cmd/%/main.c,%,$(sort $(wildcard cmd/*/main.c)))
UNIT_SRC := $(sort $(wildcard tests/unit/*.c))
SIM_PS_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/sim/ps/*.c)))
BENCHES := $(patsubst tests/bench/%.c,$(B)/bench/%,$(sort $(wildcard tests/bench/*.c)))
FUZZERS := $(patsubst tests/fuzz/fuzz_%.c,$(B)/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
LIB_A := $(B)/libgradwire.a
LIB_SO := $(B)/libgradwire.so.$(SOVERSION).0.0
MPI_SRC := $(sort $(wildcard lib/mpi/*.c))
MPI_SO := $(if $(MPI_SRC),$(MPIS:%=$(B)/libgradwire-mpi-%.so))
MPI_ALL := $(MPI_SO) $(if $(MPI_SO),$(B)/gradwire-mpirun)

# One short line per command. V=1 prints whole commands.
say = $(if $(V),,@echo "  $(1)  $(2)"; )

# `make help` prints the lines that start with "#: ".
#: all               build the library and the tools in build/ (B=DIR: in DIR)
all: $(LIB_A) $(LIB_SO) $(TOOLS:%=$(B)/%) $(MPI_ALL)

$(B)/%.o: %.c $(B)/compile.stamp
	@mkdir -p $(@D)
	$(call say,cc,$<)$(COMPILE) -MMD -MP -c -o $@ $<

%.a:
	@rm -f $@
	$(call say,ar,$@)$(AR) rcs $@ $(filter %.o,$^)

# Folders are prerequisites, so that deleted files leave the archive too.
$(LIB_A): $(LIB_OBJ) $(sort $(dir $(LIB_SRC)))

# Programs depend on $(B)/link.stamp, too.
link = $(call say,ld,$@)$(CC) $(LDFLAGS) -o $@ $(filter %.o %.a,$^)
$(LIB_SO): $(LIB_OBJ) $(B)/link.stamp $(sort $(dir $(LIB_SRC)))
	$(link) -shared -Wl,-soname,libgradwire.so.$(SOVERSION) $(LIB_LIBS)
	@ln -sf $(@F) $(B)/libgradwire.so.$(SOVERSION)
	@ln -sf $(@F) $(B)/libgradwire.so

# The MPI face, once per MPI: handles differ. Each contains a hidden copy of
# the library, so that a program may use another one.
define MPI_FACE
$(B)/mpi-$(1)/%.o: lib/mpi/%.c $(B)/compile.stamp
	@mkdir -p $$(@D)
	$$(call say,cc,$$< ($(1)))$$(COMPILE) $($(2)_CFLAGS) -MMD -MP -c -o $$@ $$<
$(B)/libgradwire-mpi-$(1).so: $(MPI_SRC:lib/mpi/%.c=$(B)/mpi-$(1)/%.o) $(LIB_A) $(B)/link.stamp $(sort $(dir $(MPI_SRC)))
	$$(link) -shared -Wl,--exclude-libs,ALL $($(2)_LIBS) $(LIB_LIBS)
endef
$(eval $(call MPI_FACE,openmpi,OPENMPI))
$(eval $(call MPI_FACE,mpich,MPICH))
$(B)/gradwire-mpirun: lib/mpi/gradwire-mpirun
	@install -D -m 755 $< $@

# A tool is its main.o and an archive of the rest, which the unit tests use too.
# cmd/run has no main: the tools that start runs share it. cmd/simcluster has one
# folder per simulated cluster.
define PART
$(B)/$(1).a: $(patsubst %.c,$(B)/%.o,$(filter-out %/main.c,$(wildcard $(1)/*.c $(1)/*/*.c))) \
	$(1) $(wildcard $(1)/*/)
endef
$(foreach part,$(PARTS),$(eval $(call PART,$(part))))

$(TOOLS:%=$(B)/%): $(B)/%: $(B)/cmd/%/main.o $(B)/cmd/%.a $(B)/cmd/run.a \
		$(WORLDS:%=$(B)/%.a) $(COMMON_OBJ) $(LIB_A) $(B)/link.stamp
	$(link) $(TOOL_LIBS)

# ---- tests ----

$(B)/unit: $(UNIT_SRC:%.c=$(B)/%.o) $(PARTS:%=$(B)/%.a) $(COMMON_OBJ) $(LIB_A) $(B)/link.stamp
	$(link) -Wl,--wrap=_mark_point $(UNIT_LIBS) $(TOOL_LIBS)

# The table of suites that tests/unit/main.c runs.
$(B)/tests/unit/main.o: $(B)/unit_suites.h
$(B)/tests/unit/main.o: CPPFLAGS += -I$(B)
$(B)/unit_suites.h: $(UNIT_SRC) tests/unit
	@mkdir -p $(@D)
	@sed -n 's/^Suite \*suite_\([a-z0-9_]*\)(void)$$/SUITE(\1)/p' $(UNIT_SRC) >$@

# Campaigns: many seeds of the simulated ring and of the simulated parameter
# server.
SIMS := $(B)/sim/ring $(B)/sim/ps
$(B)/sim/ring: $(B)/tests/sim/ring.o $(WORLDS:%=$(B)/%.a) $(LIB_A)
$(B)/sim/ps: $(SIM_PS_OBJ) $(WORLDS:%=$(B)/%.a) $(LIB_A)
$(SIMS): $(B)/link.stamp
	@mkdir -p $(@D)
	$(link) $(LIB_LIBS)

# The program of tests/fault/kills.sh.
$(B)/kills: $(B)/tests/fault/kills.o $(COMMON_OBJ) $(LIB_A) $(B)/link.stamp
	$(link) $(TOOL_LIBS)

# The counter oracle of the parameter server: tests/fault/pskills.sh.
PSKILLS_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/fault/pskills*.c)))
$(B)/pskills: $(PSKILLS_OBJ) $(LIB_A) $(B)/link.stamp
	$(link) $(LIB_LIBS)
# The same with 64 servers and 128 workers: tests/scale_ps.bats.
PSKILLS_SCALE_OBJ := $(patsubst $(B)/%.o,$(B)/scale/%.o,$(PSKILLS_OBJ))
$(B)/scale/%.o: CPPFLAGS += -DPSKILLS_SCALE
$(B)/scale/%.o: %.c $(B)/compile.stamp
	@mkdir -p $(@D)
	$(call say,cc,$<)$(COMPILE) -MMD -MP -c -o $@ $<
$(B)/pskills_scale: $(PSKILLS_SCALE_OBJ) $(LIB_A) $(B)/link.stamp
	$(link) $(LIB_LIBS)

# Deaths at every failpoint: tests/fault/failpoints.sh.
RING_MEMBERS_OBJ := $(patsubst %.c,$(B)/%.o,$(sort $(wildcard tests/unit/ring_members*.c) tests/unit/log_folder.c))
$(B)/tests/fault/failpoints.o: CPPFLAGS += -Itests/unit
$(B)/failpoints: $(B)/tests/fault/failpoints.o $(RING_MEMBERS_OBJ) $(LIB_A) $(B)/link.stamp
	$(link) $(UNIT_LIBS) $(TOOL_LIBS)

# How many source files an action enters: make check-entered. B is a build with
# coverage counters, which its own make makes.
$(B)/entered: $(B)/tests/tools/entered.o $(RING_MEMBERS_OBJ) $(LIB_A) $(B)/link.stamp
	$(link) $(UNIT_LIBS) $(TOOL_LIBS)
$(B)/tests/tools/entered.o: CPPFLAGS += -Itests/unit

$(BENCHES): $(B)/bench/%: $(B)/tests/bench/%.o $(LIB_A) $(B)/link.stamp
	@mkdir -p $(@D)
	$(link) $(LIB_LIBS)

$(FUZZERS): $(B)/fuzz/%: $(B)/tests/fuzz/fuzz_%.o $(B)/cmd/ringctl.a $(B)/cmd/run.a \
		$(COMMON_OBJ) $(LIB_A) $(B)/link.stamp
	@mkdir -p $(@D)
	$(link) -fsanitize=fuzzer $(TOOL_LIBS)

# All tests are commands that .ci/tests runs in parallel. Those named here take
# longest in a new tree, so they begin first. check-net, check-slurm and check-k8s
# test several hosts, in network namespaces, and the engines of clusters.
RUN_TESTS = B=$(B) CC="$(CC)" SAN="$(SAN)" COLLRUN=$(abspath $(B))/collrun CK_DEFAULT_TIMEOUT=60 .ci/tests
SIM_RING = $(B)/sim/ring --seeds 1..$(or $(SEEDS),$(if $(SLOW),20000,3000))
SIM_TREES = $(B)/sim/ring --trees --seeds 1..$(or $(SEEDS),$(if $(SLOW),20000,500))
SIM_RAFT = $(B)/sim/ring --raft --seeds 1..$(or $(SEEDS),$(if $(SLOW),20000,500))
SIM_PS = $(B)/sim/ps --seeds 1..$(or $(SEEDS),$(if $(SLOW),5000,1000))
SLOW_BATS = $(addprefix tests/,fault/memory.bats cli/docs.bats cli/docs_manual.bats cli/lab.bats \
	fault/pskills.bats fault/controllers.bats fault/strangers.bats cli/train.bats cli/psnode.bats cli/tune.bats cli/sim.bats)
HOST_BATS = $(wildcard $(addsuffix /*.bats,$(addprefix tests/,net slurm k8s)))
BATS = $(SLOW_BATS) $(filter-out $(SLOW_BATS) $(HOST_BATS),$(wildcard tests/*/*.bats))
TEST = @{ printf '%s\n' $(BATS) "$(SIM_RING)" "$(SIM_TREES)" "$(SIM_RAFT)" "$(SIM_PS)" "tests/cpu/matrix.sh $(B)"; \
	sed -n 's|^SUITE(\(.*\))$$|$(B)/unit \1|p' $(B)/unit_suites.h; \
	} | $(RUN_TESTS) -o $(B)/tests.times
# Tests of real processes.
REAL_BATS = $(wildcard tests/fault/*.bats tests/view/*_*.bats) $(addprefix tests/cli/, \
	elastic.bats export.bats lab.bats lockstep.bats pipebench_run.bats psnode.bats ringctl.bats \
	run.bats train.bats)
REAL_SUITES = publish coll_kill launch launch_silence ring ring_death ring_join supervisor \
	supervisor_recovery process_watch
TSAN = TSAN_OPTIONS="suppressions=tests/tsan.supp ignore_noninstrumented_modules=1"

#:
#: check             run all tests of one machine, some minutes (SEEDS=N schedules)
check: all $(SIMS) $(B)/pskills $(B)/unit
	$(TEST)
#: check-all         check, and the long tests: proofs, the model, every lab
check-all: export SLOW = 1
check-all: all $(SIMS) $(B)/pskills $(B)/unit
	$(B)/collrun verify --all --max-ranks 256
	$(TEST)
	tests/spin/check.sh $(B)
	B=$(B) tests/cli/lab_walk.sh -n 20
# BUSY loops per core; N runs of each.
#: check-busy        check with BUSY=2 busy loops per core
#: check-repeat      run the tests of real processes N=20 times, print a table
check-busy: all $(SIMS) $(B)/pskills $(B)/unit
	@CK_TIMEOUT_MULTIPLIER=5 tests/busy.sh $(or $(BUSY),2) $(MAKE) --no-print-directory check
check-repeat: all $(B)/pskills $(B)/unit
	@printf '%s\n' $(REAL_BATS) $(REAL_SUITES:%='$(B)/unit %') | $(RUN_TESTS) -n $(or $(N),20)
#: check-model       check the Spin model: flush, decision, commit, crashes, a join
check-model:
	@tests/spin/check.sh $(B)
# Chaos on real processes, each for CHAOS_FOR; every failpoint.
.PHONY: check-chaos check-collectives check-entered check-failpoints check-calm check-memory check-rejoin check-scale sim-night
#: check-entered     count the source files that a call, a push and a death enter
check-entered:
	@$(MAKE) --no-print-directory B=$(B)/coverage SAN=--coverage OPT=-O0 $(B)/coverage/entered
	@tests/tools/entered.sh $(B)/coverage
#: check-chaos       run ringctl chaos on rings and servers (CHAOS_FOR=1m each)
check-chaos: all
	@B=$(B) tests/fault/chaos.sh
#: check-collectives kill members N=100 times while imported plans run
check-collectives: all
	@B=$(B) tests/fault/collectives.sh $(N)
#: check-rejoin      pause a member until it is declared dead, N=20 times; it rejoins
check-rejoin: all
	@B=$(B) tests/fault/rejoin.sh $(N)
#: check-scale       kill members of large rings (SCALE=64 members, KILLS=20)
check-scale: all $(B)/pskills_scale
	@B=$(B) bats tests/scale.bats tests/scale_ps.bats
#: check-failpoints  crash at every step of the protocols, on each rank
check-failpoints: all $(B)/failpoints $(B)/pskills
	@B=$(B) tests/fault/failpoints.sh
#: check-calm        count members declared dead in error (CALM="-t 3600")
check-calm: all $(B)/kills
	@B=$(B) tests/fault/calm.sh $(CALM)
# A night of seeds: tests/sim/night.sh. make does not pass on the SEEDS of the
# environment, because run-asan sets its own.
#: sim-night         simulate a million schedules
sim-night: $(SIMS)
	@SEEDS=$(SEEDS) tests/sim/night.sh $(B)
#: check-memory      fail each allocation of the tools' commands, one by one
check-memory: all
	@MEMORY_STRIDE=1 B=$(B) CC="$(CC)" bats tests/fault/memory.bats
#: check-deb         build the Debian packages, run lintian, install them
check-deb:
	@tests/debian/check.sh
#: check-bare        make demo and make check in a minimal Debian
check-bare:
	@tests/debian/bare.sh
#: check-portable    test other compilers, users, locales, limits (VARIANTS=...)
check-portable: all $(SIMS) $(B)/unit
	@tests/portable.sh $(B) $(VARIANTS)
#: check-verbs       test RDMA in virtual machines: soft-RoCE and iWARP
# If RDMA's libraries have just been installed, make must start again.
check-verbs:
	+@if .ci/deps verbs; then $(MAKE) --no-print-directory $(B)/unit $(B)/collrun && \
		tests/verbs/check.sh $(B); \
	else echo "check-verbs: skipped, not all that it needs can be had here"; fi
#: check-arm64       test base, plan, event and the NEON kernels under qemu-user
check-arm64:
	@tests/arm64/check.sh $(B)
# These tests skip, with a reason, if a package is missing.
#: check-mpi         run ranks under mpirun of Open MPI and of MPICH
check-mpi: all
	@.ci/deps check mpi || true
	@B=$(B) CC="$(CC)" bats tests/cli/place.bats
# The headers may have just been installed, so make starts again.
#: check-mpi-programs run HPCC, LAMMPS, mpi4py and others with the MPI face (RANKS="2 3 4 8")
.PHONY: check-mpi-programs
check-mpi-programs:
	+@.ci/deps programs || true; $(MAKE) --no-print-directory all && tests/mpi/check.sh $(B)
#: check-net         test hosts in network namespaces: cuts, dead hosts, slow racks
#: check-slurm       test under Slurm on such hosts
#: check-k8s         check the manifests for Kubernetes against its schema
check-net check-slurm check-k8s: check-%: all
	@.ci/deps net $* || true
	@B=$(B) CC="$(CC)" bats tests/$*

#: check-python      test the Python package with pytest, against NumPy
.PHONY: check-python
check-python: all
	@if .ci/deps python && /usr/bin/python3 -c "import numpy, pytest"; then \
		B=$(abspath $(B)) /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/python; \
	else echo "check-python: skipped, python3-numpy and python3-pytest cannot be had here"; fi

# The backend of PyTorch, for the headers of the installed one.
PYTHON ?= /usr/bin/python3
TORCH_CC := $(sort $(wildcard lib/torch/*.cc))
TORCH_OBJ := $(TORCH_CC:%.cc=$(B)/%.o) $(patsubst %.c,$(B)/%.o,$(wildcard lib/torch/*.c))
$(TORCH_CC:%.cc=$(B)/%.o): $(B)/%.o: %.cc $(wildcard lib/torch/*.h)
	@mkdir -p $(@D)
	$(call say,c++,$<)$(CXX) -std=c++17 -O2 -g0 -fPIC -fvisibility=hidden -Wall -Ilib/include \
		-DTORCH_API_INCLUDE_EXTENSION_H -DTORCH_EXTENSION_NAME=_torch \
		-isystem /usr/include/torch/csrc/api/include \
		-isystem $$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_paths()["include"])') -c $< -o $@
$(B)/torch/_torch.so: $(TORCH_OBJ) $(LIB_SO)
	@mkdir -p $(@D)
	$(call say,ld,$@)$(CXX) -shared -o $@ $(TORCH_OBJ) -L$(B) -lgradwire -Wl,-rpath,'$$ORIGIN/..' \
		-ltorch -ltorch_python -ltorch_cpu -lc10 -lpthread
#: torch             build the backend of torch.distributed
.PHONY: torch check-torch
torch: $(B)/torch/_torch.so
#: check-torch       test the backend with PyTorch's own tests
check-torch:
	+@if .ci/deps torch; then $(MAKE) --no-print-directory all torch && \
		PYTHON=$(PYTHON) tests/torch/check.sh $(B); \
	else echo "check-torch: skipped, not all that it needs can be had here"; fi

# The backend and Gloo in turn, 2 and 4 ranks, in shared memory and over tcp.
.PHONY: bench-torch
#: bench-torch       compare the backend of torch.distributed with Gloo
bench-torch: all torch
	@for wire in shm tcp; do GRADWIRE_LIBRARY=$(B)/libgradwire.so GRADWIRE_TORCH=$(B)/torch/_torch.so \
		PYTHONPATH=lib/python $(PYTHON) tests/bench/torch_speed.py --wire $$wire || exit; done

# With less optimisation compilers print false warnings.
SANITIZED = +@$(MAKE) --no-print-directory OPT="-O1 -g -Wno-error" B=$(B)/$@ run-$@
#:
#: asan tsan         run the tests with sanitizers
#: fuzz              run each fuzzer for FUZZ_SECONDS=20, FUZZ_JOBS=1 at a time
asan:
	$(SANITIZED) SAN="-fsanitize=address,undefined -fno-sanitize-recover=all"
tsan:
	$(SANITIZED) SAN=-fsanitize=thread
fuzz:
	$(SANITIZED) SAN=-fsanitize=address,undefined,fuzzer-no-link CC=clang
run-asan: SEEDS ?= 2000
run-asan: all $(SIMS) $(B)/pskills $(B)/unit
	$(TEST)
#: sim               simulate rings and servers (SEEDS=N schedules)
sim: $(SIMS)
	$(SIM_RING)
	$(SIM_TREES)
	$(SIM_RAFT)
	$(SIM_PS)
run-tsan: $(B)/unit
	$(TSAN) CK_DEFAULT_TIMEOUT=60 $(B)/unit
run-fuzz: $(FUZZERS)
	@.ci/fuzz $(FUZZ_SECONDS) $(FUZZ_JOBS) $(FUZZERS)

# The programs with which gradwire is compared.
PEERS := $(addprefix $(B)/bench/,openmpi mpich cost-openmpi cost-mpich gloo shm_ideal limits)
$(PEERS): tests/bench/peers/peer.h
	@mkdir -p $(@D)
	$(call say,cc,$@)$(PEER_CC) -O3 -D_GNU_SOURCE -o $@ $(filter-out %.h,$^) $(PEER_LIBS)
$(B)/bench/openmpi $(B)/bench/mpich: tests/bench/peers/mpi_coll.c
$(B)/bench/cost-openmpi $(B)/bench/cost-mpich: tests/bench/peers/mpi_cost.c | $(LIB_SO)
$(B)/bench/openmpi $(B)/bench/cost-openmpi: PEER_CC = mpicc.openmpi
$(B)/bench/mpich $(B)/bench/cost-mpich: PEER_CC = mpicc.mpich
$(B)/bench/cost-openmpi $(B)/bench/cost-mpich: PEER_LIBS = -Ilib/include -L$(B) -lgradwire -Wl,-rpath,$(abspath $(B))
$(B)/bench/gloo: tests/bench/peers/gloo_coll.cc
$(B)/bench/gloo: PEER_CC = g++
$(B)/bench/gloo: PEER_LIBS = -lgloo -lpthread
$(B)/bench/shm_ideal $(B)/bench/limits: $(B)/bench/%: tests/bench/peers/%.c
$(B)/bench/shm_ideal $(B)/bench/limits: PEER_CC = gcc -march=native

# The whole table, or GROUPS of it. Then a dozen rows that show a loss of speed, and
# the command that records their present speed as the limit.
BENCH_FILES = BENCH_JSON=$(or $(BENCH_JSON),$(B)/bench.jsonl) \
	BENCH_SVG=$(or $(BENCH_SVG),$(B)/bench.svg)
QUICK = ROUNDS=$(or $(ROUNDS),13) tests/bench/run.sh -b -r tests/bench/quick.expected
#:
#: bench             compare with Open MPI, MPICH and Gloo (GROUPS=... of rows)
#: bench-quick       fail if a row is 30 % slower; bench-quick-record sets the limit
bench: all $(BENCHES) $(PEERS)
	@$(BENCH_FILES) tests/bench/run.sh $(B) $(GROUPS)
bench-quick: all $(BENCHES) $(PEERS)
	@$(QUICK) -x 1.3 $(B)
bench-quick-record: all $(BENCHES) $(PEERS)
	@$(QUICK) -x 1.3 -w tests/bench/quick.expected $(B)

# Very many ranks, in virtual time: seconds and memory.
.PHONY: bench-scale
#: bench-scale       time the simulator with very many ranks
bench-scale: $(B)/collrun $(B)/bench/used
	@tests/bench/scale.sh $(B) $(OPS)

# The simulator of plans and SimGrid, if that is installed.
$(B)/bench/simgrid: tests/bench/peers/simgrid.cc $(LIB_A)
	@mkdir -p $(@D)
	$(call say,cc,$@)g++ -std=c++17 -O2 -Wall -Wextra $(SAN) -Ilib/include -o $@ $^ -lsimgrid $(LIB_LIBS)
.PHONY: check-simgrid
#: check-simgrid     compare the predictions of collrun sim with SimGrid's
check-simgrid:
	@if pkg-config --exists simgrid; then \
		$(MAKE) --no-print-directory B=$(B) $(B)/bench/simgrid && $(B)/bench/simgrid; \
	else echo "check-simgrid: skipped, SimGrid is not installed (Debian: libsimgrid-dev)"; fi

# ---- style and demonstration ----

#:
#: lint format       check the sources, format the C files
lint:
	@.ci/lint
	+@$(MAKE) --no-print-directory CC=clang B=$(B)/clang all $(B)/clang/unit
format:
	find cmd lib labs tests -name '*.[ch]' -o -name '*.cc' | xargs clang-format -i
#: demo              show a ring that breaks and goes on, in a minute
demo: all
	@RINGCTL=$(B)/ringctl RINGTOP=$(B)/ringtop labs/demo.sh
#: picture           record man/ringtop.svg again
picture: $(B)/ringctl $(B)/ringtop
	@RINGCTL=$(B)/ringctl RINGTOP=$(B)/ringtop labs/picture.sh man/ringtop.svg

# ---- installing ----

LIBDIR = $(PREFIX)/lib
SHARE = $(PREFIX)/share
# Debian's Python looks into python3 below /usr, and into its own version's folder
# below /usr/local.
PYTHONDIR ?= $(PREFIX)/lib/$(if $(filter /usr,$(PREFIX)),python3,$(shell python3 -c \
	'import sys; print("python%d.%d" % sys.version_info[:2])' 2>/dev/null || echo python3))/dist-packages
# from=to=mode
to = $(foreach f,$(1),$(f)=$(2)/$(notdir $(f))=$(3))
INSTALLED = $(call to,$(TOOLS:%=$(B)/%),$(PREFIX)/bin,755) \
	$(call to,$(LIB_A),$(LIBDIR),644) $(call to,$(LIB_SO) $(MPI_SO),$(LIBDIR),755) \
	$(call to,$(filter %mpirun,$(MPI_ALL)),$(PREFIX)/bin,755) \
	$(call to,$(B)/gradwire.pc,$(LIBDIR)/pkgconfig,644) \
	$(call to,$(wildcard lib/include/gradwire/*.h),$(PREFIX)/include/gradwire,644) \
	$(foreach s,1 3 5 7,$(call to,$(wildcard man/*.$(s)),$(SHARE)/man/man$(s),644)) \
	$(call to,$(wildcard lib/python/gradwire/*.py lib/python/gradwire/py.typed),$(PYTHONDIR)/gradwire,644) \
	$(call to,$(wildcard lib/python/gradwire/torch/*.py),$(PYTHONDIR)/gradwire/torch,644) \
	$(call to,$(wildcard $(B)/torch/_torch.so),$(PYTHONDIR)/gradwire/torch,755) \
	$(call to,$(TOOLS:%=$(B)/completion/%),$(SHARE)/bash-completion/completions,644) \
	$(call to,$(wildcard labs/plans/*.plan labs/plans/*.pipe),$(SHARE)/gradwire/plans,644) \
	$(call to,$(wildcard labs/nets/*.net),$(SHARE)/gradwire/nets,644) \
	$(call to,$(wildcard labs/plugins/*.c),$(SHARE)/gradwire/plugins,644) \
	$(call to,$(wildcard labs/programs/*),$(SHARE)/gradwire/programs,644) \
	$(call to,$(wildcard labs/topologies/*.topo),$(SHARE)/gradwire/topologies,644)
SO_LINKS = $(LIBDIR)/libgradwire.so.$(SOVERSION) $(LIBDIR)/libgradwire.so
# The labs with their folders. Their texts name the installed files.
LABS = $(SHARE)/gradwire/labs
LAB_FILES = (cd labs && find lab README* lib notebooks/*.ipynb data/get.sh data/karate.* [0-9]* -type f)
LAB_LINKS = $(patsubst %,$(LABS)/%,nets plans plugins programs topologies)
LAB_TEXTS = find $(addprefix $(DESTDIR)$(SHARE)/gradwire/,labs programs plugins) -type f '(' -name '*.md' \
	-o -name hints.txt -o -name predict.txt -o -name get.sh -o -path '*/exercise/*' \
	-o -path '*/solution/*' -o -path '*/programs/*' -o -path '*/plugins/*' ')'
field = $(word $(1),$(subst =, ,$(2)))

$(B)/gradwire.pc: .ci/gradwire.pc always
	@sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|; s|@LIBS@|$(LIB_LIBS)|' $< >$@

$(B)/installed.sed: .ci/installed.sed always
	@sed 's|@LABS@|$(LABS)|; s|@INCLUDE@|$(PREFIX)/include|' $< >$@

$(B)/completion/%: $(B)/%
	@mkdir -p $(@D)
	$< completion bash >$@

#: install uninstall install in PREFIX=/usr/local (under DESTDIR), or remove
install: all $(B)/gradwire.pc $(B)/installed.sed $(TOOLS:%=$(B)/completion/%)
	@$(foreach f,$(INSTALLED),install -D -m $(call field,3,$(f)) $(call field,1,$(f)) \
		$(DESTDIR)$(call field,2,$(f)) &&) true
	@$(foreach l,$(SO_LINKS),ln -sf $(notdir $(LIB_SO)) $(DESTDIR)$(l) &&) true
	@mkdir -p $(DESTDIR)$(LABS)
	@$(LAB_FILES) | tar -C labs -cf - --mode=u=rwX,go=rX -T - | tar -C $(DESTDIR)$(LABS) -xf - --no-same-owner
	@$(foreach l,$(LAB_LINKS),ln -sfn ../$(notdir $(l)) $(DESTDIR)$(l) &&) true
	@$(LAB_TEXTS) | xargs sed -i -f $(B)/installed.sed
	@test -n "$(DESTDIR)" || ldconfig 2>/dev/null || true
uninstall:
	rm -f $(addprefix $(DESTDIR),$(foreach f,$(INSTALLED),$(call field,2,$(f))) $(SO_LINKS) $(LAB_LINKS) \
		$(PREFIX)/bin/gradwire-mpirun $(foreach m,openmpi mpich,$(LIBDIR)/libgradwire-mpi-$(m).so))
	-@$(LAB_FILES) | (cd $(DESTDIR)$(LABS) && xargs rm -f)
	-@rm -rf $(DESTDIR)$(PYTHONDIR)/gradwire
	-@find $(DESTDIR)$(PREFIX)/include/gradwire $(DESTDIR)$(SHARE)/gradwire -depth -type d -empty -delete

#: deps              install the packages that the build needs, on Debian or Ubuntu
deps:
#: clean help        remove build/; print this list
clean:
	rm -rf $(B)
help:
	@sed -n 's/^#: \{0,1\}//p' Makefile

-include $(shell find $(wildcard $(addprefix $(B)/,cmd lib mpi-* scale tests)) /dev/null -name '*.d')
.PHONY: all always asan bench bench-quick bench-quick-record check check-all check-arm64 check-bare check-busy check-deb check-k8s check-model check-mpi check-net check-portable check-repeat check-slurm check-verbs clean demo deps format fuzz help install lint \
	picture run-asan run-fuzz run-tsan sim tsan uninstall
