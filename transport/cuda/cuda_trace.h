/*  transport/cuda/cuda_trace.h - writes the calls of CUDA's driver to a file, for a fault that is examined
 *  on another machine.
 *
 *  $TUNDISH_CUDA_TRACE names the file, which is appended to; without it nothing is written.  A call has
 *  two lines, so that one that does not return is seen:
 *
 *      12.345678 4711 cuEventQuery
 *      12.345681 4711 cuEventQuery = 600
 *
 *  Seconds of the monotonic clock, the thread, the call, its result.  Each line is one write, so lines of
 *  several threads do not mix, and a process that dies has written all of them.
 *
 *  Threads: any. */
#ifndef TND_TRANSPORT_CUDA_CUDA_TRACE_H
#define TND_TRANSPORT_CUDA_CUDA_TRACE_H

#include "transport/cuda/cuda_driver.h"

/*  Before and after a call. */
void tnd_cuda_trace_call(tnd_cuda_call_t call);
void tnd_cuda_trace_result(tnd_cuda_call_t call, CUresult result);

#endif
