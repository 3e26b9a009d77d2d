// Averages gradients over all devices.
#include <algorithm>

#include "engine/cuda/communicator.hpp"
#include "engine/cuda/vector_operation.hpp"
#include "engine/cuda/wire.hpp"

namespace lockstep::cuda {

void CudaVectorOps::average_all(std::int64_t n, const std::vector<const float*>& inputs,
                                const std::vector<float*>& outputs) {
  sync::require(!inputs.empty() && inputs.size() == outputs.size(), "vector: as many averages as inputs");
  const auto share = static_cast<float>(1.0 / (static_cast<double>(inputs.size()) * processes()));
  const std::vector<std::vector<const float*>> from = by_device(inputs);
  if (is_for_nccl(from)) return average_everywhere(n, from, by_device(outputs), share);
  if (inputs.size() == 1) {
    if (inputs.front() != outputs.front()) copy(n, inputs.front(), outputs.front());
    return;
  }
  accumulate(n, inputs.data(), inputs.size(), false, share, outputs.front());
  for (std::size_t j = 1; j < outputs.size(); ++j) copy(n, outputs.front(), outputs[j]);
}

void CudaVectorOps::average_parts(std::int64_t n, const std::vector<const float*>& inputs,
                                  const std::vector<float*>& outputs) {
  if (processes() == 1) return VectorOps::average_parts(n, inputs, outputs);
  const std::vector<std::vector<const float*>> from = by_device(inputs);
  sync::require(is_for_nccl(from) && inputs.size() == devices_.size(), "vector: parts over processes, one of each GPU");
  communicator().average_parts(n, inputs, outputs, streams_of_all());
}

void CudaVectorOps::gather_parts(std::int64_t n, const std::vector<float*>& buffers) {
  if (processes() == 1) return VectorOps::gather_parts(n, buffers);
  sync::require(buffers.size() == devices_.size(), "vector: parts over processes, one of each GPU");
  communicator().share_parts(n, buffers, streams_of_all());
}

/// `share` is 1 / (number of inputs of all processes). Devices may have different numbers of inputs.
void CudaVectorOps::average_everywhere(std::int64_t n, const std::vector<std::vector<const float*>>& inputs,
                                       const std::vector<std::vector<float*>>& outputs, float share) {
  Ends ends;
  for (std::size_t d = 0; d < inputs.size(); ++d) {
    sync::require(inputs[d].size() == outputs[d].size(), "vector: as many averages as inputs on every device");
    ends.from.push_back(inputs[d].front());
    ends.to.push_back(outputs[d].front());
  }
  const bool has_one_each =
      std::all_of(inputs.begin(), inputs.end(), [](const auto& on_one) { return on_one.size() == 1; });
  if (has_one_each) {
    const std::vector<const GradientParts*> parts = parts_of(n, ends.from);
    if (!parts.empty()) return average_in_parts(parts, ends, share);
    return mean_of_all(0, n, ends, share, streams_of_all());
  }
  for (std::size_t d = 0; d < inputs.size(); ++d) {
    accumulate(n, inputs[d].data(), inputs[d].size(), false, share, ends.to[d]);
    ends.from[d] = ends.to[d];
  }
  sum_scaled(0, n, ends, 1, streams_of_all());
  copy_firsts(n, outputs);
}

void CudaVectorOps::mean_of_all(std::int64_t begin, std::int64_t n, const Ends& ends, float share,
                                const std::vector<cudaStream_t>& streams) {
  if (device::element_bytes(wire_) == 2 || communicator().has_adding_switches())
    return sum_scaled(begin, n, ends, share, streams);
  Ends part = ends;
  for (const float*& from : part.from) from += begin;
  for (float*& to : part.to) to += begin;
  communicator().all_average(n, part.from, part.to, streams);
}

void CudaVectorOps::sum_scaled(std::int64_t begin, std::int64_t n, const Ends& ends, float scale,
                               const std::vector<cudaStream_t>& streams) {
  const Element element = element_of(wire_);
  const bool is_half = element_bytes(element) == 2;
  std::vector<void*> sums;
  for (const auto& device : devices_) {
    const auto d = static_cast<std::size_t>(device->number);
    const OnDevice on_device(device->gpu);
    const float* from = ends.from[d] + begin;
    if (!is_half) {
      float* to = ends.to[d] + begin;
      if (from != to || scale != 1) launch_accumulate(streams[d], n, {{from}, 1}, false, scale, to);
      sums.push_back(to);
      continue;
    }
    const std::int64_t needed = (begin + n) * element_bytes(element);
    if (device->wire.bytes() < needed) device->wire = DeviceBuffer<char>(needed);
    sums.push_back(device->wire.data() + begin * element_bytes(element));
    launch_to_wire(streams[d], element, n, scale, from, sums.back());
  }
  communicator().all_reduce(n, wire_, sums, streams);
  for (const auto& device : devices_) {
    const auto d = static_cast<std::size_t>(device->number);
    const OnDevice on_device(device->gpu);
    if (is_half) launch_from_wire(streams[d], element, n, sums[d], ends.to[d] + begin);
  }
}

/// Returns the parts of these gradients, one gradient per device; empty if the parts of any of them are unknown.
std::vector<const GradientParts*> CudaVectorOps::parts_of(std::int64_t n,
                                                          const std::vector<const float*>& gradients) const {
  std::vector<const GradientParts*> all;
  for (const float* gradient : gradients) {
    const auto found = std::find_if(gates_.begin(), gates_.end(),
                                    [&](const ReplicaGate* gate) { return gate->parts.gradient == gradient; });
    if (is_beside_ || found == gates_.end() || (*found)->parts.parts.size() < 2) return {};
    const GradientParts& parts = (*found)->parts;
    const GradientParts::Part& first = parts.parts.front();  // the last elements come first
    if (first.begin + first.count != n) return {};
    all.push_back(&parts);
  }
  return all;
}

/// Each device computes the averages on a stream of its own, `beside`. That stream first waits for the earlier updates,
/// which may still read the outputs. Later updates wait for the averages.
void CudaVectorOps::average_in_parts(const std::vector<const GradientParts*>& parts, const Ends& ends, float share) {
  std::vector<cudaStream_t> streams;
  for (const auto& device : devices_) {
    const OnDevice on_device(device->gpu);
    device->reached.record(device->updates);
    device->reached.hold(device->beside);
    streams.push_back(device->beside);
  }
  for (std::size_t p = 0; p < parts.front()->parts.size(); ++p) {
    for (std::size_t d = 0; d < parts.size(); ++d) parts[d]->parts[p].complete.hold(streams[d]);
    const GradientParts::Part& part = parts.front()->parts[p];
    mean_of_all(part.begin, part.count, ends, share, streams);
  }
  for (const auto& device : devices_) {
    const OnDevice on_device(device->gpu);
    device->beside_done.record(device->beside);
    device->beside_done.hold(
        device->updates);  // at once: the next pass, which comes after `updates`, writes the gradient
  }
}

}  // namespace lockstep::cuda
