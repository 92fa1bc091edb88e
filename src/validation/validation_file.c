/* validation_file.c - see validation_file.h. */
#include "validation/validation_file.h"

#include <math.h>

/* The numbers that may be there, each a member of the object. */
typedef struct member {
    const char *name;
    double *at;
} member;

enum { MEMBERS = 8 };

static void members_of(kb_expected *e, member *m) {
    const member all[MEMBERS] = {{"error", &e->error},
                                 {"error_low", &e->error_low},
                                 {"error_high", &e->error_high},
                                 {"log_loss", &e->log_loss},
                                 {"rmse", &e->rmse},
                                 {"rmse_low", &e->rmse_low},
                                 {"rmse_high", &e->rmse_high},
                                 {"r2", &e->r2}};
    for (int i = 0; i < MEMBERS; i++)
        m[i] = all[i];
}

json_t *kb_expected_describe(const kb_expected *e) {
    kb_expected copy = *e;
    member m[MEMBERS];
    json_t *json = json_pack("{s:I, s:I, s:I}", "rows", (json_int_t)e->rows, "learned",
                             (json_int_t)e->learned, "folds", (json_int_t)e->folds);
    members_of(&copy, m);
    for (int i = 0; json && i < MEMBERS; i++)
        if (isfinite(*m[i].at) && json_object_set_new(json, m[i].name, json_real(*m[i].at))) {
            json_decref(json);
            json = NULL;
        }
    return json;
}

static size_t size_at(const json_t *json, const char *key) {
    json_int_t n = json_integer_value(json_object_get(json, key));
    return n < 0 ? 0 : (size_t)n;
}

int kb_expected_read(const json_t *json, int classes, kb_expected *out) {
    member m[MEMBERS];
    *out = KB_EXPECTED_NONE;
    if (!json)
        return 1;
    members_of(out, m);
    out->rows = size_at(json, "rows");
    out->learned = size_at(json, "learned");
    out->folds = size_at(json, "folds");
    for (int i = 0; i < MEMBERS; i++)
        if (json_object_get(json, m[i].name))
            *m[i].at = json_number_value(json_object_get(json, m[i].name));
    return out->rows > 0 && (classes ? out->error >= 0 && out->error <= 1 : out->rmse >= 0);
}
