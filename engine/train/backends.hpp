#pragma once
// The device that a run asks for.
#include <memory>
#include <string>

#include "engine/train/options.hpp"

namespace lockstep::train {

/// `device` is host or cuda; `threads` of the host, 0: one per core. Throws std::runtime_error in one line where cuda
/// cannot be had.
std::unique_ptr<device::Backend> make_backend(const std::string& device, int gpus, int threads);
std::unique_ptr<device::Backend> make_backend(const Settings& settings);

}  // namespace lockstep::train
