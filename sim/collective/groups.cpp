#include "sim/collective/groups.hpp"

#include <map>
#include <memory>

#include "sim/collective/collectives.hpp"

namespace lockstep::sim::collective {
namespace {

std::shared_ptr<const Transfers::Block> in_every_group(const Transfers::Block& block, int ranks, int groups) {
  auto repeated = std::make_shared<Transfers::Block>();
  for (const Run& run : block.runs()) {
    if (run.count == 1) {
      repeated->append({run.src, run.dst, run.bytes, run.reduces, groups, ranks, ranks});
      continue;
    }
    for (int group = 0; group < groups; ++group) {
      Run of_group = run;
      of_group.src += group * ranks;
      of_group.dst += group * ranks;
      repeated->append(of_group);
    }
  }
  return repeated;
}

}  // namespace

Plan in_every_group(const Plan& of_group, int groups) {
  std::map<const Transfers::Block*, std::shared_ptr<const Transfers::Block>> known;
  Plan plan = of_group;
  plan.ranks = of_group.ranks * groups;
  for (Phase& phase : plan.phases.edit()) {
    Transfers repeated;
    for (const auto& block : phase.transfers.blocks()) {
      std::shared_ptr<const Transfers::Block>& mine = known[block.get()];
      if (!mine) mine = in_every_group(*block, of_group.ranks, groups);
      repeated.append(mine);
    }
    phase.transfers = std::move(repeated);
  }
  return plan;
}

Plan average_between_groups(int ranks, int group, std::int64_t bytes) {
  const int groups = ranks / group;
  Plan plan{"average between groups", ranks, bytes, {}};
  const std::int64_t part = chunk_bytes(bytes, group), share = chunk_bytes(part, groups);
  const auto exchange = [&](bool reduces) {
    Phase phase;
    phase.rounds = groups - 1;
    for (int member = 0; member < groups; ++member)
      phase.transfers.append(Run{member * group, (member + 1) % groups * group, share, reduces, group, 1, 1});
    plan.phases.edit().push_back(std::move(phase));
  };
  if (groups > 1)
    for (const bool reduces : {true, false}) exchange(reduces);
  return plan;
}

}  // namespace lockstep::sim::collective
