#include "engine/mpi/mpi_processes.hpp"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/sync/vector_ops.hpp"

namespace lockstep::mpi {
namespace {

// The pause between two checks for a message doubles from the first to the second.
constexpr std::chrono::microseconds kLeastPause{20}, kMostPause{500};

void check(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw std::runtime_error(std::string(call) + ": " + text);
}

class MpiProcesses final : public sync::Processes {
 public:
  MpiProcesses(int& argc, char**& argv, std::int64_t most_at_once) : most_at_once_(most_at_once) {
    int provided = 0;
    check(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    may_change_thread_ = provided >= MPI_THREAD_SERIALIZED;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check(MPI_Comm_size(MPI_COMM_WORLD, &count_), "MPI_Comm_size");
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    MPI_Comm machine = MPI_COMM_NULL;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine),
          "MPI_Comm_split_type");
    MPI_Comm_rank(machine, &local_rank_);
    MPI_Comm_size(machine, &local_count_);
    MPI_Comm_free(&machine);
  }
  ~MpiProcesses() override { MPI_Finalize(); }
  MpiProcesses(const MpiProcesses&) = delete;
  MpiProcesses& operator=(const MpiProcesses&) = delete;

  int count() const override { return count_; }
  int rank() const override { return rank_; }
  int local_rank() const override { return local_rank_; }
  int local_count() const override { return local_count_; }

  void sum(std::int64_t n, float* x) override {
    for_blocks(n, [&](std::int64_t begin, int count) {
      const std::vector<std::int64_t> parts = even_parts(count);
      float* const block = x + begin;
      add_parts(parts, block, block + parts[static_cast<std::size_t>(rank_)]);
      share_parts(parts, block);
    });
  }

  /// Every process sends all its numbers to all others: for small n.
  void sum(std::int64_t n, double* x) override {
    const auto size = static_cast<std::size_t>(n);
    std::vector<double> all(size * static_cast<std::size_t>(count_));
    check(
        MPI_Allgather(x, static_cast<int>(n), MPI_DOUBLE, all.data(), static_cast<int>(n), MPI_DOUBLE, MPI_COMM_WORLD),
        "MPI_Allgather");
    std::copy_n(all.begin(), size, x);
    for (std::size_t k = size; k < all.size(); ++k) x[k % size] += all[k];
  }

