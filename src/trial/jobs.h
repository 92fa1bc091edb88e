/*
 * jobs.h - trials that do not depend on each other, side by side.
 *
 * A job is done at the latest when it is taken.  Where there are threads enough, some jobs are done
 * ahead of that, each on a part of the threads.  Whoever takes the jobs follows the same rule in
 * either case, so a job that was done ahead in vain changes nothing, and no result depends on the
 * number of threads.
 *
 * Ranks that work as one process alone (kb_ranks_leave) have the same jobs.  So each does others of
 * those that are done ahead, and they exchange the results.
 */
#ifndef KB_TRIAL_JOBS_H
#define KB_TRIAL_JOBS_H

#include "ranks/parcel.h"

typedef struct kb_job {
    kb_status (*run)(kb_context *ctx, void *arg); /* what it made before it failed is released */
    void *arg;
    kb_status (*carry)(kb_parcel *parcel, void *arg); /* what it made, if it did not fail */
    int done;                                         /* the rest is that of jobs.c */
    kb_status status;
    char message[sizeof((kb_context *)0)->message];
} kb_job;

/* Does some of the jobs, NULL among them left out: the first ones, as many as leave each at least
 * `threads` threads; none if that is only one.  A job that finds too little memory beside the
 * others counts as not done.  Among ranks as many as that on all of them together, and one for each
 * at least; their calls must be the same.  KB_ERR_CANCELLED if the caller wants to stop; no failure
 * of a job. */
kb_status kb_jobs_ahead(kb_context *ctx, int threads, size_t count, kb_job *const *job);

/* Does the job with all threads unless it is done, and returns what it returned. */
kb_status kb_job_take(kb_context *ctx, kb_job *job);

#endif
