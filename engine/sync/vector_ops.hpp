#pragma once
// The few vector operations that the synchronisation algorithms are written in, on buffers of a device. The host
// implements them with Eigen (HostVectorOps); an accelerator implements the same list.
//
// Conventions. n is the number of float elements; x, y, g, v, w, z are device buffers of n elements; scalars are
// doubles, rounded to float before use. lambda_i is the weight decay of element i: `weight_decay` inside segments with
// is_weight, 0 elsewhere. An operation runs on the device of its output, after the operations called before it that
// write its inputs; only download(), dot() and norms() wait for the result.
// Buffers of one call do not overlap unless the operation says so.
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/sync/adam.hpp"
#include "engine/sync/learner.hpp"

namespace lockstep::sync {

/// Hyper-parameters of one update.
struct StepSize {
  double learning_rate;
  double momentum;
  double weight_decay;
};

/// Layer-wise adaptive rate scaling; see lars.hpp.
struct LarsOptions {
  double coefficient = 0.001;
  double epsilon = 0;
};

/// Elements [begin, begin + count) of a vector.
struct Part {
  std::int64_t begin;
  std::int64_t count;
};

/// Part k of n elements that are shared out among `all`: evenly, the first n % all parts with one more.
Part part_of(std::int64_t n, int k, int all);

class VectorOps {
 public:
  virtual ~VectorOps() = default;

  /// Buffer of n zeros on device `device` (0, 1, ...); release() gives it back.
  virtual float* allocate(std::int64_t n, int device) = 0;
  virtual void release(float* x) = 0;
  virtual void upload(std::int64_t n, const float* host, float* x) = 0;
  virtual void download(std::int64_t n, const float* x, float* host) = 0;

  /// x <- 0
  virtual void zero(std::int64_t n, float* x) = 0;
  /// y <- x
  virtual void copy(std::int64_t n, const float* x, float* y) = 0;
  /// x <- a x
  virtual void scale(std::int64_t n, double a, float* x) = 0;
  /// y <- y + a x
  virtual void axpy(std::int64_t n, double a, const float* x, float* y) = 0;
  /// sum_i x_i y_i, accumulated in double. x may be y.
  virtual double dot(std::int64_t n, const float* x, const float* y) = 0;
  /// Euclidean norm of every segment of x, in the order of the layout.
  virtual std::vector<double> norms(const Layout& layout, const float* x) = 0;

  /// y <- (1/m) sum_j x_j over the m >= 1 inputs, summed in their order.
  virtual void average(std::int64_t n, const std::vector<const float*>& inputs, float* y) = 0;
  /// Every buffer <- the sum of all of them, in their order (an all-reduce when they lie on several devices). Where the
  /// run has several processes, of all buffers of all of them: every process names as many.
  virtual void sum_all(std::int64_t n, const std::vector<float*>& buffers) = 0;
  /// Every output <- the mean of all inputs, and of those of the other processes: the gradients of S-SGD. As many
  /// outputs as inputs, output j on the device of input j. Here in steps of the operations above; a backend may do it
  /// in fewer passes. Over several devices, inputs may be scaled before they are summed: results differ by rounding.
  virtual void average_all(std::int64_t n, const std::vector<const float*>& inputs, const std::vector<float*>& outputs);
  /// A reduce-scatter and an all-gather over the buffers of all processes, N of them: process r's buffer j is number
  /// k = r * inputs.size() + j, and part k is part_of(n, k, N); every process names as many.
  ///   average_parts: outputs[j] <- part k of the mean of all inputs, with the bits of average_all() on the host
  ///   gather_parts: every buffer <- from each its own part
  virtual void average_parts(std::int64_t n, const std::vector<const float*>& inputs,
                             const std::vector<float*>& outputs);
  virtual void gather_parts(std::int64_t n, const std::vector<float*>& buffers);
  /// Whether begin_average() goes on beside what the caller does next.
  virtual bool averages_beside() const { return false; }
  /// output <- the mean of the n elements at `input` in every process, with the bits of average_all(): begun here in all
  /// processes in the same order, done after finish_averages(). Until then the caller makes no other call that goes over
  /// processes, and the memory stays as it is.
  virtual void begin_average(std::int64_t n, const float* input, float* output) { average_all(n, {input}, {output}); }
  virtual void finish_averages() {}
  /// Calls `work`, whose operations write nothing that the learners' next gradients read: these may be computed side by
  /// side with them. Everything else that is asked for later comes after them, as always.
  virtual void beside_gradients(const std::function<void()>& work) { work(); }
  /// Calls `work`, whose updates of parameters (below) leave everything on a device as it is where the array of n
  /// `gradients` there holds what is not finite. Devices that hold the same bits decide alike.
  virtual std::shared_ptr<Verdict> update_where_finite(std::int64_t n, const std::vector<const float*>& gradients,
                                                       const std::function<void()>& work);
  /// Whether update_where_finite() waits for nothing.
  virtual bool judges_on_devices() const { return false; }
  /// Processes whose buffers sum_all() adds up; see processes.hpp.
  virtual int processes() const { return 1; }

