#include "engine/model/recurrence.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "engine/base/text.hpp"
#include "engine/model/graph.hpp"

namespace lockstep::model {
namespace {

constexpr std::int64_t kMostWidth = 100'000'000;
constexpr int kMostTaps = 64, kMostChunk = 65'536;

}  // namespace

bool RecurrenceShape::operator==(const RecurrenceShape& o) const {
  const auto fields = [](const RecurrenceShape& s) {
    return std::make_tuple(s.rule, s.heads, s.head_dim, s.state, s.groups, s.taps, s.taps_bias, s.chunk, s.step_rank,
                           s.inner_norms);
  };
  return fields(*this) == fields(o);
}

std::int64_t RecurrenceShape::key_width() const {
  return std::int64_t{rule == RecurrenceRule::fixed ? heads : groups} * state;
}

std::int64_t RecurrenceShape::input_width() const {
  switch (rule) {
    case RecurrenceRule::per_channel:
      return 2 * value_width();
    case RecurrenceRule::per_head:
      return 2 * value_width() + 2 * key_width() + heads;
    case RecurrenceRule::delta:
      return 2 * value_width() + 2 * key_width() + 2 * std::int64_t{heads};
    case RecurrenceRule::fixed:
      return 2 * value_width() + 2 * key_width();
  }
  return 0;
}

std::int64_t RecurrenceShape::convolved_width() const {
  if (taps == 0) return 0;
  return value_width() + (rule == RecurrenceRule::per_channel ? 0 : 2 * key_width());
}

RecurrenceParameters recurrence_parameters(const RecurrenceShape& s) {
  RecurrenceParameters sum;
  sum.split = s.convolved_width() * (s.taps + (s.taps_bias ? 1 : 0));
  const std::int64_t width = s.value_width();
  switch (s.rule) {
    case RecurrenceRule::per_channel:
      // Adds the matrix to the step's rank and the keys, the one from that rank, the step's bias, decays, and D.
      sum.split += width * (s.step_rank + 2 * s.state) + s.step_rank * width + width + width * s.state + width;
      if (s.inner_norms) sum.shared += s.step_rank + 2 * s.state;
      break;
    case RecurrenceRule::per_head:
      sum.split += 3 * std::int64_t{s.heads} + width;  // step's bias, decay, D; norm
      break;
    case RecurrenceRule::delta:
      sum.split += 2 * std::int64_t{s.heads};  // step's bias, decay
      sum.shared += s.head_dim;                // norm
      break;
    case RecurrenceRule::fixed:
      sum.split += width;  // norm
      break;
  }
  return sum;
}

std::int64_t count_recurrence_macs(const RecurrenceShape& s) {
  const std::int64_t convolution = s.convolved_width() * s.taps, width = s.value_width();
  switch (s.rule) {
    case RecurrenceRule::per_channel:
      return convolution + width * (s.step_rank + 2 * s.state) + s.step_rank * width + 7 * s.state_elements() / 2;
    case RecurrenceRule::per_head:
      return convolution + 7 * s.state_elements() / 2;
    case RecurrenceRule::delta:
      return convolution + 4 * s.state_elements();
    case RecurrenceRule::fixed:
      return convolution + 2 * s.state_elements();
  }
  return 0;
}

int GraphBuilder::recurrence(const std::string& name, int from, const RecurrenceShape& shape) {
  Layer layer = start(name, LayerKind::recurrence, {from});
  if (shape.heads < 1 || shape.head_dim < 1 || shape.state < 1) fail(name, "heads without features");
  if (shape.groups < 1 || shape.heads % shape.groups != 0)
    fail(name, std::to_string(shape.heads) + " heads cannot share " + std::to_string(shape.groups) + " groups of keys");
  if (shape.taps < 0 || shape.taps > kMostTaps) fail(name, "taps outside 0 to " + std::to_string(kMostTaps));
  if (shape.chunk < 1 || shape.chunk > kMostChunk) fail(name, "chunk outside 1 to " + std::to_string(kMostChunk));
  if (shape.rule == RecurrenceRule::per_channel && shape.step_rank < 1) fail(name, "steps without a rank");
  const double widest = static_cast<double>(shape.heads) * std::max(shape.head_dim, shape.state);
  if (widest > kMostWidth || widest * shape.state > 1e12)
    fail(name, "heads times features above 1e8, or a state of more than 1e12 elements");
  if (layer.in.channels != shape.input_width())
    fail(name, "input features " + std::to_string(layer.in.channels) + ", its heads need " +
                   std::to_string(shape.input_width()));
  const std::int64_t tokens = std::int64_t{layer.in.height} * layer.in.width;
  const double macs = static_cast<double>(count_recurrence_macs(shape)) * static_cast<double>(tokens);
  if (macs > 1e18) fail(name, "more than 1e18 multiply-adds");
  const RecurrenceParameters parameters = recurrence_parameters(shape);
  layer.parameters.push_back({name + "/weight", ParameterRole::weight, parameters.split});
  if (parameters.shared > 0) layer.parameters.push_back({name + "/norm", ParameterRole::bn_gamma, parameters.shared});
  layer.out = {static_cast<int>(shape.value_width()), layer.in.height, layer.in.width};
  layer.macs = count_recurrence_macs(shape) * tokens;
  // Kept: the scan's output, before norm and gate. Scratch: the convolved input and the chunks' states.
  layer.kept_elements = layer.out.elements();
  layer.scratch_elements = shape.convolved_width() * tokens + shape.state_elements() * (1 + tokens / shape.chunk);
  layer.recurrence = shape;
  return append(std::move(layer));
}

}  // namespace lockstep::model
