/* SPDX-License-Identifier: MIT
 *
 * The registry's answers as bytes; see command.h.
 */
#include "command.h"

enum { VERSION = 4, CODE_BIAS = 128 };

size_t gw__answer_encode(const struct gw__answer *answer,
                         uint8_t out[GW__ANSWER_BYTES_MAX])
{
    struct gw__writer w = gw__writer_on(out, GW__ANSWER_BYTES_MAX);
    gw__put_u8(&w, VERSION);
    gw__put_u8(&w, (unsigned)(answer->code + CODE_BIAS));
    gw__put_u64(&w, answer->epoch);
    gw__put_u16(&w, answer->node);
    gw__put_u8(&w, answer->table);
    gw__put_text(&w, answer->text);
    return w.used;
}

enum gw_err gw__answer_decode(const void *data, size_t bytes,
                              struct gw__answer *answer, struct gw_error *why)
{
    struct gw__reader r = gw__reader_on(data, bytes);
    gw__reader_demand(&r, gw__get_u8(&r) == VERSION);
    *answer = (struct gw__answer){
        .code = (enum gw_err)((int)gw__get_u8(&r) - CODE_BIAS)};
    answer->epoch = gw__get_u64(&r);
    answer->node = gw__get_u16(&r);
    answer->table = gw__get_u8(&r);
    gw__get_text(&r, answer->text, sizeof answer->text);
    if (gw__reader_done(&r))
        return GW_OK;
    *answer = (struct gw__answer){.code = GW_EDATA};
    return gw_fail(why, GW_EDATA, "malformed answer of %zu bytes", bytes);
}
