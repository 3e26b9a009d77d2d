#include "engine/cuda/communicator.hpp"

#include <cuda.h>

#include <algorithm>

namespace lockstep::cuda {
namespace {

void check_nccl(ncclResult_t result, const std::string& call) {
  if (result == ncclSuccess) return;
  fail(call, std::string(ncclGetErrorString(result)) + " (" + ncclGetLastError(nullptr) + ")");
}

/// Returns a function of the driver's library by the runtime's name for it; null if the driver lacks that version.
template <typename Function>
Function of_driver(const char* name, unsigned version) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found);
#else
  static_cast<void>(version);
  const cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
  if (error == cudaSuccess && found == cudaDriverEntryPointSuccess) return reinterpret_cast<Function>(function);
  forget_cuda_error();
  return nullptr;
}

/// Asks the driver. The runtime has no name for this attribute and does not document that it passes unknown ones on.
bool can_multicast(int gpu) {
  using GetDevice = CUresult (*)(CUdevice*, int);
  using GetAttribute = CUresult (*)(int*, CUdevice_attribute, CUdevice);
  const auto get_device = of_driver<GetDevice>("cuDeviceGet", 2000);
  const auto get_attribute = of_driver<GetAttribute>("cuDeviceGetAttribute", 2000);
  CUdevice device = 0;
  int can = 0;
  return get_device != nullptr && get_attribute != nullptr && get_device(&device, gpu) == CUDA_SUCCESS &&
         get_attribute(&can, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, device) == CUDA_SUCCESS && can != 0;
}

/// Whether NVSwitches can reduce for these ranks. NCCL uses them from three GPUs on. All processes get the same answer.
bool can_switches_reduce(const std::vector<int>& gpus, std::size_t ranks, sync::Processes& processes) {
  const bool lacks_them = !std::all_of(gpus.begin(), gpus.end(), can_multicast);
  return sync::largest(processes, lacks_them ? 1 : 0) == 0 && ranks > 2;
}

ncclDataType_t type_of(device::Precision element) {
  if (element == device::Precision::fp16) return ncclHalf;
  return element == device::Precision::bf16 ? ncclBfloat16 : ncclFloat;
}

/// Groups the calls that one thread makes for several ranks. If a call throws, the group ends with the scope. Otherwise
/// later calls would join it and never start.
class Group {
 public:
  Group() { check_nccl(ncclGroupStart(), "ncclGroupStart"); }
  ~Group() {
    if (is_open_) ncclGroupEnd();
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  void end(const std::string& of) {
    is_open_ = false;
    check_nccl(ncclGroupEnd(), "ncclGroupEnd of " + of);
  }

 private:
  bool is_open_ = true;
};

}  // namespace

Communicator::Communicator(const std::vector<int>& gpus, sync::Processes& processes)
    : gpus_(gpus),
      all_(gpus.size() * static_cast<std::size_t>(processes.count())),
      before_(gpus.size() * static_cast<std::size_t>(processes.rank())),
      ranks_(gpus.size(), nullptr),
      can_switches_reduce_(can_switches_reduce(gpus, all_, processes)) {
  ncclUniqueId id{};
  const OnDevice on_first(gpus_.front());  // NCCL initialises on the current device
  if (processes.rank() == 0) check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  processes.broadcast(sizeof(id), &id);
  // One thread initialises several ranks. Without the group, the first would wait for the others for ever.
  Group group;
  for (std::size_t d = 0; d < gpus_.size(); ++d) {
    const OnDevice on_device(gpus_[d]);
    const int rank = static_cast<int>(before_ + d);
    check_nccl(ncclCommInitRank(&ranks_[d], static_cast<int>(all_), id, rank),
               "ncclCommInitRank, rank " + std::to_string(rank) + " of " + std::to_string(all_));
  }
  group.end("ncclCommInitRank");
}

Communicator::~Communicator() {
  for (ncclComm_t rank : ranks_) {
    if (rank != nullptr) ncclCommDestroy(rank);
  }
}

void Communicator::all_reduce(std::int64_t n, device::Precision element, const std::vector<void*>& buffers,
                              const std::vector<cudaStream_t>& streams) {
  const std::string what = "ncclAllReduce of " + std::to_string(n) + " numbers, " + to_string(element);
  Group group;
  for (std::size_t d = 0; d < ranks_.size(); ++d) {
    const OnDevice on_device(gpus_[d]);
    check_nccl(ncclAllReduce(buffers[d], buffers[d], static_cast<std::size_t>(n), type_of(element), ncclSum, ranks_[d],
                             streams[d]),
               what);
  }
  group.end(what);
}

