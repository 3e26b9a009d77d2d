#include "engine/cuda/chunks.hpp"
#include "tests/catch.hpp"

namespace lockstep::cuda {

// 8193 = 8192 + 1; 3; 16384 = 2 * 8192.
TEST_CASE("A layout is cut into chunks of at most 8192 elements of one segment") {
  const Chunks cut = chunks_of(sync::make_layout({{0, 8193, true}, {8193, 3, false}, {8196, 16384, true}}));
  REQUIRE(cut.ranges.size() == 3);
  CHECK(cut.ranges[0].count == 2);
  CHECK(cut.ranges[1].first == 2);
  CHECK(cut.ranges[2].first == 3);
  CHECK(cut.ranges[2].count == 2);
  REQUIRE(cut.chunks.size() == 5);
  CHECK(cut.chunks[1].begin == 8192);
  CHECK(cut.chunks[1].count == 1);
  CHECK(cut.chunks[2].segment == 1);
  CHECK_FALSE(cut.chunks[2].is_weight);
}

TEST_CASE("Chunks cover a layout without gap or overlap") {
  std::vector<sync::Segment> segments;
  std::int64_t end = 0;
  for (std::int64_t count = 1; count < 200000; count = count * 3 + 1) {
    segments.push_back({end, count, count % 2 == 0});
    end += count;
  }
  const sync::Layout layout = sync::make_layout(segments);
  const Chunks cut = chunks_of(layout);
  std::int64_t at = 0;
  for (std::size_t k = 0; k < cut.chunks.size(); ++k) {
    const Chunk& chunk = cut.chunks[k];
    CHECK(chunk.begin == at);
    CHECK(chunk.count >= 1);
    CHECK(chunk.count <= kChunkElements);
    const auto s = static_cast<std::size_t>(chunk.segment);
    CHECK(chunk.is_weight == segments[s].is_weight);
    CHECK(chunk.begin + chunk.count <= segments[s].begin + segments[s].count);
    CHECK(static_cast<std::int32_t>(k) >= cut.ranges[s].first);
    CHECK(static_cast<std::int32_t>(k) < cut.ranges[s].first + cut.ranges[s].count);
    at += chunk.count;
  }
  CHECK(at == layout.count);
}

}  // namespace lockstep::cuda
