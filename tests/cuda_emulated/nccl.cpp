// NCCL for the emulated devices of one process: sums and means that start when all ranks have called. Half precision is
// summed as floats and rounded once.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <nccl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/cuda_emulated/absent.hpp"
#include "tests/cuda_emulated/emulated.hpp"
#include "tests/cuda_emulated/knobs.hpp"

std::atomic<emulated::Absent> emulated::absent{emulated::Absent::none};
std::atomic<std::uint64_t> emulated::collective_bytes{0};

namespace {

using Floats = std::vector<float>;

struct World {
  std::size_t ranks = 0;
};

struct Rank {
  std::shared_ptr<World> world;
  std::size_t number;
  int device;
};

enum class Kind { all_reduce, reduce, broadcast, reduce_scatter, all_gather, send, receive };

struct Call {
  Kind kind;
  const Rank* rank;
  const void* send;
  void* receive;
  std::size_t count;
  int peer;  ///< or the root
  bool is_mean;
  ncclDataType_t type;
  cudaStream_t stream;
};

std::size_t bytes_of(ncclDataType_t type) {
  return type == ncclFloat ? 4 : 2;
}
float read(const Call& call, std::size_t i) {
  if (call.type == ncclHalf) return __half2float(static_cast<const __half*>(call.send)[i]);
  if (call.type == ncclBfloat16) return __bfloat162float(static_cast<const __nv_bfloat16*>(call.send)[i]);
  return static_cast<const float*>(call.send)[i];
}
void write(const Call& call, std::size_t i, float value) {
  if (call.type == ncclHalf)
    static_cast<__half*>(call.receive)[i] = __float2half_rn(value);
  else if (call.type == ncclBfloat16)
    static_cast<__nv_bfloat16*>(call.receive)[i] = __float2bfloat16_rn(value);
  else
    static_cast<float*>(call.receive)[i] = value;
}

std::recursive_mutex mutex;
thread_local int depth = 0;
thread_local std::vector<Call> calls;

/// `times` multiplies each sum.
void compute(const std::vector<Call>& all, float times = 1) {
  const Call& first = all.front();
  const std::size_t n = first.count;
  std::vector<Floats> sent;
  for (const Call& call : all) {
    const std::size_t size = call.kind == Kind::reduce_scatter ? n * all.size() : call.kind == Kind::receive ? 0 : n;
    const bool reads = call.send != nullptr && size > 0;
    sent.emplace_back();
    for (std::size_t i = 0; reads && i < size; ++i) sent.back().push_back(read(call, i));
  }
  emulated::note("nccl");
  emulated::collective_bytes += n * bytes_of(first.type);
  // NCCL computes a mean of floats like this: every rank's values are multiplied before they are summed.
  const float factor = first.is_mean ? static_cast<float>(1.0 / static_cast<double>(first.rank->world->ranks)) : 1.0F;
  const auto sum = [&](std::size_t i) {
    float total = 0;
    for (const Floats& values : sent) total += values[i] * factor;
    return total * times;
  };
  for (const Call& call : all) {
    const std::size_t own = call.rank->number;
    const auto root = static_cast<std::size_t>(std::max(call.peer, 0));
    if (call.kind == Kind::reduce && own != root) continue;
    for (std::size_t i = 0; i < n; ++i) {
      if (call.kind == Kind::all_reduce || call.kind == Kind::reduce) write(call, i, sum(i));
      if (call.kind == Kind::broadcast) write(call, i, sent[root][i]);
      if (call.kind == Kind::reduce_scatter) write(call, i, sum(own * n + i));
      for (std::size_t from = 0; call.kind == Kind::all_gather && from < all.size(); ++from)
        write(call, from * n + i, sent[from][i]);
    }
  }
}

/// Makes every stream wait until all others are here. They continue when the work is done.
void join(const std::vector<cudaStream_t>& streams, const std::function<void()>& work) {
  std::vector<cudaEvent_t> here(streams.size());
  int before = 0;
  cudaGetDevice(&before);
  for (std::size_t s = 0; s < streams.size(); ++s) {
    cudaSetDevice(emulated::device_of(streams[s]));
    cudaEventCreateWithFlags(&here[s], cudaEventDisableTiming);
    cudaEventRecord(here[s], streams[s]);
  }
  cudaSetDevice(emulated::device_of(streams[0]));
  for (std::size_t s = 1; s < streams.size(); ++s) cudaStreamWaitEvent(streams[0], here[s], 0);
  emulated::enqueue(streams[0], work);
  cudaEventRecord(here[0], streams[0]);
  for (std::size_t s = 1; s < streams.size(); ++s) cudaStreamWaitEvent(streams[s], here[0], 0);
  for (const cudaEvent_t event : here) cudaEventDestroy(event);
  cudaSetDevice(before);
}

/// Returns every rank's first call, then every rank's second, and so on.
std::vector<std::vector<Call>> rounds_of(const std::vector<Call>& all) {
  std::vector<std::vector<Call>> rounds;
  std::map<const Rank*, std::size_t> made;
  for (const Call& call : all) {
    const std::size_t round = made[call.rank]++;
    if (rounds.size() <= round) rounds.emplace_back();
    rounds[round].push_back(call);
  }
  return rounds;
}

/// Returns true if all ranks called the same collective.
bool belong_together(const std::vector<Call>& round, std::size_t ranks) {
  const Call& first = round.front();
  return round.size() == ranks && std::all_of(round.begin(), round.end(), [&](const Call& call) {
           return call.kind == first.kind && call.is_mean == first.is_mean && call.count == first.count &&
                  call.type == first.type && call.peer == first.peer;
         });
}

ncclResult_t end_group() {
  if (calls.empty()) return ncclSuccess;
  const std::vector<Call> all = std::move(calls);
  calls.clear();
  std::vector<cudaStream_t> streams;
  for (const Call& call : all)
    if (std::find(streams.begin(), streams.end(), call.stream) == streams.end()) streams.push_back(call.stream);
  const std::size_t ranks = all.front().rank->world->ranks;
  const emulated::Absent absent = emulated::absent;
  if (absent != emulated::Absent::none && all.front().kind == Kind::all_reduce) {
    const std::size_t times = absent == emulated::Absent::have_the_same ? ranks / streams.size() : 1;
    join(streams, [all, times] { compute(all, static_cast<float>(times)); });
    return ncclSuccess;
  }
  if (streams.size() != ranks) return ncclInvalidUsage;  // it would wait for ever
  if (all.front().kind != Kind::send && all.front().kind != Kind::receive) {
    const std::vector<std::vector<Call>> rounds = rounds_of(all);
    if (!std::all_of(rounds.begin(), rounds.end(), [&](const auto& round) { return belong_together(round, ranks); }))
      return ncclInvalidUsage;
    join(streams, [rounds] {
      for (const std::vector<Call>& round : rounds) compute(round);
    });
    return ncclSuccess;
  }
  join(streams, [all] {
    for (const Call& send : all) {
      if (send.kind != Kind::send) continue;
      for (const Call& receive : all) {
        const bool fits = receive.kind == Kind::receive && receive.peer == static_cast<int>(send.rank->number) &&
                          send.peer == static_cast<int>(receive.rank->number);
        if (fits)
          std::copy_n(static_cast<const char*>(send.send), send.count * bytes_of(send.type),
                      static_cast<char*>(receive.receive));
      }
    }
  });
  return ncclSuccess;
}

ncclResult_t add(Kind kind, const void* send, void* receive, std::size_t count, ncclDataType_t type, int peer,
                 ncclComm_t rank, cudaStream_t stream, ncclRedOp_t operation = ncclSum) {
  if (type != ncclFloat && type != ncclHalf && type != ncclBfloat16) return ncclInvalidArgument;
  if (operation != ncclSum && operation != ncclAvg) return ncclInvalidArgument;
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  const auto* of = reinterpret_cast<const Rank*>(rank);
  if (emulated::device_of(stream) != of->device) return ncclInvalidArgument;
  calls.push_back({kind, of, send, receive, count, peer, operation == ncclAvg, type, stream});
  return depth > 0 ? ncclSuccess : end_group();
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : "emulated error";
}
const char* ncclGetLastError(ncclComm_t) {
  return "";
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId, int number) {
  int device = 0;
  cudaGetDevice(&device);
  static thread_local std::shared_ptr<World> world;
  if (number == 0) world = std::make_shared<World>(World{static_cast<std::size_t>(ranks)});
  *comm = reinterpret_cast<ncclComm_t>(new Rank{world, static_cast<std::size_t>(number), device});
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete reinterpret_cast<Rank*>(comm);
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  return --depth > 0 ? ncclSuccess : end_group();
}
ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t comm, cudaStream_t stream) {
  return add(Kind::all_reduce, send, receive, count, type, 0, comm, stream, operation);
}
ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return add(Kind::reduce, send, receive, count, type, root, comm, stream, operation);
}
ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return add(Kind::broadcast, send, receive, count, type, root, comm, stream);
}
ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  return add(Kind::reduce_scatter, send, receive, count, type, 0, comm, stream, operation);
}
ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return add(Kind::all_gather, send, receive, count, type, 0, comm, stream);
}
ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add(Kind::send, send, nullptr, count, type, peer, comm, stream);
}
ncclResult_t ncclRecv(void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add(Kind::receive, nullptr, receive, count, type, peer, comm, stream);
}
