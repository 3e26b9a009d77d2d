#pragma once
// A collective operation as what it is on the wire: phases of message rounds between ranks.
//
// A phase is a set of transfers that is performed `rounds` times. A rank enters a round when it has left its previous
// one; a transfer starts when its sender and its receiver are both in the round, and takes latency + bytes/bandwidth
// (at most the rate at which the receiver can add, where it adds what arrives); a rank leaves the round when all its
// own transfers have ended. Ranks without a transfer in a round skip it. There is no barrier: ranks drift apart as far
// as their messages let them.
//
// Sizes are whole bytes. Where S does not divide by n, every chunk is ceil(S/n): at most n - 1 bytes more than the
// textbook's total.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::sim {
inline namespace collective {

struct Transfer {
  int src;
  int dst;
  std::int64_t bytes;
  bool reduces = false;  ///< the receiver adds the data to its own as they arrive
};

/// The transfers of a round, in blocks. Phases of a pipeline have blocks in common, and copies of a plan all: a block is
/// kept once.
class Transfers {
 public:
  using Block = std::vector<Transfer>;

  class Iterator {
   public:
    Iterator(const Transfers& all, std::size_t block, std::size_t place) : all_(&all), block_(block), place_(place) {}
    const Transfer& operator*() const { return (*all_->blocks_[block_])[place_]; }
    Iterator& operator++() {
      if (++place_ == all_->blocks_[block_]->size()) {
        place_ = 0;
        ++block_;
      }
      return *this;
    }
    bool operator!=(const Iterator& other) const { return block_ != other.block_ || place_ != other.place_; }

   private:
    const Transfers* all_;
    std::size_t block_;
    std::size_t place_;
  };

  Transfers() = default;
  explicit Transfers(Block transfers) { append(std::make_shared<const Block>(std::move(transfers))); }

  void push_back(const Transfer& transfer);
  void append(const std::shared_ptr<const Block>& block);
  const std::vector<std::shared_ptr<const Block>>& blocks() const { return blocks_; }
  bool empty() const { return blocks_.empty(); }
  std::size_t size() const;
  Iterator begin() const { return {*this, 0, 0}; }
  Iterator end() const { return {*this, blocks_.size(), 0}; }

 private:
  std::vector<std::shared_ptr<const Block>> blocks_;  // none empty
  std::shared_ptr<Block> open_;                       // the last one, where push_back() began it
};

struct Phase {
  Transfers transfers;
  int rounds = 1;
};

/// The time of a whole collective by the cost model of the library that performs it (nccl.hpp).
///
/// Ranks then start together, when the last one has arrived, and leave together. The plan is one round whose transfers
/// are all that the ranks exchange, at the rates at which they take `transfer_s`; it ends `latency_s + transfer_s`
/// after its start, or later where links are narrower than the model thinks, or shared. Routes' latencies and message
/// overheads are part of `latency_s`, which is never below them.
struct CallTime {
  double latency_s = 0;
  double transfer_s = 0;
};

struct Plan {
  std::string algorithm;
  int ranks = 0;
  std::int64_t bytes = 0;  ///< of the vector that is reduced, on every rank
  std::vector<Phase> phases;
  std::optional<CallTime> call = std::nullopt;

  std::int64_t messages() const;
  std::int64_t bytes_sent() const;  ///< over all ranks
  std::vector<std::int64_t> bytes_sent_by_rank() const;
};

/// ceil(bytes / parts).
std::int64_t chunk_bytes(std::int64_t bytes, std::int64_t parts);
/// A ring over `members`: in every round member i sends `bytes` to member i + 1, the last to the first.
Phase ring_phase(const std::vector<int>& members, std::int64_t bytes, int rounds, bool reduces);
/// Ring all-reduce over `members` of chunks of `bytes`: the reduce-scatter and the all-gather, n - 1 rounds each.
void append_ring_all_reduce(Plan& plan, const std::vector<int>& members, std::int64_t bytes);
/// Ranks 0 .. n - 1.
std::vector<int> all_ranks(int n);

}  // namespace collective
}  // namespace lockstep::sim
