#pragma once
// The input pipeline: while the learners compute on the batches of one iteration, one or several threads prepare those of the next.
//
// Batches come from the endless sequence of data/batch_order.hpp: an iteration of k learners with batches of b takes
// the k b positions from where the last one ended, learner j the j-th b of them. Of several processes each prepares the
// batches of its own learners.
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/train/batch_reader.hpp"

namespace lockstep::train {

class InputPipeline {
 public:
  /// `source` and `order` must outlive it.
  /// `threads` of them prepare batches, one of which also waits for room: until a batch's memory, by `allocate`, has been
  /// read (data::Batch::until_read).
  InputPipeline(const data::ImageSource& source, const data::BatchOrder& order, int batch,
                std::optional<data::AugmentationRange> augmentation, std::uint64_t seed, int threads = 1,
                data::Pixels pixels = data::Pixels::floats, data::Allocate allocate = {});
  ~InputPipeline();
  InputPipeline(const InputPipeline&) = delete;
  InputPipeline& operator=(const InputPipeline&) = delete;

  /// Begins, or begins anew, at `position` of the sequence with `learners` batches per iteration, of the `all` that an
  /// iteration takes those from number `first` on; all 0: there are no others.
  void start(std::int64_t position, int learners, int first = 0, int all = 0);
  /// The next iteration's batches, one per learner. Those taken before are given back and overwritten.
  /// Rethrows what went wrong while preparing them.
  const std::vector<data::Batch>& take();

 private:
  void stop();
  void prepare();

  BatchReader reader_;
  int batch_;

  std::int64_t start_ = 0;  ///< position of iteration 0
  std::size_t learners_ = 1;
  std::int64_t stride_ = 1;            ///< positions from one iteration to the next
  std::vector<data::Batch> slots_[2];  ///< iteration i lies in slot i mod 2

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t prepared_ = 0;  ///< iterations since start()
  std::int64_t taken_ = 0;
  std::exception_ptr failure_;
  bool stop_ = false;
};

}  // namespace lockstep::train
