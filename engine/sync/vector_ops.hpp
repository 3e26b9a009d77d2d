#pragma once
// The vector operations that synchronisation algorithms use, on buffers of a device. HostVectorOps implements them with
// Eigen; an accelerator implements the same list.
//
// Conventions. n is the number of float elements. x, y, g, v, w, z are device buffers of n elements. Scalars are
// doubles, rounded to float before use. lambda_i is the weight decay of element i: `weight_decay` inside segments with
// is_weight, 0 elsewhere. An operation runs on the device of its output, after earlier operations that write its
// inputs. Only download(), dot() and norms() wait for the result. Buffers of one call must not overlap unless noted.
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

/// Part k of n elements divided among `all`: equal parts, the first n % all with one more element.
Part part_of(std::int64_t n, int k, int all);

class VectorOps {
 public:
  virtual ~VectorOps() = default;

  /// Allocates n zeros on device `device` (0, 1, ...); release() frees them.
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
  /// Returns the Euclidean norm of every segment of x, in the order of the layout.
  virtual std::vector<double> norms(const Layout& layout, const float* x) = 0;

  /// y <- (1/m) sum_j x_j over the m >= 1 inputs, summed in order.
  virtual void average(std::int64_t n, const std::vector<const float*>& inputs, float* y) = 0;
  /// Sets every buffer to the sum of all of them, in order (an all-reduce if they are on several devices). With several
  /// processes, the sum includes the buffers of all; every process passes the same number.
  virtual void sum_all(std::int64_t n, const std::vector<float*>& buffers) = 0;
  /// Sets every output to the mean of all inputs of all processes, as for the gradients of S-SGD. There are as many
  /// outputs as inputs, and output j is on the device of input j. This implementation uses the operations above; a
  /// backend may need fewer passes. Over several devices, inputs may be scaled before they are summed, so results
  /// differ by rounding.
  virtual void average_all(std::int64_t n, const std::vector<const float*>& inputs, const std::vector<float*>& outputs);
  /// A reduce-scatter and an all-gather over the buffers of all processes, N in total. Buffer j of process r has the
  /// number k = r * inputs.size() + j, and part k is part_of(n, k, N). Every process passes the same number of buffers.
  ///   average_parts: outputs[j] <- part k of the mean of all inputs, with the bits of average_all() on the host
  ///   gather_parts: every buffer gets each buffer's own part
  virtual void average_parts(std::int64_t n, const std::vector<const float*>& inputs,
                             const std::vector<float*>& outputs);
  virtual void gather_parts(std::int64_t n, const std::vector<float*>& buffers);
  /// Whether begin_average() runs in parallel with the caller's next work.
  virtual bool averages_beside() const { return false; }
  /// output <- the mean of the n elements at `input` in every process, with the bits of average_all(). It starts here,
  /// in the same order in all processes, and is complete after finish_averages(). Until then the caller must make no
  /// other call across processes, and must not change the memory.
  virtual void begin_average(std::int64_t n, const float* input, float* output) { average_all(n, {input}, {output}); }
  virtual void finish_averages() {}
  /// Calls `work`, which may run in parallel with the learners' next gradients. So its operations must not write
  /// anything that these read. All other later operations come after `work`, as always.
  virtual void beside_gradients(const std::function<void()>& work) { work(); }
  /// Calls `work`. On a device where one of the n `gradients` is not finite, the parameter updates (below) in `work`
  /// have no effect. Devices with the same bits decide the same.
  virtual std::shared_ptr<Verdict> update_where_finite(std::int64_t n, const std::vector<const float*>& gradients,
                                                       const std::function<void()>& work);
  /// Whether update_where_finite() returns without waiting.
  virtual bool judges_on_devices() const { return false; }
  /// The number of processes whose buffers sum_all() adds; see processes.hpp.
  virtual int processes() const { return 1; }

  /// Applies plain gradient descent: w_i <- w_i - gamma (g_i + lambda_i w_i)
  virtual void sgd_update(const Layout& layout, double learning_rate, double weight_decay, const float* g,
                          float* w) = 0;
  /// Applies Polyak's momentum: v_i <- mu v_i - gamma (g_i + lambda_i w_i); w_i <- w_i + v_i
  virtual void momentum_update(const Layout& layout, const StepSize& step, const float* g, float* v, float* w) = 0;
  /// Applies Nesterov's momentum: v_i <- mu v_i - gamma (g_i + lambda_i w_i); w_i <- w_i + mu v_i - gamma (g_i +
  /// lambda_i w_i)
  virtual void nesterov_update(const Layout& layout, const StepSize& step, const float* g, float* v, float* w) = 0;
  /// Applies Adam's update to the moments m and v and to w; see adam.hpp.
  virtual void adam_update(const Layout& layout, const AdamStep& step, const float* g, float* m, float* v,
                           float* w) = 0;
  /// momentum_update() with gamma multiplied in every segment s by trust_ratio(|w_s|, |g_s|) of lars.hpp.
  virtual void lars_update(const Layout& layout, const StepSize& step, const LarsOptions& lars, const float* g,
                           float* v, float* w) = 0;

  /// The learner's part of an SMA iteration:
  ///   c_i = alpha (w_i - z_i);  w_i <- w_i - gamma (g_i + lambda_i w_i) - c_i;  sum_i <- sum_i + c_i
  virtual void corrected_update(const Layout& layout, double learning_rate, double weight_decay, double alpha,
                                const float* g, const float* z, float* w, float* sum) = 0;
  /// The elastic pull without a gradient: c_i = alpha (w_i - z_i); w_i <- w_i - c_i; sum_i <- sum_i + c_i. If sum is z
  /// itself, this is the symmetric exchange of EA-SGD, which keeps w + z constant.
  virtual void elastic_pull(std::int64_t n, double alpha, const float* z, float* w, float* sum) = 0;
  /// The average model's part: z' = z_i;  z_i <- z_i + sum_i + mu (z_i - previous_i);  previous_i <- z'
  virtual void average_model_update(std::int64_t n, double momentum, const float* sum, float* z, float* previous) = 0;
};

/// An owned device buffer of n floats, initially zero. Its VectorOps must outlive it.
class DeviceVector {
 public:
  DeviceVector(VectorOps& ops, std::int64_t n, int device = 0);
  DeviceVector(DeviceVector&& other) noexcept;
  DeviceVector& operator=(DeviceVector&& other) noexcept;
  ~DeviceVector();

  float* data() { return data_; }
  const float* data() const { return data_; }
  std::int64_t size() const { return size_; }
  /// Returns a copy on the host; waits for the device.
  std::vector<float> to_host() const;

 private:
  VectorOps* ops_;
  float* data_;
  std::int64_t size_;
};

}  // namespace lockstep::sync
