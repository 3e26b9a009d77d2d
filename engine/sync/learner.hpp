#pragma once
// The interface between algorithms and learners: the layout of parameters, and a function that computes gradients.
//
// A learner trains one model replica: n parameters in one contiguous device buffer. Algorithms never see the network or
// its data; they only call GradientFunction, so that tests can use a quadratic function as well as LeNet.
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockstep::sync {

/// One parameter tensor in the flat buffer: elements [begin, begin + count).
struct Segment {
  std::int64_t begin;
  std::int64_t count;
  bool is_weight;  ///< false for biases and batch-norm parameters: no weight decay, no LARS adaptation
};

/// The segments of a model in the order of its buffer. They cover [0, count) without gap or overlap.
struct Layout {
  std::vector<Segment> segments;
  std::int64_t count;
};

/// Throws std::invalid_argument if there is no segment, an empty one, a gap or an overlap.
Layout make_layout(std::vector<Segment> segments);
/// One segment of `count` weights.
Layout plain_layout(std::int64_t count);

/// Whether an update was made. A device decides that without the host (VectorOps::update_where_finite()).
class Verdict {
 public:
  virtual ~Verdict() = default;
  /// Waits for the device.
  virtual bool was_made() = 0;
};

/// The gradient of the mean loss over learner `learner`'s batch in iteration `step`, at `parameters` (n elements on the
/// learner's device, only read). Returns a buffer of n elements, valid until the learner's next call. The batch must
/// depend only on (learner, step), so that a run can be repeated. Any such function converts to this class.
///
/// A caller that sends parts of the gradient early passes a ReadyFunction. A learner that computes synchronously calls
/// it during back-propagation, from the buffer's end to its beginning. It may stop anywhere, or not call it at all.
class GradientFunction {
 public:
  /// Reports that elements [begin, begin + count) of the gradient at `gradient` are final.
  using ReadyFunction = std::function<void(const float* gradient, std::int64_t begin, std::int64_t count)>;
  using Of =
      std::function<const float*(int learner, const float* parameters, std::int64_t step, const ReadyFunction* ready)>;

  using TakesVerdict = std::function<void(std::shared_ptr<Verdict>)>;

  /// has_asked_all() calls `has_asked`, and judged() calls `takes_verdict`.
  template <typename Function>
  GradientFunction(Function of, std::function<void()> has_asked = {}, TakesVerdict takes_verdict = {})
      : has_asked_(std::move(has_asked)), takes_verdict_(std::move(takes_verdict)) {
    if constexpr (std::is_invocable_v<Function, int, const float*, std::int64_t, const ReadyFunction*>)
      of_ = std::move(of);
    else
      of_ = [of = std::move(of)](int learner, const float* parameters, std::int64_t step, const ReadyFunction*) {
        return of(learner, parameters, step);
      };
  }

  const float* operator()(int learner, const float* parameters, std::int64_t step,
                          const ReadyFunction* ready = nullptr) const {
    return of_(learner, parameters, step, ready);
  }
  /// Every algorithm calls this after it has called for all gradients of a step and before it changes its models. At
  /// this point, several processes can agree to drop the step (GradientOverflow in loss_scale.hpp).
  void has_asked_all() const {
    if (has_asked_) has_asked_();
  }
  /// Whether updates are made only if the mean gradient is finite. An algorithm that supports this passes the verdict
  /// of each step to judged() and does not wait for it.
  bool is_to_be_judged() const { return takes_verdict_ != nullptr; }
  void judged(std::shared_ptr<Verdict> verdict) const { takes_verdict_(std::move(verdict)); }

 private:
  Of of_;
  std::function<void()> has_asked_;
  TakesVerdict takes_verdict_;
};

/// Throws std::invalid_argument with `message` unless `condition` is true. Use it for wrong options, which are the
/// caller's error.
void require(bool condition, const char* message);

}  // namespace lockstep::sync
