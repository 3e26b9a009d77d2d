#include "sim/collective/plan.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace lockstep::sim::collective {

void Transfers::Block::push_back(const Transfer& t) {
  if (!runs_.empty()) {
    Run& last = runs_.back();
    const bool is_like_last = last.bytes == t.bytes && last.reduces == t.reduces;
    if (is_like_last && last.count == 1) {
      last.src_stride = t.src - last.src;
      last.dst_stride = t.dst - last.dst;
    }
    if (is_like_last && last.src_at(last.count) == t.src && last.dst_at(last.count) == t.dst) {
      ++last.count;
      return;
    }
  }
  runs_.push_back({t.src, t.dst, t.bytes, t.reduces});
}

void Transfers::Block::append(const Run& run) {
  if (run.count == 1)
    push_back(run.at(0));
  else if (run.count > 1)
    runs_.push_back(run);
}

std::size_t Transfers::Block::size() const {
  std::size_t sum = 0;
  for (const Run& run : runs_) sum += static_cast<std::size_t>(run.count);
  return sum;
}

std::int64_t Transfers::Block::bytes_of_each_transfer() const {
  if (runs_.empty()) return -1;
  const std::int64_t bytes = runs_.front().bytes;
  const bool are_same = std::all_of(runs_.begin(), runs_.end(), [bytes](const Run& run) { return run.bytes == bytes; });
  return are_same ? bytes : -1;
}

Transfers::Block Transfers::Block::of_bytes(std::int64_t bytes) const {
  Block block = *this;
  for (Run& run : block.runs_) run.bytes = bytes;
  return block;
}

// Returns the block to extend. A block that others share is not changed: this object's own uses are open_ and blocks_.
Transfers::Block& Transfers::open() {
  if (!open_ || open_.use_count() > 2 || blocks_.back() != open_) {
    open_ = std::make_shared<Block>();
    blocks_.push_back(open_);
  }
  return *open_;
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

namespace {

// Counts how often a plan performs each of its blocks.
std::unordered_map<const Transfers::Block*, std::int64_t> times_of_blocks(const Plan& plan) {
  std::unordered_map<const Transfers::Block*, std::int64_t> times;
  for (const Phase& phase : plan.phases)
    for (const auto& block : phase.transfers.blocks()) times[block.get()] += phase.rounds;
  return times;
}

}  // namespace

std::int64_t Plan::bytes_sent() const {
  std::int64_t sent = 0;
  for (const Phase& phase : phases)
    for (const auto& block : phase.transfers.blocks())
      for (const Run& run : block->runs()) sent += run.bytes * run.count * phase.rounds;
  return sent;
}

std::vector<std::int64_t> Plan::bytes_sent_by_rank() const {
  std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks), 0);
  for (const auto& [block, count] : times_of_blocks(*this))
    for (const Transfer& transfer : *block) sent[static_cast<std::size_t>(transfer.src)] += transfer.bytes * count;
  return sent;
}

std::int64_t chunk_bytes(std::int64_t bytes, std::int64_t parts) {
  return (bytes + parts - 1) / parts;
}

Phase ring_phase(int first, int stride, int members, std::int64_t bytes, int rounds, bool reduces) {
  Transfers::Block block;
  block.append(Run{first, first + stride, bytes, reduces, members - 1, stride, stride});
  block.push_back({first + (members - 1) * stride, first, bytes, reduces});
  return {Transfers(std::move(block)), rounds};
}

void append_ring_all_reduce(Plan& plan, int stride, int members, std::int64_t bytes) {
  if (members < 2) return;
  plan.phases.edit().push_back(ring_phase(0, stride, members, bytes, members - 1, true));
  plan.phases.edit().push_back(ring_phase(0, stride, members, bytes, members - 1, false));
}

}  // namespace lockstep::sim::collective
