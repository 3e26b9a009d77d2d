#include "calib/probe/probes.hpp"
#include "calib/probe/sizes.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::calib {
namespace {

using sync::DeviceVector;

// A copy in one or both directions between two devices, or between a device and the host.
struct Route {
  int from;
  int to;
  bool both_ways;
  bool is_pinned = false;  // in the key only if the host takes part
  std::string link{};      // between two devices, if known
};

// Profiles up to version 0.1 have no "memory" in their keys. So copies of ordinary memory have none either. Copies over
// an unknown link have no "link".
Json key_of(const Route& route, std::int64_t bytes) {
  Json key{{"from", device_name(route.from)}, {"to", device_name(route.to)}, {"both_ways", route.both_ways}};
  if (route.is_pinned) key["memory"] = "pinned";
  if (!route.link.empty()) key["link"] = route.link;
  key["bytes"] = bytes;
  return key;
}

std::shared_ptr<float> host_floats(device::Backend& backend, std::int64_t n, bool is_pinned) {
  if (is_pinned) return backend.allocate_pinned(n);
  const auto floats = std::make_shared<std::vector<float>>(static_cast<std::size_t>(n), 1.0F);
  return {floats, floats->data()};
}

// A copy from or to ordinary memory, which returns when it is complete.
std::function<void()> ordinary_copy(device::Backend& backend, std::int64_t n, bool is_upload) {
  const std::shared_ptr<float> host = host_floats(backend, n, false);
  auto on_device = std::make_shared<DeviceVector>(backend.ops(), n, 0);
  if (is_upload) return [&backend, host, on_device, n] { backend.ops().upload(n, host.get(), on_device->data()); };
  return [&backend, host, on_device, n] { backend.ops().download(n, on_device->data(), host.get()); };
}

std::function<void()> pinned_copy(device::Backend& backend, std::int64_t n, bool is_upload) {
  const std::shared_ptr<float> host = host_floats(backend, n, true);
  auto on_device = std::make_shared<DeviceVector>(backend.ops(), n, 0);
  return [&backend, host, on_device, n, is_upload] {
    if (is_upload)
      backend.copy_at_once({{host.get(), device::kHost, on_device->data(), 0, n}});
    else
      backend.copy_at_once({{on_device->data(), 0, host.get(), device::kHost, n}});
  };
}

// Copies between two devices on a separate stream, as copies in both directions do. A copy through ops() would wait for
// earlier work of both devices, and they for it. That costs two events between GPUs, 5 to 15 us, which no step of a
// ring has.
std::function<void()> device_copy(device::Backend& backend, std::int64_t n, int from, int to) {
  auto source = std::make_shared<DeviceVector>(backend.ops(), n, from);
  auto into = std::make_shared<DeviceVector>(backend.ops(), n, to);
  if (from == to) return [&backend, source, into, n] { backend.ops().copy(n, source->data(), into->data()); };
  return [&backend, source, into, n, from, to] { backend.copy_at_once({{source->data(), from, into->data(), to, n}}); };
}

// Each device or host reads one vector and writes another.
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
  const bool is_upload = route.from == device::kHost;
  if (!is_upload && route.to != device::kHost) return device_copy(backend, n, route.from, route.to);
  return route.is_pinned ? pinned_copy(backend, n, is_upload) : ordinary_copy(backend, n, is_upload);
}

// Copies to all devices at once, as for the batches of an iteration. The copies compete for the processor's memory and,
// in groups of two or four, for a switch.
Prepared timed_copies_to_all(device::Backend& backend, std::int64_t n) {
  std::vector<std::shared_ptr<float>> host;
  auto on_devices = std::make_shared<std::vector<DeviceVector>>();
  std::vector<device::Transfer> transfers;
  for (int d = 0; d < backend.devices(); ++d) {
    host.push_back(host_floats(backend, n, true));
    on_devices->emplace_back(backend.ops(), n, d);
    transfers.push_back({host.back().get(), device::kHost, on_devices->back().data(), d, n});
  }
  return device_timed_work(backend, [&backend, host, on_devices, transfers] { backend.copy_at_once(transfers); });
}

// The processor copies ordinary memory and waits for the device. So the device must not be held meanwhile.
Prepared timed_copy(device::Backend& backend, const Route& route, std::int64_t n) {
  const bool is_ordinary = (route.from == device::kHost || route.to == device::kHost) && !route.is_pinned;
  const std::function<void()> work = work_of(backend, route, n);
  return is_ordinary ? timed_work(backend, work) : device_timed_work(backend, work);
}

std::vector<Route> routes_of(device::Backend& backend, const std::vector<LinkedPair>& pairs) {
  constexpr int kHost = device::kHost;
  const bool has_pinned = backend.allocate_pinned(1) != nullptr;
  std::vector<Route> routes{{kHost, 0, false}, {0, kHost, false}, {0, 0, false}};
  if (has_pinned) {
    routes.push_back({kHost, 0, false, true});
    routes.push_back({0, kHost, false, true});
  }
  // Uses pinned memory if there is any: the processor would copy ordinary memory in turns.
  routes.push_back({kHost, 0, true, has_pinned});
  const std::vector<LinkedPair> first_two(backend.devices() > 1 ? 1 : 0, {0, 1, ""});
  for (const LinkedPair& pair : pairs.empty() ? first_two : pairs)
    for (const bool both_ways : {false, true}) routes.push_back({pair.from, pair.to, both_ways, false, pair.link});
  return routes;
}

}  // namespace

std::vector<Probe> copy_probes(device::Backend& backend, std::int64_t most_bytes,
                               const std::vector<LinkedPair>& pairs) {
  const std::vector<Route> routes = routes_of(backend, pairs);
  const bool has_all = backend.devices() > 1 && backend.allocate_pinned(1) != nullptr;
  std::vector<Probe> probes;
  for (std::int64_t bytes : sizes_up_to(most_bytes)) {
    for (const Route& route : routes)
      probes.push_back({"copy", key_of(route, bytes),
                        [&backend, route, bytes] { return timed_copy(backend, route, floats_in(bytes)); }});
    if (!has_all) continue;
    const Json key{{"from", "host"},     {"to", "all"},        {"devices", backend.devices()},
                   {"both_ways", false}, {"memory", "pinned"}, {"bytes", bytes}};
    probes.push_back({"copy", key, [&backend, bytes] { return timed_copies_to_all(backend, floats_in(bytes)); }});
  }
  return probes;
}

}  // namespace lockstep::calib
