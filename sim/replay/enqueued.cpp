#include "sim/replay/enqueued.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "engine/base/index.hpp"

namespace lockstep::sim::replay {

std::vector<std::vector<Enqueued>> enqueued_by_stream(const Program& program) {
  std::vector<std::vector<Enqueued>> by_stream(program.streams.size());
  std::vector<int> place(program.work.size());
  for (std::size_t w = 0; w < program.work.size(); ++w) {
    const Work& work = program.work[w];
    Enqueued mine{static_cast<int>(w), {}};
    for (int waited : work.after) {
      const Work& other = program.work[to_index(waited)];
      if (other.stream != work.stream)
        mine.needs.push_back({other.stream, place[to_index(waited)] + 1, other.kind == Work::Kind::copy});
    }
    std::stable_partition(mine.needs.begin(), mine.needs.end(), [](const Need& need) { return !need.is_copy; });
    place[w] = static_cast<int>(by_stream[to_index(work.stream)].size());
    by_stream[to_index(work.stream)].push_back(std::move(mine));
  }
  return by_stream;
}

bool computes_on_several_streams(const Program& program) {
  std::set<int> streams;
  for (const Work& work : program.work)
    if (work.kind == Work::Kind::compute) streams.insert(work.stream);
  return streams.size() > 1;
}

std::vector<std::vector<int>> streams_after(const std::vector<std::vector<Enqueued>>& works) {
  std::vector<std::set<int, std::greater<int>>> after(works.size());
  for (std::size_t stream = 0; stream < works.size(); ++stream) {
    after[stream].insert(static_cast<int>(stream));
    for (const Enqueued& work : works[stream])
      for (const Need& need : work.needs) after[to_index(need.stream)].insert(static_cast<int>(stream));
  }
  std::vector<std::vector<int>> all;
  for (const auto& streams : after) all.emplace_back(streams.begin(), streams.end());
  return all;
}

}  // namespace lockstep::sim::replay
