#include "sim/replay/enqueued.hpp"

#include <utility>

#include "engine/base/index.hpp"

namespace lockstep::sim {
inline namespace replay {

std::vector<std::vector<Enqueued>> enqueued_by_stream(const Program& program) {
  std::vector<std::vector<Enqueued>> by_stream(program.streams.size());
  std::vector<int> place(program.work.size());
  for (std::size_t w = 0; w < program.work.size(); ++w) {
    const Work& work = program.work[w];
    Enqueued mine{static_cast<int>(w), {}};
    for (int waited : work.after) {
      const Work& other = program.work[at(waited)];
      if (other.stream != work.stream)
        mine.needs.push_back({other.stream, place[at(waited)] + 1, other.kind == Work::Kind::copy});
    }
    place[w] = static_cast<int>(by_stream[at(work.stream)].size());
    by_stream[at(work.stream)].push_back(std::move(mine));
  }
  return by_stream;
}

}  // namespace replay
}  // namespace lockstep::sim
