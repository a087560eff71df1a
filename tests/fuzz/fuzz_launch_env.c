/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the environment that a launcher gives to a rank: lines of NAME=VALUE.
 * It is refused with an error, or it is a place: the rank is below the size,
 * every field is a string, and a second reading gives the same.
 *
 *     clang -fsanitize=fuzzer,address,undefined ...
 *     tests/fuzz/fuzz_launch_env.c
 */
#include <gradwire/launch.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void check_launch_env(const struct gw_launch_env *env)
{
    char text[GW_LAUNCH_TEXT_BYTES], interface[GW_LAUNCH_TEXT_BYTES];
    struct gw_error why = {.code = GW_OK};
    /* A wire inside the host, which needs no look at the network. */
    struct gw_comm_config config = {.wire = "shm"};
    expect(env->size > 0 && env->rank < env->size);
    for (enum gw_launch_env_field f = 0; f < GW_LAUNCH_FIELD_COUNT; f++) {
        memset(text, 'x', sizeof text);
        gw_launch_env_value(env, f, text);
        expect(text[0] && memchr(text, 0, sizeof text) != NULL);
    }
    if (gw_launch_config(env, &config, interface, &why))
        expect(why.text[0]);
    else
        expect(config.rank == env->rank && config.size == env->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    enum { MOST = 64 };
    const char *environment[MOST + 1] = {NULL};
    static struct gw_launch_env env, again;
    struct gw_error why = {.code = GW_OK};
    char *text = malloc(size + 1);
    expect(text != NULL);
    memcpy(text, bytes, size);
    text[size] = 0;
    char *at = text;
    for (unsigned i = 0; i < MOST && *at; i++) {
        size_t length = strcspn(at, "\n");
        bool last = at[length] == 0;
        at[length] = 0;
        environment[i] = at;
        at += length + !last;
    }
    memset(&env, 0, sizeof env);
    memset(&again, 0, sizeof again);
    enum gw_err err = gw_launch_env_read(environment, &env, &why);
    expect(err == gw_launch_env_read(environment, &again, NULL));
    expect(memcmp(&env, &again, sizeof env) == 0);
    if (err)
        expect(why.text[0]);
    else
        check_launch_env(&env);
    free(text);
    return 0;
}
