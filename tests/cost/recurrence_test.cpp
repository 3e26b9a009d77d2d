// Kernels of a recurrence: by hand, and laws that hold for each rule.
#include "sim/cost/layer_cost.hpp"
#include "sim/cost/token_cost.hpp"
#include "sim/cost/token_kernels.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using model::RecurrenceRule;

namespace {

model::Layer recurrence(RecurrenceRule rule, int tokens) {
  model::RecurrenceShape shape;
  shape.rule = rule;
  shape.heads = 8;
  shape.head_dim = 16;
  shape.state = 32;
  shape.groups = rule == RecurrenceRule::per_channel ? 1 : 2;
  shape.taps = rule == RecurrenceRule::fixed ? 0 : 4;
  shape.chunk = 64;
  shape.step_rank = 8;
  model::GraphBuilder net("r", "r", {1, tokens, 1});
  const int words = net.embedding("words", 0, 10, static_cast<int>(shape.input_width()));
  net.softmax("loss", net.recurrence("scan", words, shape));
  return net.finish().layers[2];
}

double flop_of(const std::vector<cost::Kernel>& kernels) {
  double sum = 0;
  for (const cost::Kernel& kernel : kernels) sum += kernel.flop;
  return sum;
}

double elements_of(const std::vector<cost::Kernel>& kernels) {
  double sum = 0;
  for (const cost::Kernel& kernel : kernels) sum += kernel.elements;
  return sum;
}

}  // namespace

TEST_CASE("a Mamba-2 layer by hand") {
  // 256 tokens, W = 128 values, N = 32, K = 64 keys of two groups, chunks of 64 tokens. Products are the states of each
  // chunk, keys times queries in a chunk, half of these times values, and states times queries.
  const cost::Kernels kernels = cost::list_recurrence_kernels(recurrence(RecurrenceRule::per_head, 128), 2);
  const double n = 256, by_state = 2 * n * 128 * 32, in_chunk = 2 * n * 128 * 32, of_keys = 2 * n * 64 * 64;
  CHECK(flop_of(kernels.forward) == Approx(2 * by_state + in_chunk + of_keys));
  CHECK(flop_of(kernels.backward) == Approx(5 * by_state + 2 * in_chunk + 3 * of_keys));
  // Convolution of 256 features; values and keys four times, output, norm of three; states of 4096 elements in single
  // precision six times, products of two groups twice.
  const double states = n / 64 * 4096 * 2, scores = n * 2 * 64 * 2;
  const double elements = n * (2 * 256 + 2 * (128 + 64) + 2 * 64 + 128 + 3 * 128) + 4 * states + 2 * scores;
  CHECK(elements_of(kernels.forward) == Approx(elements));
}

TEST_CASE("every rule's time grows with the tokens, backward is longer than forward") {
  for (const Choice<RecurrenceRule>& choice : choices_of(RecurrenceRule())) {
    INFO(choice.name);
    const RecurrenceRule rule = choice.value;
    const cost::Kernels one = cost::list_recurrence_kernels(recurrence(rule, 128), 1);
    const cost::Kernels batch = cost::list_recurrence_kernels(recurrence(rule, 128), 4);
    const cost::Kernels longer = cost::list_recurrence_kernels(recurrence(rule, 512), 1);
    CHECK(flop_of(longer.forward) == Approx(4 * flop_of(one.forward)));
    CHECK(flop_of(longer.backward) == Approx(flop_of(batch.backward)));
    CHECK(elements_of(longer.forward) == Approx(elements_of(batch.forward)));
    CHECK(elements_of(longer.forward) > 3 * elements_of(one.forward));  // weights are read once
    CHECK(flop_of(one.backward) > flop_of(one.forward));
    CHECK(elements_of(one.backward) > elements_of(one.forward));
  }
}

TEST_CASE("no kernel of a recurrence computes less than its states need") {
  for (const RecurrenceRule rule : {RecurrenceRule::per_head, RecurrenceRule::delta, RecurrenceRule::fixed}) {
    const model::Layer layer = recurrence(rule, 128);
    const double least = 2 * 2 * 128. * static_cast<double>(layer.recurrence.state_elements());  // written and read
    CHECK(flop_of(cost::list_recurrence_kernels(layer, 1).forward) >= least);
  }
}

TEST_CASE("a recurrence has a cost and kernels like any layer of tokens") {
  const model::Layer layer = recurrence(RecurrenceRule::per_head, 128);
  CHECK(is_token_layer(layer));
  DeviceCost device;
  device.peak_flops = 1e12;
  device.memory_bandwidth_bytes_per_s = 1e11;
  device.activation_bytes = 2;
  const LayerCost cost = token_cost(layer, device, 1, true);
  CHECK(cost.forward_s > 0);
  CHECK(cost.backward_s > cost.forward_s);
  CHECK(token_kernels(layer, device).forward == 6);
}
