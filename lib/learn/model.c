/* SPDX-License-Identifier: MIT
 *
 * The parameters of a linear model and the step of stochastic gradient descent.
 * Every rank has all of them and takes the same step on the same sums, so they
 * stay equal, bit by bit, without communication. Continue with gradient.c.
 */
#include <gradwire/learn.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    [GW_MODEL_LR] = "lr",
    [GW_MODEL_SOFTMAX] = "softmax",
};

enum { MODEL_KINDS = sizeof names / sizeof *names };

const char *gw_model_name(enum gw_model_kind kind)
{
    return (unsigned)kind < MODEL_KINDS ? names[kind] : "?";
}

enum gw_err gw_model_parse(const char *name, enum gw_model_kind *kind,
                           struct gw_error *why)
{
    for (unsigned i = 0; i < MODEL_KINDS; i++)
        if (strcmp(name, names[i]) == 0) {
            *kind = (enum gw_model_kind)i;
            return GW_OK;
        }
    return gw_fail(why, GW_EINVAL, "\"%s\" is not a model; use lr or softmax",
                   name);
}

static enum gw_err check_labels(enum gw_model_kind kind,
                                const struct gw_dataset *data,
                                struct gw_error *why)
{
    if (data->class_count < 2)
        return gw_fail(
            why, GW_EDATA,
            "every row has the label %g; training needs at least two labels",
            data->classes[0]);
    if (kind == GW_MODEL_LR && data->class_count != 2)
        return gw_fail(
            why, GW_EDATA,
            "lr needs two labels, but there are %u (%g, %g, %g%s); use softmax",
            data->class_count, data->classes[0], data->classes[1],
            data->classes[2], data->class_count > 3 ? ", ..." : "");
    return GW_OK;
}

enum gw_err gw_model_new(enum gw_model_kind kind, const struct gw_dataset *data,
                         struct gw_model **model, struct gw_error *why)
{
    *model = NULL;
    enum gw_err code = check_labels(kind, data, why);
    if (code)
        return code;
    unsigned outputs = kind == GW_MODEL_LR ? 1 : data->class_count;
    size_t count = (data->features + 1) * outputs;
    if (count > GW_PARAMETERS_MAX)
        return gw_fail(why, GW_EINVAL,
                       "%zu features and %u outputs need %zu parameters; a "
                       "model can have at most %d",
                       data->features, outputs, count, GW_PARAMETERS_MAX);
    struct gw_model *made = calloc(1, sizeof *made);
    if (!made)
        return gw_fail(why, GW_ENOMEM, "a model");
    made->kind = kind;
    made->features = data->features;
    made->outputs = outputs;
    made->parameter_count = count;
    made->parameters = calloc(count, sizeof *made->parameters);
    made->velocity = calloc(count, sizeof *made->velocity);
    if (!made->parameters || !made->velocity) {
        gw_model_destroy(&made);
        return gw_fail(why, GW_ENOMEM, "a model of %zu parameters", count);
    }
    *model = made;
    return GW_OK;
}

void gw_model_destroy(struct gw_model **model)
{
    if (!*model)
        return;
    free((*model)->parameters);
    free((*model)->velocity);
    free(*model);
    *model = NULL;
}

uint64_t gw_model_digest(const struct gw_model *model)
{
    return gw_hash(model->parameters,
                   model->parameter_count * sizeof *model->parameters, 0);
}

double gw_model_norm2(const struct gw_model *model)
{
    double sum = 0;
    for (size_t i = 0; i < model->features * model->outputs; i++) {
        double weight = (double)model->parameters[i];
        sum += weight * weight;
    }
    return sum;
}

bool gw_model_step(struct gw_model *model, const struct gw_sgd *sgd,
                   const float *gradient, size_t row_count)
{
    size_t weights = model->features * model->outputs;
    double share = 1 / (double)row_count;
    bool finite = true;
    for (size_t i = 0; i < model->parameter_count; i++) {
        double parameter = (double)model->parameters[i];
        double slope = (double)gradient[i] * share;
        if (i < weights)
            slope += sgd->l2 * parameter;
        double velocity = sgd->momentum * (double)model->velocity[i] + slope;
        model->velocity[i] = (float)velocity;
        model->parameters[i] = (float)(parameter - sgd->rate * velocity);
        finite &= isfinite(model->parameters[i]) != 0;
    }
    return finite;
}
