/*
 * rule.cuh - a model on the device, and its decisions: kb_gpu_rule.
 */
#ifndef KB_CUDA_RULE_H
#define KB_CUDA_RULE_H

#include "bins.cuh"

kb_device_result kb_rule_create(kb_gpu *gpu, const kb_gpu_model *model, size_t rows,
                                kb_gpu_rule **out);
void kb_rule_free(kb_gpu_rule *rule);
kb_device_result kb_rule_decide(kb_gpu_rule *rule, size_t rows, const double *x, double *decision,
                                double *known);

#endif
