#include "calib/probe/probes.hpp"
#include "calib/probe/sizes.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::calib {
namespace {

using sync::DeviceVector;

// One or two ways between device 0 and another, or the host.
struct Route {
  int from;
  int to;
  bool both_ways;
  bool is_pinned;  // the host's memory; in the key where there is a host
};

// Profiles up to version 0.1 have no "memory" in their keys: what came from ordinary memory keeps its key.
Json key_of(const Route& route, std::int64_t bytes) {
  Json key{{"from", device_name(route.from)}, {"to", device_name(route.to)}, {"both_ways", route.both_ways}};
  if (route.is_pinned) key["memory"] = "pinned";
  key["bytes"] = bytes;
  return key;
}

std::shared_ptr<float> host_floats(device::Backend& backend, std::int64_t n, bool is_pinned) {
  if (is_pinned) return backend.allocate_pinned(n);
  const auto floats = std::make_shared<std::vector<float>>(static_cast<std::size_t>(n), 1.0F);
  return {floats, floats->data()};
}

std::function<void()> host_copy(device::Backend& backend, std::int64_t n, bool is_upload, bool is_pinned) {
  const std::shared_ptr<float> host = host_floats(backend, n, is_pinned);
  auto on_device = std::make_shared<DeviceVector>(backend.ops(), n, 0);
  if (is_upload) return [&backend, host, on_device, n] { backend.ops().upload(n, host.get(), on_device->data()); };
  return [&backend, host, on_device, n] { backend.ops().download(n, on_device->data(), host.get()); };
}

std::function<void()> device_copy(device::Backend& backend, std::int64_t n, int to) {
  auto from = std::make_shared<DeviceVector>(backend.ops(), n, 0);
  auto into = std::make_shared<DeviceVector>(backend.ops(), n, to);
  return [&backend, from, into, n] { backend.ops().copy(n, from->data(), into->data()); };
}

// Each end reads one vector and writes another.
std::function<void()> two_way_copy(device::Backend& backend, std::int64_t n, const Route& route) {
  struct End {
    std::shared_ptr<float> host_out, host_in;
    std::shared_ptr<DeviceVector> out, in;
    float* source() const { return out ? out->data() : host_out.get(); }
    float* sink() const { return in ? in->data() : host_in.get(); }
  };
  const auto end_of = [&](int device) {
    End end;
    if (device == device::kHost) {
      end.host_out = host_floats(backend, n, route.is_pinned);
      end.host_in = host_floats(backend, n, route.is_pinned);
    } else {
      end.out = std::make_shared<DeviceVector>(backend.ops(), n, device);
      end.in = std::make_shared<DeviceVector>(backend.ops(), n, device);
    }
    return end;
  };
  const End a = end_of(route.from), b = end_of(route.to);
  return [&backend, a, b, n, route] {
    backend.copy_at_once(
        {{a.source(), route.from, b.sink(), route.to, n}, {b.source(), route.to, a.sink(), route.from, n}});
  };
}

std::function<void()> work_of(device::Backend& backend, const Route& route, std::int64_t n) {
  if (route.both_ways) return two_way_copy(backend, n, route);
  if (route.from == device::kHost) return host_copy(backend, n, true, route.is_pinned);
  if (route.to == device::kHost) return host_copy(backend, n, false, route.is_pinned);
  return device_copy(backend, n, route.to);
}

std::vector<Route> routes_of(device::Backend& backend) {
  constexpr int kHost = device::kHost;
  const bool has_pinned = backend.allocate_pinned(1) != nullptr;
  std::vector<Route> routes{{kHost, 0, false, false}, {0, kHost, false, false}, {0, 0, false, false}};
  if (has_pinned) {
    routes.push_back({kHost, 0, false, true});
    routes.push_back({0, kHost, false, true});
  }
  // Ordinary memory is copied by the processor on the way to a GPU, which takes turns.
  routes.push_back({kHost, 0, true, has_pinned});
  if (backend.devices() < 2) return routes;
  routes.push_back({0, 1, false, false});
  routes.push_back({0, 1, true, false});
  return routes;
}

}  // namespace

std::vector<Probe> copy_probes(device::Backend& backend, std::int64_t most_bytes) {
  const std::vector<Route> routes = routes_of(backend);
  std::vector<Probe> probes;
  for (std::int64_t bytes : sizes_up_to(most_bytes))
    for (const Route& route : routes)
      probes.push_back({"copy", key_of(route, bytes), [&backend, route, bytes] {
                          return timed_work(backend, work_of(backend, route, floats_in(bytes)));
                        }});
  return probes;
}

}  // namespace lockstep::calib
