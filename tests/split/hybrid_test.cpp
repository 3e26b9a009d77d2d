// Layers with different parts on the ranks of a split: parameters, activations and traffic of models with recurrences.
#include "engine/model/zoo/zoo.hpp"
#include "sim/split/activations.hpp"
#include "sim/split/traffic.hpp"
#include "sim/split/transformer_shape.hpp"
#include "tests/catch.hpp"

using namespace lockstep;
using namespace lockstep::sim;
using namespace lockstep::sim::split;

namespace {

TransformerShape shape_of(const std::string& name) {
  const model::Graph& graph = model::zoo_graph(name);
  return {graph.transformer->spec, graph.transformer->job};
}

bool is_one_stack(const TransformerShape& shape) {
  return shape.decoder_layers == 0 && shape.patches.image == 0 && shape.distance_buckets == 0 &&
         (shape.embedding_width == 0 || shape.embedding_width == shape.hidden);
}

double bytes_of(const TrafficList& list, TrafficGroup group) {
  double bytes = 0;
  for (const Traffic& traffic : list)
    if (traffic.group == group) bytes += traffic.bytes * traffic.times;
  return bytes;
}

}  // namespace

TEST_CASE("one rank has all parameters of every transformer of the zoo") {
  int checked = 0;
  for (const std::string& name : model::zoo_names()) {
    const model::Graph& graph = model::zoo_graph(name);
    if (!graph.transformer || !is_one_stack(shape_of(name))) continue;
    INFO(name);
    const TransformerShape shape = shape_of(name);
    const ModelPart whole{0, shape.layers, true, true};
    CHECK(rank_parameters(shape, ParallelSpec(), whole).total() ==
          Approx(double(graph.parameter_count())).epsilon(1e-12));
    ++checked;
  }
  CHECK(checked > 80);
}

TEST_CASE("tensor ranks of a recurrence share its matrices and keep its norms") {
  const TransformerShape shape = shape_of("nemotron_h_8b");
  ParallelSpec spec;
  const double whole = rank_layer_parameters(shape, spec, 0).total();
  spec.tensor = 8;
  spec.sequence = true;
  CHECK(rank_layer_parameters(shape, spec, 0).total() == Approx((whole - 4096) / 8 + 4096));  // its first norm
  CHECK_NOTHROW(check_divisible(shape, spec));
  spec.tensor = 16;
  CHECK_THROWS_WITH(check_divisible(shape, spec), Contains("8 groups of a recurrence's keys are not divided by 16"));
}

TEST_CASE("activations of a Mamba-2 layer by hand") {
  // 8,192 values, 2 x 1,024 keys and queries, 128 steps. Kept are both norms' and matrices' inputs, the scan's input
  // and output.
  const TransformerShape shape = shape_of("nemotron_h_8b");
  ParallelSpec spec;
  spec.micro_batch = 2;
  const double tokens = 2.0 * shape.sequence;
  CHECK(kept_bytes(shape, spec, 0, 2) == Approx(tokens * 2 * (2 * 4096 + 18560 + 2 * 8192)));
  spec.recompute = Recomputation::full;
  CHECK(kept_bytes(shape, spec, 0, 2) == Approx(tokens * 2 * 4096));
}

TEST_CASE("a layer of one part exchanges for that part alone") {
  const TransformerShape shape = shape_of("nemotron_h_8b");  // M-M-M-M*...
  TrafficOptions options;
  ParallelSpec spec;
  spec.tensor = 4;
  spec.sequence = true;
  const double scan = bytes_of(layer_forward(shape, spec, 0, options), TrafficGroup::tensor);
  const double network = bytes_of(layer_forward(shape, spec, 1, options), TrafficGroup::tensor);
  CHECK(scan == network);  // a gather and a scatter of the hidden features each
  CHECK(scan == 2 * hidden_state_bytes(shape, spec, options));
  ParallelSpec context;
  context.context = 2;
  CHECK(bytes_of(layer_forward(shape, context, 1, options), TrafficGroup::context) == 0);
  CHECK(bytes_of(layer_forward(shape, context, 0, options), TrafficGroup::context) ==
        Approx(options.activation_bytes * shape.sequence / 2. * (18560 + 8192)));
}
