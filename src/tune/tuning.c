/* tuning.c - see tuning.h. */
#include "tune/tuning.h"

kb_tuning kb_tuning_begin(const kb_config *given) {
    return (kb_tuning){.given = given, .plan = {.config = *given}, .began = kb_seconds()};
}

void kb_tuning_release(kb_context *ctx, kb_tuning *tuning) {
    kb_plan_release(ctx, &tuning->plan);
    kb_release(ctx, tuning->trial);
    *tuning = (kb_tuning){0};
}

kb_status kb_tuning_note(kb_context *ctx, kb_tuning *tuning, const kb_trial_info *trial) {
    kb_status status;
    TRY(kb_reserve(ctx, tuning->count + 1, sizeof *trial, &tuning->room, &tuning->trial));
    tuning->trial[tuning->count] = *trial;
    tuning->trial[tuning->count++].seconds = kb_seconds() - tuning->began;
done:
    return status;
}

int kb_tuning_is_late(const kb_tuning *tuning, double share) {
    return kb_seconds() - tuning->began > share * tuning->given->budget;
}
