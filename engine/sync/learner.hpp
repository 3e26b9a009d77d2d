#pragma once
// What every algorithm of this room knows of a learner: how its parameters are laid out, and that it gives gradients.
//
// A learner trains one model replica: n parameters in one contiguous device buffer. The algorithms never see the
// network or its data; they ask for gradients through GradientFunction, so a quadratic tests them as well as LeNet.
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockstep::sync {

/// One parameter tensor inside the flat buffer: elements [begin, begin + count).
struct Segment {
  std::int64_t begin;
  std::int64_t count;
  bool is_weight;  ///< false for biases and batch-norm parameters: no weight decay, no LARS adaptation
};

/// The segments of a model in the order of its buffer; together they cover [0, count) without gap or overlap.
struct Layout {
  std::vector<Segment> segments;
  std::int64_t count;
};

/// Throws std::invalid_argument: no segment, an empty one, a gap or an overlap.
Layout make_layout(std::vector<Segment> segments);
/// One segment of `count` weights.
Layout plain_layout(std::int64_t count);

/// Whether an update was made: a device finds it out by itself (VectorOps::update_where_finite()).
class Verdict {
 public:
  virtual ~Verdict() = default;
  /// Waits for the device.
  virtual bool was_made() = 0;
};

/// Gradient of the mean loss over learner `learner`'s batch of iteration `step`, at `parameters` (n elements on the
/// learner's device, only read). Returns a buffer of n elements that stays valid until the learner is asked again.
/// The batch may depend on (learner, step) only, so that a run can be repeated. Made from any such function.
///
/// A caller that wants to send parts of it early names a ReadyFunction; a learner that computes while it is asked calls
/// it, as back-propagation goes on, from the buffer's end to its beginning, and may stop anywhere or not begin at all.
class GradientFunction {
 public:
  /// Elements [begin, begin + count) of the gradient at `gradient` will not change any more.
  using ReadyFunction = std::function<void(const float* gradient, std::int64_t begin, std::int64_t count)>;
  using Of =
      std::function<const float*(int learner, const float* parameters, std::int64_t step, const ReadyFunction* ready)>;

  using TakesVerdict = std::function<void(std::shared_ptr<Verdict>)>;

  /// `has_asked` is what has_asked_all() calls, `takes_verdict` what judged() does.
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
  /// Every algorithm says so when it has asked for all gradients of a step and before it changes its models: here
  /// several processes can agree that the step is not taken (GradientOverflow in loss_scale.hpp).
  void has_asked_all() const {
    if (has_asked_) has_asked_();
  }
  /// Whether updates are to be made only where the mean gradient is finite. An algorithm that can hands the verdict of
  /// each step to judged(), and waits for none.
  bool is_to_be_judged() const { return takes_verdict_ != nullptr; }
  void judged(std::shared_ptr<Verdict> verdict) const { takes_verdict_(std::move(verdict)); }

 private:
  Of of_;
  std::function<void()> has_asked_;
  TakesVerdict takes_verdict_;
};

/// Throws std::invalid_argument with `message` unless `condition` holds: wrong options are a caller's mistake.
void require(bool condition, const char* message);

}  // namespace lockstep::sync
