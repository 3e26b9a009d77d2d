#pragma once
// PyTorch profiler traces in Kineto's layout (PyTorch 2: categories, arguments of NCCL kernels), with times of the test's
// choice.
#include <string>
#include <vector>

#include "engine/base/json.hpp"

namespace lockstep::tests {

class KinetoTrace {
 public:
  /// `origin_us`: of all times, since 1970 up to PyTorch 2.3.
  explicit KinetoTrace(double origin_us = 0, const std::string& gpu = "NVIDIA H100 80GB HBM3") : origin_us_(origin_us) {
    root_ = {{"schemaVersion", 1}, {"deviceProperties", {{{"id", 0}, {"name", gpu}}}}, {"traceEvents", Json::array()}};
  }

  void set_rank(int rank, int world_size) {
    root_["distributedInfo"] = {{"backend", "nccl"}, {"rank", rank}, {"world_size", world_size}};
  }
  void add_step(int number, double begin_us, double duration_us) {
    add("user_annotation", "ProfilerStep#" + std::to_string(number), begin_us, duration_us, 1, Json::object());
  }
  /// A kernel and its launch.
  void add_kernel(const std::string& name, double launch_us, double begin_us, double duration_us, int stream = 7,
                  Json args = Json::object()) {
    args["correlation"] = ++correlation_;
    add("cuda_runtime", "cudaLaunchKernel", launch_us, 2, 1, {{"correlation", correlation_}});
    add("kernel", name, begin_us, duration_us, stream, args);
  }
  /// An NCCL kernel as PyTorch 2 notes it; `elements` of bf16.
  void add_collective(const std::string& name, double launch_us, double begin_us, double duration_us,
                      std::int64_t elements, int ranks, const std::string& group = "") {
    Json args{{"Collective name", name},
              {"In msg nelems", elements},
              {"Out msg nelems", elements},
              {"Group size", ranks},
              {"dtype", "BFloat16"}};
    if (!group.empty()) args["Process Group Ranks"] = group;
    add_kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", launch_us, begin_us,
               duration_us, 20, args);
  }
  std::string text() const { return root_.dump(); }

 private:
  void add(const char* category, const std::string& name, double begin_us, double duration_us, int thread,
           const Json& args) {
    root_["traceEvents"].push_back({{"ph", "X"},
                                    {"cat", category},
                                    {"name", name},
                                    {"pid", thread > 1 ? 0 : 1},
                                    {"tid", thread},
                                    {"ts", origin_us_ + begin_us},
                                    {"dur", duration_us},
                                    {"args", args}});
  }

  double origin_us_;
  int correlation_ = 0;
  Json root_;
};

}  // namespace lockstep::tests
