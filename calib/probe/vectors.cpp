#include "calib/probe/probes.hpp"
#include "calib/probe/sizes.hpp"
#include "engine/sync/vector_ops.hpp"

namespace lockstep::calib {
namespace {

using sync::DeviceVector;

constexpr std::int64_t kColdBytes = std::int64_t{1} << 28;  // larger than any device's cache
constexpr std::int64_t kMostColdSets = 1024;

// Vectors for one update kernel, in 16 segments like a small network.
struct Vectors {
  Vectors(sync::VectorOps& operations, std::int64_t count)
      : ops(operations),
        g(ops, count),
        v(ops, count),
        w(ops, count),
        z(ops, count),
        sum(ops, count),
        previous(ops, count) {
    std::vector<sync::Segment> segments;
    for (int s = 0; s < 16; ++s)
      segments.push_back({count * s / 16, count * (s + 1) / 16 - count * s / 16, s % 2 == 0});
    layout = sync::make_layout(segments);
    const std::vector<float> values(static_cast<std::size_t>(count), 0.01f);
    for (DeviceVector* x : {&g, &w, &z}) ops.upload(count, values.data(), x->data());
  }
  sync::VectorOps& ops;
  sync::Layout layout;
  DeviceVector g, v, w, z, sum, previous;
};

using Update = void (*)(Vectors&);
constexpr sync::StepSize kStep{1e-6, 0.9, 1e-6};

const std::vector<std::pair<std::string, Update>>& updates() {
  static const std::vector<std::pair<std::string, Update>> all{
      {"momentum", [](Vectors& x) { x.ops.momentum_update(x.layout, kStep, x.g.data(), x.v.data(), x.w.data()); }},
      {"lars", [](Vectors& x) { x.ops.lars_update(x.layout, kStep, {}, x.g.data(), x.v.data(), x.w.data()); }},
      {"sma-correction",
       [](Vectors& x) {
         x.ops.corrected_update(x.layout, 1e-6, 0, 0.1, x.g.data(), x.z.data(), x.w.data(), x.sum.data());
       }},
      {"average-model", [](Vectors& x) {
         x.ops.zero(x.layout.count, x.sum.data());  // otherwise z would grow without limit over many repeats
         x.ops.average_model_update(x.layout.count, 0.9, x.sum.data(), x.z.data(), x.previous.data());
       }}};
  return all;
}

// Sums in place, as the algorithms do.
Prepared sum_all_work(device::Backend& backend, std::int64_t bytes) {
  auto buffers = std::make_shared<std::vector<DeviceVector>>();
  for (int d = 0; d < backend.devices(); ++d)
    buffers->emplace_back(backend.ops(), floats_in(bytes), d);  // zeros, whose sums are zeros
  return device_timed_work(backend, [&backend, buffers, bytes] {
    std::vector<float*> pointers;
    for (DeviceVector& buffer : *buffers) pointers.push_back(buffer.data());
    backend.ops().sum_all(floats_in(bytes), pointers);
  });
}

// Computes the mean of the devices' vectors on each of them, as S-SGD of `train` does with gradients. Gradients come
// from a pass that exceeds the caches, so the vectors must be cold here, too. Therefore several sets of them take
// turns; together they have `kColdBytes` on each device that has its own cache.
Prepared average_work(device::Backend& backend, std::int64_t bytes) {
  const std::int64_t of_set = 2 * bytes * (backend.has_shared_cache() ? backend.devices() : 1);
  const auto sets = static_cast<std::size_t>(std::clamp<std::int64_t>(kColdBytes / of_set, 1, kMostColdSets));
  struct Set {
    std::vector<DeviceVector> inputs, outputs;
  };
  auto all = std::make_shared<std::vector<Set>>(sets);
  for (Set& set : *all)
    for (int d = 0; d < backend.devices(); ++d) {
      set.inputs.emplace_back(backend.ops(), floats_in(bytes), d);
      set.outputs.emplace_back(backend.ops(), floats_in(bytes), d);
    }
  auto turn = std::make_shared<std::size_t>(0);
  return device_timed_work(backend, [&backend, all, turn, bytes] {
    Set& set = (*all)[(*turn)++ % all->size()];
    std::vector<const float*> inputs;
    for (const DeviceVector& input : set.inputs) inputs.push_back(input.data());
    std::vector<float*> outputs;
    for (DeviceVector& output : set.outputs) outputs.push_back(output.data());
    backend.ops().average_all(floats_in(bytes), inputs, outputs);
  });
}

// A collective on numbers of type `element`. All-reduces are in place, like those of floats; others are out of place.
// The vector's length is rounded up to a multiple of the number of devices.
Prepared exchange_work(device::Backend& backend, device::Collective collective, device::Precision element,
                       std::int64_t bytes) {
  const std::int64_t devices = count_devices(backend), numbers = numbers_in(bytes, element);
  const std::int64_t n = (numbers + devices - 1) / devices * devices;
  const std::int64_t floats = floats_in(n * device::element_bytes(element) + 3);
  const bool is_in_place = collective == device::Collective::all_reduce;
  auto send = std::make_shared<std::vector<DeviceVector>>(), receive = std::make_shared<std::vector<DeviceVector>>();
  for (int d = 0; d < backend.devices(); ++d) {
    send->emplace_back(backend.ops(), floats, d);
    if (!is_in_place) receive->emplace_back(backend.ops(), floats, d);
  }
  return device_timed_work(backend, [=, &backend] {
    std::vector<const void*> from;
    std::vector<void*> to;
    for (DeviceVector& buffer : *send) from.push_back(buffer.data());
    for (DeviceVector& buffer : is_in_place ? *send : *receive) to.push_back(buffer.data());
    backend.exchange(collective, element, n, from, to);
  });
}

// Collectives that only move bytes are measured in fp32 only. Those that add depend on the precision's arithmetic.
std::vector<device::Collective> collectives_of(device::Precision element) {
  using device::Collective;
  if (element != device::Precision::fp32)
    return {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter};
  return {Collective::reduce, Collective::broadcast, Collective::reduce_scatter, Collective::all_gather,
          Collective::all_to_all};
}

}  // namespace

std::vector<Probe> collective_probes(device::Backend& backend, std::int64_t most_bytes, int nodes) {
  std::vector<Probe> probes;
  const int ranks = count_devices(backend);
  if (ranks < 2) return probes;
  using device::Collective, device::Precision;
  const auto add = [&](const std::string& operation, Precision element, std::int64_t bytes,
                       const std::function<Prepared()>& prepare) {
    Json key{{"operation", operation}, {"library", library_of(backend)}, {"ranks", ranks}, {"nodes", nodes}};
    if (element != Precision::fp32) key["precision"] = to_string(element);
    key["bytes"] = bytes;
    probes.push_back({"collective", key, prepare});
  };
  for (std::int64_t bytes : collective_sizes_up_to(most_bytes)) {
    add("all-reduce", Precision::fp32, bytes, [=, &backend] { return sum_all_work(backend, bytes); });
    add("average", Precision::fp32, bytes, [=, &backend] { return average_work(backend, bytes); });
    for (const Precision element : {Precision::fp32, Precision::fp16, Precision::bf16}) {
      // Needs at least one number per device, because some collectives give each device a part.
      if (!backend.has_exchange(element) || numbers_in(bytes, element) < ranks) continue;
      for (const Collective collective : collectives_of(element))
        add(to_string(collective), element, bytes,
            [=, &backend] { return exchange_work(backend, collective, element, bytes); });
    }
  }
  return probes;
}

std::vector<Probe> update_probes(device::Backend& backend, std::int64_t most_bytes) {
  std::vector<Probe> probes;
  for (const auto& [name, update] : updates())
    for (std::int64_t elements = 1 << 12; elements <= std::max<std::int64_t>(1 << 12, most_bytes / 4); elements *= 8)
      probes.push_back({"update", {{"kernel", name}, {"elements", elements}}, [&backend, update = update, elements] {
                          auto vectors = std::make_shared<Vectors>(backend.ops(), elements);
                          return device_timed_work(backend, [vectors, update] { update(*vectors); });
                        }});
  return probes;
}

}  // namespace lockstep::calib
