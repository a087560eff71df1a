/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the LibSVM reader: any bytes give either a complete data set or an
 * error with a position.
 */
#include <gradwire/learn.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void check_whole(const struct gw_dataset *data)
{
    expect(data->rows > 0 && data->class_count > 0);
    expect(data->row_begin[0] == 0);
    expect(data->row_begin[data->rows] == data->nonzeros);
    for (size_t row = 0; row < data->rows; row++) {
        expect(data->row_begin[row] <= data->row_begin[row + 1]);
        expect(data->label[row] < data->class_count);
    }
    for (size_t i = 0; i < data->nonzeros; i++)
        expect(data->index[i] < data->features && isfinite(data->value[i]));
    for (unsigned i = 1; i < data->class_count; i++)
        expect(data->classes[i - 1] < data->classes[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    for (int base = GW_BASE_AUTO; base <= GW_BASE_1; base++) {
        struct gw_dataset *data;
        struct gw_error why = {.code = GW_OK};
        enum gw_err code = gw_libsvm_parse(
            bytes, size, "fuzz", (enum gw_index_base)base, &data, &why);
        if (code) {
            expect(!data && code == why.code && code == GW_EDATA);
            expect(strncmp(why.text, "fuzz:", 5) == 0);
            continue;
        }
        check_whole(data);
        gw_dataset_destroy(&data);
    }
    return 0;
}
