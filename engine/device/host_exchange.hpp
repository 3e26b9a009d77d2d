#pragma once
// Backend::exchange() of the host: threads within a process, MPI collectives between processes.
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/device/backend.hpp"
#include "engine/device/executor.hpp"
#include "engine/sync/processes.hpp"

namespace lockstep::device {

class HostExchange {
 public:
  /// Exchanges between `devices` devices of each process. Executor and processes must outlive this object.
  HostExchange(int devices, Executor& executor, sync::Processes& processes)
      : devices_(devices), executor_(executor), processes_(processes) {}
  /// As Backend::exchange(). Throws std::invalid_argument for buffers of the wrong number or size.
  void run(Collective collective, std::int64_t n, const std::vector<const float*>& send,
           const std::vector<float*>& receive);

 private:
  void within(Collective collective, std::int64_t n, const std::vector<const float*>& send,
              const std::vector<float*>& receive);
  void over_processes(Collective collective, std::int64_t n, const std::vector<const float*>& send,
                      const std::vector<float*>& receive);
  /// MPI needs contiguous data per process, both sent and received.
  void all_to_all(std::int64_t part, const std::vector<const float*>& send, const std::vector<float*>& receive);
  const float* sum_here(std::int64_t n, const std::vector<const float*>& send);
  const float* side_by_side(std::int64_t part, const std::vector<const float*>& send);
  void copy_to_others(std::int64_t n, const std::vector<float*>& receive);
  void for_devices(const std::function<void(int device)>& task);

  int devices_;
  Executor& executor_;
  sync::Processes& processes_;
  std::vector<float> sent_, received_;  ///< hold the data of all devices for MPI
};

}  // namespace lockstep::device
