#pragma once
// Times work of several GPUs by their events, while all of them are held back until it is enqueued.
#include <functional>
#include <optional>

#include "engine/cuda/vector_ops.hpp"
#include "engine/sync/processes.hpp"

namespace lockstep::cuda {

/// device::Backend::device_seconds().
///
/// One GPU's stream is held (hold.hpp); the others wait for it by an event, so that all begin within microseconds of
/// each other. Each then does `work` once before its first event: a collective brings GPUs, and processes, in step
/// better than any gate does. The processes let go together, and none has a time where the hold has lapsed in one.
std::optional<double> device_seconds(CudaVectorOps& ops, sync::Processes& processes, const std::function<void()>& work,
                                     int repeats);

}  // namespace lockstep::cuda
