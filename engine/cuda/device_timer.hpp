#pragma once
// Times work on several GPUs by events, while their streams are held until all of the work is enqueued.
#include <functional>
#include <optional>

#include "engine/cuda/vector_ops.hpp"
#include "engine/sync/processes.hpp"

namespace lockstep::cuda {

/// Implements device::Backend::device_seconds().
///
/// One GPU's stream is held (hold.hpp) and the others wait for it by an event, so that all start within microseconds.
/// Each does `work` once before its first event, because a collective aligns GPUs and processes better than a hold
/// does. The processes release their holds together. If a hold expires in one process, none returns a time.
std::optional<double> device_seconds(CudaVectorOps& ops, sync::Processes& processes, const std::function<void()>& work,
                                     int repeats);

}  // namespace lockstep::cuda
