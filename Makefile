# gradwire: one Makefile, no recursion; sources are found by folder.
VERSION := 0.1.0
SOVERSION := 0
B ?= build
CC ?= gcc
AR ?= ar
CSTD := -std=gnu11
WARN := -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wcast-qual \
	-Wwrite-strings -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wformat=2 -Wundef -Wvla -Wdouble-promotion \
	-Wimplicit-fallthrough -Wpointer-arith
OPT ?= -O2 -g
PC := libzmq jansson smartcols
CPPFLAGS += -D_GNU_SOURCE -Ilib/include -Ilib -Icmd $(shell pkg-config --cflags $(PC) 2>/dev/null)
CFLAGS += $(CSTD) $(WARN) $(OPT) -fvisibility=hidden -fPIC -pthread $(SAN)
LDFLAGS += $(SAN)
LDLIBS += $(shell pkg-config --libs $(PC) 2>/dev/null) -lm -pthread

LIB_SRC := $(sort $(wildcard lib/*/*.c lib/*/*/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o)
COMMON_SRC := $(sort $(wildcard cmd/common/*.c))
COMMON_OBJ := $(COMMON_SRC:%.c=$(B)/%.o)
TOOLS := $(filter-out common,$(notdir $(patsubst %/,%,$(sort $(wildcard cmd/*/)))))
UNIT_SRC := $(sort $(wildcard tests/unit/*.c))

all: $(B)/libgradwire.a $(TOOLS:%=$(B)/%)

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/libgradwire.a: $(LIB_OBJ)
	rm -f $@ && $(AR) rcs $@ $^

define TOOL
$(B)/$(1): $(patsubst %.c,$(B)/%.o,$(sort $(wildcard cmd/$(1)/*.c))) $(COMMON_OBJ) $(B)/libgradwire.a
	$$(CC) $$(LDFLAGS) -o $$@ $$^ $$(LDLIBS)
endef
$(foreach t,$(TOOLS),$(eval $(call TOOL,$(t))))

clean:
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
.PHONY: all clean