void Communicator::all_average(std::int64_t n, const std::vector<const float*>& send,
                               const std::vector<float*>& receive, const std::vector<cudaStream_t>& streams) {
  const std::string what = "ncclAllReduce to the mean of " + std::to_string(n) + " floats";
  Group group;
  for (std::size_t d = 0; d < ranks_.size(); ++d) {
    const OnDevice on_device(gpus_[d]);
    check_nccl(
        ncclAllReduce(send[d], receive[d], static_cast<std::size_t>(n), ncclFloat, ncclAvg, ranks_[d], streams[d]),
        what);
  }
  group.end(what);
}

// Part sizes differ by one, which NCCL's reduce-scatter and all-gather do not support.
void Communicator::average_parts(std::int64_t n, const std::vector<const float*>& send,
                                 const std::vector<float*>& receive, const std::vector<cudaStream_t>& streams) {
  Group group;
  for (std::size_t d = 0; d < ranks_.size(); ++d) {
    const OnDevice on_device(gpus_[d]);
    for (std::size_t root = 0; root < all_; ++root) {
      const sync::Part part = sync::part_of(n, static_cast<int>(root), static_cast<int>(all_));
      check_nccl(ncclReduce(send[d] + part.begin, receive[d], static_cast<std::size_t>(part.count), ncclFloat, ncclAvg,
                            static_cast<int>(root), ranks_[d], streams[d]),
                 "ncclReduce");
    }
  }
  group.end("ncclReduce of every part of " + std::to_string(n) + " floats");
}

void Communicator::share_parts(std::int64_t n, const std::vector<float*>& buffers,
                               const std::vector<cudaStream_t>& streams) {
  Group group;
  for (std::size_t d = 0; d < ranks_.size(); ++d) {
    const OnDevice on_device(gpus_[d]);
    for (std::size_t root = 0; root < all_; ++root) {
      const sync::Part part = sync::part_of(n, static_cast<int>(root), static_cast<int>(all_));
      float* const at = buffers[d] + part.begin;
      check_nccl(ncclBroadcast(at, at, static_cast<std::size_t>(part.count), ncclFloat, static_cast<int>(root),
                               ranks_[d], streams[d]),
                 "ncclBroadcast");
    }
  }
  group.end("ncclBroadcast of every part of " + std::to_string(n) + " floats");
}

void Communicator::exchange(device::Collective collective, device::Precision element, std::int64_t n,
                            const std::vector<const void*>& send, const std::vector<void*>& receive,
                            const std::vector<cudaStream_t>& streams) {
  Group group;
  for (std::size_t d = 0; d < ranks_.size(); ++d) {
    const OnDevice on_device(gpus_[d]);
    exchange_of_rank(collective, element, static_cast<std::size_t>(n), {d, send[d], receive[d], streams[d]});
  }
  group.end(to_string(collective));
}

void Communicator::exchange_of_rank(device::Collective collective, device::Precision element, std::size_t n,
                                    const OfRank& rank) {
  const std::size_t part = n / all_;
  const std::size_t part_bytes = part * static_cast<std::size_t>(element_bytes(element));
  const ncclDataType_t type = type_of(element);
  const ncclComm_t comm = ranks_[rank.own];
  const cudaStream_t stream = rank.stream;
  switch (collective) {
    case device::Collective::all_reduce:
      return check_nccl(ncclAllReduce(rank.send, rank.receive, n, type, ncclSum, comm, stream), "ncclAllReduce");
    case device::Collective::reduce:
      return check_nccl(ncclReduce(rank.send, rank.receive, n, type, ncclSum, 0, comm, stream), "ncclReduce");
    case device::Collective::broadcast:
      return check_nccl(ncclBroadcast(rank.send, rank.receive, n, type, 0, comm, stream), "ncclBroadcast");
    case device::Collective::reduce_scatter:
      return check_nccl(ncclReduceScatter(rank.send, rank.receive, part, type, ncclSum, comm, stream),
                        "ncclReduceScatter");
    case device::Collective::all_gather:
      return check_nccl(ncclAllGather(rank.send, rank.receive, part, type, comm, stream), "ncclAllGather");
    case device::Collective::all_to_all:
      for (std::size_t peer = 0; peer < all_; ++peer) {
        const auto* from = static_cast<const char*>(rank.send) + peer * part_bytes;
        auto* to = static_cast<char*>(rank.receive) + peer * part_bytes;
        check_nccl(ncclSend(from, part, type, static_cast<int>(peer), comm, stream), "ncclSend");
        check_nccl(ncclRecv(to, part, type, static_cast<int>(peer), comm, stream), "ncclRecv");
      }
      return;
  }
}

}  // namespace lockstep::cuda
