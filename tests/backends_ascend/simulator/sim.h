/* How tests steer the simulated ACL runtime and look into it; exported by libascendcl.so beside the
 * ACL calls. A child process is steered by variables: ASCEND_SIM_SOCS (a list, one a device),
 * ASCEND_SIM_FAIL (function:nth:code), ASCEND_SIM_LATENCY_US. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* The nth call of the function from now on, counted from 1, returns the code. 0: none does. */
void sim_fail(const char* function, int nth, int code);
/* Every task of a stream waits this long before it runs. */
void sim_latency_us(long microseconds);
/* Calls of one function since the start of the process. */
long sim_calls(const char* function);
/* What a correct program never does, one line each: lost launches, writes beyond an allocation,
 * unloading what still runs. Empty where all was well; the text lives until the next call. */
const char* sim_violations(void);
/* 1: a mix kernel is only found by the name of one of its halves. */
void sim_names_are_halves(int is_so);
/* 1: the attributes of newer releases are unknown. */
void sim_is_old(int is_so);

#ifdef __cplusplus
}
#endif
