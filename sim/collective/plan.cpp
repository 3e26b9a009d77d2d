#include "sim/collective/plan.hpp"

#include <numeric>
#include <unordered_map>
#include <utility>

namespace lockstep::sim {
inline namespace collective {

// A block that another one shares stays as it is: use_count() counts open_ and blocks_.
void Transfers::push_back(const Transfer& transfer) {
  if (!open_ || open_.use_count() > 2 || blocks_.back() != open_) {
    open_ = std::make_shared<Block>();
    blocks_.push_back(open_);
  }
  open_->push_back(transfer);
}

void Transfers::append(const std::shared_ptr<const Block>& block) {
  if (!block->empty()) blocks_.push_back(block);
}

std::size_t Transfers::size() const {
  std::size_t sum = 0;
  for (const auto& block : blocks_) sum += block->size();
  return sum;
}

std::int64_t Plan::messages() const {
  std::int64_t sum = 0;
  for (const Phase& phase : phases) sum += static_cast<std::int64_t>(phase.transfers.size()) * phase.rounds;
  return sum;
}

std::int64_t Plan::bytes_sent() const {
  const std::vector<std::int64_t> by_rank = bytes_sent_by_rank();
  return std::accumulate(by_rank.begin(), by_rank.end(), std::int64_t{0});
}

std::vector<std::int64_t> Plan::bytes_sent_by_rank() const {
  std::unordered_map<const Transfers::Block*, std::int64_t> times;
  for (const Phase& phase : phases)
    for (const auto& block : phase.transfers.blocks()) times[block.get()] += phase.rounds;
  std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks), 0);
  for (const auto& [block, count] : times)
    for (const Transfer& transfer : *block) sent[static_cast<std::size_t>(transfer.src)] += transfer.bytes * count;
  return sent;
}

std::int64_t chunk_bytes(std::int64_t bytes, std::int64_t parts) {
  return (bytes + parts - 1) / parts;
}

Phase ring_phase(const std::vector<int>& members, std::int64_t bytes, int rounds, bool reduces) {
  Transfers::Block transfers;
  transfers.reserve(members.size());
  for (std::size_t i = 0; i < members.size(); ++i)
    transfers.push_back({members[i], members[(i + 1) % members.size()], bytes, reduces});
  return {Transfers(std::move(transfers)), rounds};
}

void append_ring_all_reduce(Plan& plan, const std::vector<int>& members, std::int64_t bytes) {
  const int rounds = static_cast<int>(members.size()) - 1;
  if (rounds < 1) return;
  plan.phases.push_back(ring_phase(members, bytes, rounds, true));
  plan.phases.push_back(ring_phase(members, bytes, rounds, false));
}

std::vector<int> all_ranks(int n) {
  std::vector<int> ranks(static_cast<std::size_t>(n));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace collective
}  // namespace lockstep::sim
