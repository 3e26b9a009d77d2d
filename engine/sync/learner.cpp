#include "engine/sync/learner.hpp"

#include <stdexcept>
#include <utility>

namespace lockstep::sync {

void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

Layout make_layout(std::vector<Segment> segments) {
  require(!segments.empty(), "layout: no segments");
  std::int64_t end = 0;
  for (const Segment& segment : segments) {
    require(segment.begin == end, "layout: segments must follow each other without gap or overlap");
    require(segment.count > 0, "layout: a segment is empty");
    end += segment.count;
  }
  return {std::move(segments), end};
}

Layout plain_layout(std::int64_t count) {
  return make_layout({{0, count, true}});
}

}  // namespace lockstep::sync