  void broadcast(std::size_t size_bytes, void* data) override {
    for_blocks(static_cast<std::int64_t>(size_bytes), [&](std::int64_t begin, int count) {
      check(MPI_Bcast(static_cast<char*>(data) + begin, count, MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast");
    });
  }

  void reduce(std::int64_t n, const float* send, float* receive) override {
    for_blocks(n, [&](std::int64_t begin, int count) {
      check(MPI_Reduce(send + begin, receive + begin, count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD), "MPI_Reduce");
    });
  }

  void reduce_scatter(std::int64_t part, const float* send, float* receive) override {
    for_blocks(part, [&](std::int64_t begin, int count) {
      check(MPI_Reduce_scatter_block(of_each_part(part, begin, count, send), receive + begin, count, MPI_FLOAT, MPI_SUM,
                                     MPI_COMM_WORLD),
            "MPI_Reduce_scatter_block");
    });
  }

  void all_gather(std::int64_t part, const float* send, float* receive) override {
    for_blocks(part, [&](std::int64_t begin, int count) {
      float* const to = room_for(part, count, receive);
      check(MPI_Allgather(send + begin, count, MPI_FLOAT, to, count, MPI_FLOAT, MPI_COMM_WORLD), "MPI_Allgather");
      into_each_part(part, begin, count, to, receive);
    });
  }

  void all_to_all(std::int64_t part, const float* send, float* receive) override {
    for_blocks(part, [&](std::int64_t begin, int count) {
      float* const to = room_for(part, count, receive);
      check(
          MPI_Alltoall(of_each_part(part, begin, count, send), count, MPI_FLOAT, to, count, MPI_FLOAT, MPI_COMM_WORLD),
          "MPI_Alltoall");
      into_each_part(part, begin, count, to, receive);
    });
  }

  void add_parts(const std::vector<std::int64_t>& begins, const float* x, float* own) override {
    for_blocks_of_parts(begins, [&](std::int64_t begin) {
      if (is_one_block(begins)) return add_block(x, own);
      sent_.clear();
      for (std::size_t p = 0; p < sizes_.size(); ++p)
        sent_.insert(sent_.end(), x + begins[p] + begin, x + begins[p] + begin + sizes_[p]);
      add_block(sent_.data(), own + begin);
    });
  }

  void share_parts(const std::vector<std::int64_t>& begins, float* x) override {
    const auto self = static_cast<std::size_t>(rank_);
    for_blocks_of_parts(begins, [&](std::int64_t begin) {
      if (is_one_block(begins)) {
        check(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_FLOAT, x, sizes_.data(), begins_.data(), MPI_FLOAT, MPI_COMM_WORLD),
              "MPI_Allgatherv");
        return;
      }
      received_.resize(static_cast<std::size_t>(begins_.back()) + static_cast<std::size_t>(sizes_.back()));
      check(MPI_Allgatherv(x + begins[self] + begin, sizes_[self], MPI_FLOAT, received_.data(), sizes_.data(),
                           begins_.data(), MPI_FLOAT, MPI_COMM_WORLD),
            "MPI_Allgatherv");
      for (std::size_t p = 0; p < sizes_.size(); ++p)
        std::copy_n(received_.data() + begins_[p], sizes_[p], x + begins[p] + begin);
    });
  }

  bool may_change_thread() const override { return may_change_thread_; }

  std::string send(int from, int to, const std::string& bytes) override {
    auto size = static_cast<std::int64_t>(bytes.size());
    if (rank_ == from) {
      check(MPI_Send(&size, 1, MPI_INT64_T, to, 0, MPI_COMM_WORLD), "MPI_Send");
      for_blocks(size, [&](std::int64_t begin, int count) {
        check(MPI_Send(bytes.data() + begin, count, MPI_BYTE, to, 0, MPI_COMM_WORLD), "MPI_Send");
      });
    }
    if (rank_ != to) return {};
    check(MPI_Recv(&size, 1, MPI_INT64_T, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
    std::string received(static_cast<std::size_t>(size), '\0');
    for_blocks(size, [&](std::int64_t begin, int count) {
      check(MPI_Recv(received.data() + begin, count, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
    });
    return received;
  }

  // MPI_Probe would occupy a processor while it waits; other threads need it.
  int next_sender() override {
    for (auto pause = kLeastPause;; pause = std::min(2 * pause, kMostPause)) {
      for (int k = 1; k <= count_; ++k) {
        const int from = (last_sender_ + k) % count_;
        int is_there = 0;
        check(MPI_Iprobe(from, 0, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE), "MPI_Iprobe");
        if (is_there != 0) return last_sender_ = from;
      }
      std::this_thread::sleep_for(pause);
    }
  }

  void abort(int exit_code) override {
    if (count_ > 1) MPI_Abort(MPI_COMM_WORLD, exit_code);
  }

 private:
  std::vector<std::int64_t> even_parts(std::int64_t n) const {
    std::vector<std::int64_t> begins;
    for (int p = 0; p < count_; ++p) begins.push_back(sync::part_of(n, p, count_).begin);
    begins.push_back(n);
    return begins;
  }

  template <typename Task>
  void for_blocks(std::int64_t n, const Task& task) const {
    for (std::int64_t begin = 0; begin < n; begin += most_at_once_) {
      task(begin, static_cast<int>(std::min(most_at_once_, n - begin)));
    }
  }

  // Parts with more numbers than MPI can count are exchanged in blocks. A block has all parts' numbers from `begin` on,
  // copied next to each other. If a part is a single block, it is sent from where it is.
  const float* of_each_part(std::int64_t part, std::int64_t begin, int count, const float* parts) {
    if (count == part) return parts;
    sent_.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(count_));
    for (int p = 0; p < count_; ++p)
      std::copy_n(parts + p * part + begin, count, sent_.data() + std::int64_t{p} * count);
    return sent_.data();
  }
  float* room_for(std::int64_t part, int count, float* parts) {
    if (count == part) return parts;
    received_.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(count_));
    return received_.data();
  }
  void into_each_part(std::int64_t part, std::int64_t begin, int count, const float* blocks, float* parts) {
    for (int p = 0; blocks != parts && p < count_; ++p)
      std::copy_n(blocks + std::int64_t{p} * count, count, parts + p * part + begin);
  }

  /// Sets sizes_ and begins_ for block `begin` of every part, at most `most` numbers per part. Blocks are next to each
  /// other; if all numbers are one block, they stay where they are.
  void lay_out(const std::vector<std::int64_t>& begins, std::int64_t begin, std::int64_t most) {
    sizes_.clear();
    begins_.clear();
    std::int64_t side_by_side = 0;
    for (std::size_t p = 0; p + 1 < begins.size(); ++p) {
      const std::int64_t left = begins[p + 1] - begins[p] - begin;
      sizes_.push_back(static_cast<int>(std::clamp<std::int64_t>(left, 0, most)));
      begins_.push_back(static_cast<int>(is_one_block(begins) ? begins[p] : side_by_side));
      side_by_side += sizes_.back();
    }
  }
  bool is_one_block(const std::vector<std::int64_t>& begins) const { return begins.back() <= most_at_once_; }

  /// Calls `task` for each block of parts, with the offset of the block within each part.
  template <typename Task>
  void for_blocks_of_parts(const std::vector<std::int64_t>& begins, const Task& task) {
    std::int64_t longest = 0;
    for (std::size_t p = 0; p + 1 < begins.size(); ++p) longest = std::max(longest, begins[p + 1] - begins[p]);
    const std::int64_t most = is_one_block(begins) ? longest : std::max<std::int64_t>(1, most_at_once_ / count_);
    for (std::int64_t begin = 0; begin < longest; begin += most) {
      lay_out(begins, begin, most);
      task(begin);
    }
  }

  /// Receives all processes' numbers for this process's part and adds them in the order of ranks.
  void add_block(const float* blocks, float* own) {
    const int count = sizes_[static_cast<std::size_t>(rank_)];
    const std::vector<int> own_sizes(sizes_.size(), count);
    std::vector<int> own_begins(sizes_.size());
    for (std::size_t p = 0; p < own_begins.size(); ++p) own_begins[p] = static_cast<int>(p) * count;
    received_.resize(static_cast<std::size_t>(count) * sizes_.size());
    check(MPI_Alltoallv(blocks, sizes_.data(), begins_.data(), MPI_FLOAT, received_.data(), own_sizes.data(),
                        own_begins.data(), MPI_FLOAT, MPI_COMM_WORLD),
          "MPI_Alltoallv");
    const auto size = static_cast<std::size_t>(count);
    for (std::size_t k = size; k < received_.size(); ++k) received_[k % size] += received_[k];
    std::copy_n(received_.begin(), size, own);
  }

  std::int64_t most_at_once_;
  int count_ = 1;
  int rank_ = 0;
  int local_rank_ = 0;
  int local_count_ = 1;
  int last_sender_ = 0;  ///< result of the last next_sender()
  std::vector<int> sizes_, begins_;
  std::vector<float> sent_, received_;
  bool may_change_thread_ = false;
};

}  // namespace

std::unique_ptr<sync::Processes> start(int& argc, char**& argv, std::int64_t most_at_once) {
  return std::make_unique<MpiProcesses>(argc, argv, most_at_once);
}

}  // namespace lockstep::mpi
