#include "sim/replay/actor_work.hpp"

#include "engine/base/index.hpp"

namespace lockstep::sim::replay {

RankOps::RankOps(const Plan& plan) : first_(to_index(plan.ranks) + 1, 0) {
  for (const Phase& phase : plan.phases) {
    rounds_.push_back(phase.rounds);
    for (const Transfer& t : phase.transfers) {
      ++first_[to_index(t.src) + 1];
      ++first_[to_index(t.dst) + 1];
    }
  }
  for (std::size_t rank = 1; rank < first_.size(); ++rank) first_[rank] += first_[rank - 1];
  ops_.resize(first_.back());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (std::int32_t p = 0; p < static_cast<std::int32_t>(plan.phases.size()); ++p)
    for (const Transfer& t : plan.phases[to_index(p)].transfers) {
      ops_[next[to_index(t.src)]++] = {p, t.dst, t.bytes, true, t.reduces};
      ops_[next[to_index(t.dst)]++] = {p, t.src, t.bytes, false, t.reduces};
    }
}

std::vector<std::vector<StreamWork>> works_by_stream(const Program& program) {
  const int streams = static_cast<int>(program.streams.size());
  std::vector<std::vector<bool>> awaited(program.work.size(), std::vector<bool>(to_index(streams), false));
  for (const Work& work : program.work)
    for (int waited : work.after)
      if (program.work[to_index(waited)].stream != work.stream) awaited[to_index(waited)][to_index(work.stream)] = true;

  std::vector<std::vector<StreamWork>> by_stream(to_index(streams));
  std::vector<std::vector<int>> given(to_index(streams), std::vector<int>(to_index(streams), 0));
  std::vector<std::vector<int>> token(program.work.size(), std::vector<int>(to_index(streams), 0));
  for (std::size_t w = 0; w < program.work.size(); ++w) {
    const Work& work = program.work[w];
    StreamWork mine{static_cast<int>(w), {}, {}};
    for (int waited : work.after) {
      const Work& other = program.work[to_index(waited)];
      if (other.stream != work.stream)
        mine.waits.push_back(
            {other.stream, token[to_index(waited)][to_index(work.stream)], other.kind == Work::Kind::copy});
    }
    for (int to = 0; to < streams; ++to)
      if (awaited[w][to_index(to)]) {
        token[w][to_index(to)] = ++given[to_index(work.stream)][to_index(to)];
        mine.signals.push_back(to);
      }
    by_stream[to_index(work.stream)].push_back(std::move(mine));
  }
  return by_stream;
}

}  // namespace lockstep::sim::replay
