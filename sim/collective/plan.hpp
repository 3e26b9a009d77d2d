#pragma once
// Describes a collective by its messages: phases of message rounds between ranks.
//
// A phase is a set of transfers that is performed `rounds` times. A rank enters a round when it has left its previous
// one. A transfer starts when its sender and its receiver are both in the round, and takes latency + bytes/bandwidth.
// If the receiver adds the data to its own, the rate at which it can add is a limit, too. A rank leaves the round when
// all its own transfers have ended. Ranks without a transfer in a round skip it. There is no barrier: ranks drift apart
// as far as their messages let them.
//
// Sizes are whole bytes. If n does not divide S, every chunk is ceil(S/n) bytes: at most n - 1 bytes more in total than
// the textbook's formula.
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/shared_vector.hpp"
#include "sim/modules.hpp"

namespace lockstep::sim::collective {

struct Transfer {
  int src;
  int dst;
  std::int64_t bytes;
  bool reduces = false;  ///< the receiver adds the data to its own as they arrive
};

/// Equal transfers at equal distances: the i-th goes from src + i src_stride to dst + i dst_stride.
struct Run {
  int src;
  int dst;
  std::int64_t bytes;
  bool reduces = false;
  int count = 1;
  int src_stride = 0;
  int dst_stride = 0;

  int src_at(int i) const { return src + i * src_stride; }
  int dst_at(int i) const { return dst + i * dst_stride; }
  Transfer at(int i) const { return {src_at(i), dst_at(i), bytes, reduces}; }
};

/// The transfers of a round, in blocks. Phases of a pipeline share blocks, and copies of a plan share all; each block
/// is stored once. A block consists of runs, so the memory of a plan grows with its shape and not with its ranks.
class Transfers {
 public:
  class Block {
   public:
    class Iterator {
     public:
      Iterator(const Run* run, int place) : run_(run), place_(place) {}
      Transfer operator*() const { return run_->at(place_); }
      Iterator& operator++() {
        if (++place_ == run_->count) {
          place_ = 0;
          ++run_;
        }
        return *this;
      }
      bool operator!=(const Iterator& other) const { return run_ != other.run_ || place_ != other.place_; }

     private:
      const Run* run_;
      int place_;
    };

    Block() = default;
    Block(std::initializer_list<Transfer> transfers) {
      for (const Transfer& transfer : transfers) push_back(transfer);
    }

    /// Extends the last run if possible.
    void push_back(const Transfer& transfer);
    /// Appends a run; a run with a count of 0 changes nothing.
    void append(const Run& run);
    const std::vector<Run>& runs() const { return runs_; }
    bool empty() const { return runs_.empty(); }
    std::size_t size() const;
    /// Bytes of each transfer if all are equal; -1 if they differ or there is none.
    std::int64_t bytes_of_each_transfer() const;
    /// Returns a copy with `bytes` in each transfer.
    Block of_bytes(std::int64_t bytes) const;
    Iterator begin() const { return {runs_.data(), 0}; }
    Iterator end() const { return {runs_.data() + runs_.size(), 0}; }

   private:
    std::vector<Run> runs_;  // runs with a count of 0 are not stored
  };

  class Iterator {
   public:
    Iterator(const Transfers& all, std::size_t block)
        : all_(&all), block_(block), place_(block < all.blocks_.size() ? all.blocks_[block]->begin() : nowhere()) {}
    Transfer operator*() const { return *place_; }
    Iterator& operator++() {
      ++place_;
      if (!(place_ != all_->blocks_[block_]->end())) *this = Iterator(*all_, block_ + 1);
      return *this;
    }
    bool operator!=(const Iterator& other) const { return block_ != other.block_ || place_ != other.place_; }

   private:
    static Block::Iterator nowhere() { return {nullptr, 0}; }
    const Transfers* all_;
    std::size_t block_;
    Block::Iterator place_;
  };

  Transfers() = default;
  explicit Transfers(Block transfers) { append(std::make_shared<const Block>(std::move(transfers))); }

  void push_back(const Transfer& transfer) { open().push_back(transfer); }
  void append(const Run& run) {
    if (run.count > 0) open().append(run);
  }
  void append(const std::shared_ptr<const Block>& block);
  const std::vector<std::shared_ptr<const Block>>& blocks() const { return blocks_; }
  bool empty() const { return blocks_.empty(); }
  std::size_t size() const;
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, blocks_.size()}; }

 private:
  Block& open();
  std::vector<std::shared_ptr<const Block>> blocks_;  // empty blocks are not stored
  std::shared_ptr<Block> open_;                       // the last block, if push_back() began it
};

struct Phase {
  Transfers transfers;
  int rounds = 1;
};

/// The time of a whole collective by the cost model of the library that performs it (nccl.hpp).
///
/// Ranks then start together, when the last one has arrived, and leave together. The plan is one round with all
/// transfers between the ranks, at rates for which they take `transfer_s`. It ends `latency_s + transfer_s` after its
/// start, or later if links are shared or narrower than in the model. Routes' latencies and message overheads are part
/// of `latency_s`, which is never below them.
struct CallTime {
  double latency_s = 0;
  double transfer_s = 0;
};

struct Plan {
  std::string algorithm;
  int ranks = 0;
  std::int64_t bytes = 0;      ///< of the vector that is reduced, on every rank
  SharedVector<Phase> phases;  ///< copies of a plan share them
  std::optional<CallTime> call = std::nullopt;

  std::int64_t messages() const;
  std::int64_t bytes_sent() const;  ///< over all ranks
  std::vector<std::int64_t> bytes_sent_by_rank() const;
};

/// ceil(bytes / parts).
std::int64_t chunk_bytes(std::int64_t bytes, std::int64_t parts);
/// A ring over two or more ranks: first, first + stride, ..., `members` in all. In every round each rank sends `bytes`
/// to the next one, the last rank to the first.
Phase ring_phase(int first, int stride, int members, std::int64_t bytes, int rounds, bool reduces);
/// Ring all-reduce over `members` ranks 0, stride, 2 stride, ..., in chunks of `bytes`. The reduce-scatter and the
/// all-gather take n - 1 rounds each.
void append_ring_all_reduce(Plan& plan, int stride, int members, std::int64_t bytes);

}  // namespace lockstep::sim::collective
