# SPDX-License-Identifier: MIT
#
# The unit tests that depend most on the processor, for arm64: base, plan,
# event, the reductions and the kernels of lib/learn and lib/ps. check.sh sets
# B, the folder for objects, and ROOT, the folder with Check for arm64.
CC := aarch64-linux-gnu-gcc
SUITES := base event event_chrome circulant algo_allreduce algo_gather_scatter algo_rooted \
	$(patsubst tests/unit/test_%.c,%,$(filter-out %_added.c %_scratch.c,$(wildcard tests/unit/test_plan_*.c))) \
	$(patsubst tests/unit/test_%.c,%,$(wildcard tests/unit/test_reduction*.c)) \
	tensor learn_nan ps_update
LIB := $(wildcard lib/base/*.c lib/event/*.c lib/plan/*.c lib/plan/formats/*.c lib/plan/algo/*.c lib/plan/algo/*/*.c) \
	$(wildcard lib/coll/reduce/*.c) lib/coll/types.c lib/coll/call.c lib/pipe/schedule/schedule.c \
	$(wildcard lib/ps/store/update*.c) lib/ps/store/half.c lib/ps/client/filter.c lib/ps/mode.c \
	$(addprefix lib/learn/,data/dataset.c gradient.c data/dataset_builder.c kernels.c data/libsvm.c \
	data/libsvm_row.c model.c data/number.c parallel/optimiser.c \
	network/tensor.c network/tensor_rows.c words/word2vec_any.c words/word2vec_train.c) \
	$(wildcard lib/learn/network/product*.c)
UNIT := $(SUITES:%=tests/unit/test_%.c) tests/unit/main.c tests/unit/must.c
OBJECTS := $(patsubst %.c,$(B)/%.o,$(LIB) $(wildcard $(UNIT)))

$(B)/unit: $(OBJECTS)
	@echo "  ld  $@"
	@$(CC) -o $@ $^ -L$(ROOT)/usr/lib/aarch64-linux-gnu -lcheck -lsubunit -ljansson -lexpat -lm -pthread

# Headers of libraries are in a folder of their own, since /usr/include has
# those of this machine.
$(B)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  cc  $<"
	@$(CC) -std=gnu11 -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -Ilib/include -Ilib -Itests/unit \
		-isystem $(ROOT)/usr/include -I$(B) -MMD -MP -c -o $@ $<

$(B)/tests/unit/main.o: $(B)/unit_suites.h
$(B)/unit_suites.h: tests/arm64/unit.mk
	@mkdir -p $(@D)
	@for suite in $(SUITES); do echo "SUITE($$suite)"; done >$@

-include $(OBJECTS:.o=.d)