  /// Plain gradient descent: w_i <- w_i - gamma (g_i + lambda_i w_i)
  virtual void sgd_update(const Layout& layout, double learning_rate, double weight_decay, const float* g,
                          float* w) = 0;
  /// Polyak's momentum: v_i <- mu v_i - gamma (g_i + lambda_i w_i); w_i <- w_i + v_i
  virtual void momentum_update(const Layout& layout, const StepSize& step, const float* g, float* v, float* w) = 0;
  /// Nesterov's momentum: v_i <- mu v_i - gamma (g_i + lambda_i w_i); w_i <- w_i + mu v_i - gamma (g_i + lambda_i w_i)
  virtual void nesterov_update(const Layout& layout, const StepSize& step, const float* g, float* v, float* w) = 0;
  /// Adam's update of moments m and v and of w; see adam.hpp.
  virtual void adam_update(const Layout& layout, const AdamStep& step, const float* g, float* m, float* v,
                           float* w) = 0;
  /// momentum_update() with gamma multiplied, in every segment s, by trust_ratio(|w_s|, |g_s|) of lars.hpp.
  virtual void lars_update(const Layout& layout, const StepSize& step, const LarsOptions& lars, const float* g,
                           float* v, float* w) = 0;

  /// A learner's part of an SMA iteration:
  ///   c_i = alpha (w_i - z_i);  w_i <- w_i - gamma (g_i + lambda_i w_i) - c_i;  sum_i <- sum_i + c_i
  virtual void corrected_update(const Layout& layout, double learning_rate, double weight_decay, double alpha,
                                const float* g, const float* z, float* w, float* sum) = 0;
  /// The elastic pull without a gradient: c_i = alpha (w_i - z_i);  w_i <- w_i - c_i;  sum_i <- sum_i + c_i.
  /// sum may be z itself: the symmetric exchange of EA-SGD, which leaves w + z as it was.
  virtual void elastic_pull(std::int64_t n, double alpha, const float* z, float* w, float* sum) = 0;
  /// The average model's part: z' = z_i;  z_i <- z_i + sum_i + mu (z_i - previous_i);  previous_i <- z'
  virtual void average_model_update(std::int64_t n, double momentum, const float* sum, float* z, float* previous) = 0;
};

/// An owned device buffer of n floats, at first zeros. Its VectorOps must outlive it.
class DeviceVector {
 public:
  DeviceVector(VectorOps& ops, std::int64_t n, int device = 0);
  DeviceVector(DeviceVector&& other) noexcept;
  DeviceVector& operator=(DeviceVector&& other) noexcept;
  ~DeviceVector();

  float* data() { return data_; }
  const float* data() const { return data_; }
  std::int64_t size() const { return size_; }
  /// A copy on the host (waits for the device).
  std::vector<float> to_host() const;

 private:
  VectorOps* ops_;
  float* data_;
  std::int64_t size_;
};

}  // namespace lockstep::sync
