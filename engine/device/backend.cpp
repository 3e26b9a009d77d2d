#include "engine/device/backend.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "engine/base/clock.hpp"
#include "engine/base/text.hpp"
#include "engine/host/network.hpp"

namespace lockstep::device {

std::string to_string(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::tf32:
      return "tf32";
    case Precision::fp16:
      return "fp16";
    case Precision::bf16:
      return "bf16";
  }
  throw std::invalid_argument("no such precision");
}

Precision precision_from(const std::string& name) {
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16}) {
    if (to_string(precision) == name) return precision;
  }
  throw std::invalid_argument("unknown precision " + in_quotes(name) + "; allowed: fp32, tf32, fp16, bf16");
}

Precision usual_precision(const std::string& device) {
  return device == "cuda" ? Precision::tf32 : Precision::fp32;
}

std::string to_string(LayerPart part) {
  switch (part) {
    case LayerPart::forward:
      return "forward";
    case LayerPart::backward:
      return "backward";
    case LayerPart::backward_data:
      return "backward_data";
    case LayerPart::backward_filter:
      return "backward_filter";
  }
  throw std::invalid_argument("no such part of a layer");
}

std::string to_string(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return "all-reduce";
    case Collective::reduce:
      return "reduce";
    case Collective::broadcast:
      return "broadcast";
    case Collective::reduce_scatter:
      return "reduce-scatter";
    case Collective::all_gather:
      return "all-gather";
    case Collective::all_to_all:
      return "all-to-all";
  }
  throw std::invalid_argument("no such collective");
}

std::int64_t element_bytes(Precision precision) {
  return precision == Precision::fp16 || precision == Precision::bf16 ? 2 : 4;
}

void Backend::exchange(Collective collective, Precision /*element*/, std::int64_t /*n*/,
                       const std::vector<const void*>& /*send*/, const std::vector<void*>& /*receive*/) {
  throw std::runtime_error(name() + ": has no " + to_string(collective));
}

void Backend::set_gradient_wire(Precision wire) {
  if (element_bytes(wire) == 4) return;
  throw std::runtime_error(name() + ": gradients are sent in fp32, not in " + to_string(wire));
}

void Backend::copy_at_once(const std::vector<Transfer>& /*transfers*/) {
  throw std::runtime_error(name() + ": does not copy in two directions at once");
}

std::optional<double> Backend::device_seconds(const std::function<void()>& /*work*/, int /*repeats*/) {
  throw std::runtime_error(name() + ": its devices have no clock");
}

double ClockState::ratio() const {
  return is_held_down && clock_hz > 0 && highest_hz > 0 ? std::min(1.0, clock_hz / highest_hz) : 1;
}

double Backend::clock_ratio() {
  double least = 1;
  for (const ClockState& state : clocks()) least = std::min(least, state.ratio());
  return least;
}

double Backend::now_s() {
  return steady_now_s();
}

sync::Layout layout_of(const model::Graph& graph) {
  std::vector<sync::Segment> segments;
  std::int64_t begin = 0;
  for (const model::Layer& layer : graph.layers) {
    for (const model::Parameter& parameter : layer.parameters) {
      segments.push_back({begin, parameter.elements, parameter.role == model::ParameterRole::weight});
      begin += parameter.elements;
    }
  }
  return sync::make_layout(std::move(segments));
}

std::vector<float> initial_parameters(const model::Graph& graph, std::uint64_t seed) {
  host::Network<float> network(graph, 1, static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  network.initialise(seed);
  const auto parameters = network.parameters();
  return {parameters.data(), parameters.data() + parameters.size()};
}

}  // namespace lockstep::device
