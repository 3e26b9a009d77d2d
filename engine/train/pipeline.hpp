#pragma once
// The input pipeline. While the learners compute on the batches of one iteration, one or more threads prepare the
// batches of the next.
//
// Batches come from the endless sequence of data/batch_order.hpp. An iteration of k learners with batches of b uses the
// next k b positions, and learner j uses the j-th b of them. With several processes, each prepares its own learners'
// batches.
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
  /// `source` and `order` must outlive this object. `threads` threads prepare batches. One of them also waits until the
  /// memory of a batch, from `allocate`, may be overwritten (data::Batch::until_read).
  InputPipeline(const data::ImageSource& source, const data::BatchOrder& order, int batch,
                std::optional<data::AugmentationRange> augmentation, std::uint64_t seed, int threads = 1,
                data::Pixels pixels = data::Pixels::floats, data::Allocate allocate = {});
  ~InputPipeline();
  InputPipeline(const InputPipeline&) = delete;
  InputPipeline& operator=(const InputPipeline&) = delete;

  /// Starts, or restarts, at `position` of the sequence. This process prepares `learners` batches per iteration, those
  /// from number `first` on among the iteration's `all`. If `all` is 0, there are no others.
  void start(std::int64_t position, int learners, int first = 0, int all = 0);
  /// Returns the next iteration's batches, one per learner. The previous batches may then be overwritten. Rethrows
  /// exceptions of their preparation.
  const std::vector<data::Batch>& take();

 private:
  void stop();
  void prepare();

  BatchReader reader_;
  int batch_;

  std::int64_t start_ = 0;  ///< position of iteration 0
  std::size_t learners_ = 1;
  std::int64_t stride_ = 1;            ///< positions per iteration
  std::vector<data::Batch> slots_[2];  ///< iteration i uses slot i mod 2

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t prepared_ = 0;  ///< iterations since start()
  std::int64_t taken_ = 0;
  std::exception_ptr failure_;
  bool stop_ = false;
};

}  // namespace lockstep::train
