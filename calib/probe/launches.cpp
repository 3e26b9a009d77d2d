#include "calib/probe/probes.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::calib {
namespace {

std::function<void()> small_kernels(device::Backend& backend, int kernels) {
  auto x = std::make_shared<sync::DeviceVector>(backend.ops(), 1, 0);
  return [&backend, x, kernels] {
    for (int i = 0; i < kernels; ++i) backend.ops().scale(1, 1, x->data());
  };
}

std::function<void()> work_of(device::Backend& backend, bool is_graph, int kernels) {
  const std::function<void()> work = small_kernels(backend, kernels);
  return is_graph ? backend.recorded(0, work) : work;
}

}  // namespace

std::vector<Probe> launch_probes(device::Backend& backend) {
  const bool has_graphs = backend.recorded(0, [] {}) != nullptr;
  std::vector<Probe> probes;
  for (const bool is_graph : {false, true})
    for (int kernels : {1, 2, 4, 8, 16, 32, 64}) {
      if (is_graph && !has_graphs) continue;
      probes.push_back({"launch", {{"how", is_graph ? "graph" : "stream"}, {"kernels", kernels}}, [=, &backend] {
                          return timed_work(backend, work_of(backend, is_graph, kernels));
                        }});
    }
  return probes;
}

}  // namespace lockstep::calib
