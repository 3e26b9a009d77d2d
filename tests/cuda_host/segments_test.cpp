// The tables for packing parameters, used as the kernels use them, and the device's random numbers.
#include "engine/cuda/segments.hpp"

#include "engine/base/random.hpp"
#include "engine/cuda/device_random.hpp"
#include "engine/model/zoo/zoo.hpp"
#include "tests/catch.hpp"
#include "tests/host/helpers.hpp"

namespace lockstep::cuda {
namespace {

using model::Graph;
using model::GraphBuilder;

/// Calls visit(segment, row, channel, tap) for every element that the blocks of a table move.
template <typename Visit>
void walk(const std::vector<Segment>& table, int blocks, const Visit& visit) {
  for (int block = 0; block < blocks; ++block) {
    const Segment& segment =
        table[static_cast<std::size_t>(segment_of(table.data(), static_cast<int>(table.size()), block))];
    const Tile tile = tile_of(segment, block - segment.first_block);
    REQUIRE(tile.rows * tile.channels * tile.taps <= kTileElements);
    for (int row = 0; row < tile.rows; ++row) {
      for (int channel = 0; channel < tile.channels; ++channel) {
        for (int tap = 0; tap < tile.taps; ++tap) {
          visit(segment, tile.row + row, tile.channel + channel, tile.tap + tap);
        }
      }
    }
  }
}

/// Counts how often each element of the flat buffer is moved, and each packed one is written.
struct Counts {
  std::vector<int> flat, elements, reals;
};
Counts counts(const std::vector<Segment>& table, int blocks, const Packing& packing, std::int64_t parameters) {
  Counts c{std::vector<int>(static_cast<std::size_t>(parameters)),
           std::vector<int>(static_cast<std::size_t>(packing.elements)),
           std::vector<int>(static_cast<std::size_t>(packing.reals))};
  walk(table, blocks, [&](const Segment& s, int row, int channel, int tap) {
    ++c.flat.at(static_cast<std::size_t>(flat_index(s, row, channel, tap)));
    ++(s.is_float ? c.reals : c.elements).at(static_cast<std::size_t>(packed_index(s, row, channel, tap)));
  });
  return c;
}

int largest(const std::vector<int>& values) {
  return *std::max_element(values.begin(), values.end());
}

}  // namespace

TEST_CASE("Each parameter is packed to a place of its own and each gradient comes back once") {
  GraphBuilder wide("wide", "wide", {3, 50, 60});
  int at = wide.relu("relu", wide.conv("c", 0, 70, host::square(47), true));  // 2209 taps: more than a tile
  wide.softmax("loss", wide.fc("fc", wide.conv("d", at, 300, host::square(3, 1, 1), false), 3));
  for (const Graph& graph : {wide.finish(), model::zoo_graph("lenet_crossbow"), model::zoo_graph("resnet32_crossbow"),
                             model::zoo_graph("alexnet_grouped")}) {
    INFO(graph.name);
    const bool grouped = graph.name == "alexnet_grouped";
    const Packing packing = make_packing(graph, grouped ? 3 : 4);
    const Counts back = counts(packing.unpack, packing.unpack_blocks, packing, graph.parameter_count());
    CHECK(std::all_of(back.flat.begin(), back.flat.end(), [](int n) { return n == 1; }));
    const Counts there = counts(packing.pack, packing.pack_blocks, packing, graph.parameter_count());
    CHECK(largest(there.elements) == 1);
    if (packing.reals > 0) CHECK(largest(there.reals) == 1);
  }
}

TEST_CASE("Weights are packed with channels last") {
  GraphBuilder net("g", "g", {2, 3, 3});
  const int conv = net.conv("conv", 0, 2, host::square(2), true);  // 2 x 2 x 2 x 2 weights, output 2 x 2 x 2
  net.softmax("loss", net.fc("fc", conv, 3));
  const Packing packing = make_packing(net.finish(), 4);
  // Convolution: weight k = 1, c = 1, tap (r, s) = (1, 0) is element ((1 * 2 + 1) * 2 + 1) * 2 + 0 = 14 of 16, packed
  // ((1 * 2 + 1) * 2 + 0) * 4 + 1 = 25 with four stored channels.
  const Segment& weight = packing.pack[0];
  CHECK(flat_index(weight, 1, 1, 2) == 14);
  CHECK(packed_index(weight, 1, 1, 2) == 25);
  // Fully connected, behind 16 weights and 2 biases: output 2, feature c = 1 at pixel (0, 1) is
  // 18 + 2 * 8 + 1 * 4 + 1 = 39, packed 2 * 8 + 1 * 2 + 1 = 19 elements in.
  const Segment& dense = packing.pack[2];
  CHECK(flat_index(dense, 2, 1, 1) == 39);
  CHECK(packed_index(dense, 2, 1, 1) == dense.packed + 19);
  CHECK(dense.packed % 128 == 0);
  CHECK(packing.parameters[2][1].element >= 0);  // cuBLASLt's copy of the bias
  CHECK(packing.parameters[2][1].real >= 0);
  CHECK(packing.parameters[1][1].element == -1);
}

TEST_CASE("The device draws the bits of the host") {
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::uint64_t seed = i * 0x123456789ABCDEF;
    CHECK(device_random_bits(seed, i, 3 * i) == random_bits(seed, i, 3 * i));
  }
}

TEST_CASE("The device drops what the host drops") {
  GraphBuilder net("g", "g", {3, 9, 5});  // 135 elements of an image: three words
  net.dropout("drop", 0);
  const Graph graph = net.finish();
  const int batch = 4;
  host::Network<float> network(graph, batch);
  network.initialise(11);
  network.set_step(5);
  const std::vector<float> ones(static_cast<std::size_t>(135 * batch), 1.0F);
  network.forward(ones.data(), true);
  int kept = 0;
  for (int image = 0; image < batch; ++image) {
    const std::uint64_t words = dropout_words(11, 1, 5, image);
    for (int e = 0; e < 135; ++e) {
      const bool keeps = dropout_keeps(words, static_cast<std::uint64_t>(e));
      kept += keeps ? 1 : 0;
      CHECK(network.output()[image * 135 + e] == (keeps ? 2 : 0));
    }
  }
  CHECK(kept > 200);
  CHECK(kept < 340);
}

}  // namespace lockstep::cuda
