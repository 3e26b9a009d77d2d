// oneDNN's convolutions and products; see onednn.hpp. Supports versions 2 (Debian 12) and 3 (Debian 13). In version 2,
// a primitive needs an operation descriptor first.
#ifdef LOCKSTEP_WITH_ONEDNN
#include "engine/host/onednn.hpp"

#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "engine/host/loops.hpp"

namespace lockstep::host::onednn {
namespace {

using Descriptor = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

constexpr std::int64_t kLeastParts = 4;
constexpr std::int64_t kMostParts = 8;
constexpr std::int64_t kMacsPerPart = 1 << 24;  ///< 0.25 ms, so that a call's overhead does not matter

/// Sets OpenMP's thread count of the calling thread to 1, so that its later oneDNN calls use no other threads.
void stay_on_this_thread() {
  omp_set_num_threads(1);
}

const dnnl::engine& processor() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

Descriptor described(const Dims& dims, Tag tag) {
  return {dims, dnnl::memory::data_type::f32, tag};
}

std::int64_t floats_of(const Descriptor& descriptor) {
  return aligned_elements<float>(static_cast<std::int64_t>(descriptor.get_size() / sizeof(float)));
}

dnnl::primitive_attr own_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

/// A primitive whose memory addresses are given at each call.
class Call {
 public:
  Call() = default;
  Call(const dnnl::primitive& primitive, const std::vector<std::pair<int, Descriptor>>& arguments)
      : primitive_(primitive), stream_(processor()) {
    for (const auto& [name, descriptor] : arguments) {
      names_.push_back(name);
      arguments_.emplace(name, dnnl::memory(descriptor, processor(), DNNL_MEMORY_NONE));
    }
  }
  /// `data` follows the order of the constructor's `arguments`.
  void operator()(std::initializer_list<const float*> data) {
    auto next = data.begin();
    for (const int name : names_) arguments_.at(name).set_data_handle(const_cast<float*>(*next++));
    primitive_.execute(stream_, arguments_);
  }

 private:
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::vector<int> names_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

/// Converts between two layouts; not needed if they are equal.
class Reordering {
 public:
  Reordering() = default;
  Reordering(const Descriptor& from, const Descriptor& to, bool accumulate = false)
      : is_needed_(accumulate || from != to) {
    if (!is_needed_) return;
    dnnl::primitive_attr attributes = own_scratchpad();
    if (accumulate) {
      dnnl::post_ops sum;
      sum.append_sum(1);
      attributes.set_post_ops(sum);
    }
    const dnnl::reorder::primitive_desc description(processor(), from, processor(), to, attributes);
    scratch_ = floats_of(description.scratchpad_desc());
    call_ = Call(dnnl::reorder(description),
                 {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, description.scratchpad_desc()}});
  }
  bool is_needed() const { return is_needed_; }
  std::int64_t scratch() const { return scratch_; }
  void operator()(const float* from, float* to, float* scratch) { call_({from, to, scratch}); }

 private:
  bool is_needed_ = false;
  std::int64_t scratch_ = 0;
  Call call_;
};

struct Layouts {
  Descriptor source, weights, destination;
};

/// The primitives that oneDNN chooses on this machine for `images` images of a layer.
struct Descriptions {
  dnnl::convolution_forward::primitive_desc forward;
  dnnl::convolution_backward_data::primitive_desc data;
  dnnl::convolution_backward_weights::primitive_desc weights;
  Layouts plain;

  Descriptions(const model::Layer& layer, int images) {
    const model::Window& w = layer.window;
    const Dims source{images, layer.in.channels, layer.in.height, layer.in.width};
    const Dims result{images, layer.out.channels, layer.out.height, layer.out.width};
    const Dims filter = w.groups == 1 ? Dims{layer.out.channels, layer.in.channels, w.kernel_h, w.kernel_w}
                                      : Dims{w.groups, layer.out.channels / w.groups, layer.in.channels / w.groups,
                                             w.kernel_h, w.kernel_w};
    plain = {described(source, Tag::nchw), described(filter, w.groups == 1 ? Tag::oihw : Tag::goihw),
             described(result, Tag::nchw)};
    const Descriptor any_source = described(source, Tag::any);
    const Descriptor any_filter = described(filter, Tag::any);
    const Descriptor any_result = described(result, Tag::any);
    const Dims strides{w.stride_h, w.stride_w};
    const Dims before{w.pad_top, w.pad_left};
    // Padding after the image, as far as windows reach. Rounding down cuts off the rest.
    const auto behind = [](int positions, int stride, int kernel, int pad, int size) {
      return std::max(0, (positions - 1) * stride + kernel - pad - size);
    };
    const Dims after{behind(layer.out.height, w.stride_h, w.kernel_h, w.pad_top, layer.in.height),
                     behind(layer.out.width, w.stride_w, w.kernel_w, w.pad_left, layer.in.width)};
    const dnnl::algorithm how = dnnl::algorithm::convolution_direct;
    const dnnl::primitive_attr attributes = own_scratchpad();
#if DNNL_VERSION_MAJOR >= 3
    forward = {
        processor(), dnnl::prop_kind::forward_training, how, any_source, any_filter, any_result, strides, before, after,
        attributes};
    data = {processor(), how, any_source, any_filter, any_result, strides, before, after, forward, attributes};
    weights = {processor(), how, any_source, any_filter, any_result, strides, before, after, forward, attributes};
#else
    forward = {{dnnl::prop_kind::forward_training, how, any_source, any_filter, any_result, strides, before, after},
               attributes,
               processor()};
    data = {{how, any_source, any_filter, any_result, strides, before, after}, attributes, processor(), forward};
    weights = {{how, any_source, any_filter, any_result, strides, before, after}, attributes, processor(), forward};
#endif
  }
};

/// One worker calls these primitives for `images` images of the layer.
struct Calls {
  Reordering source_in, result_out;                           // forward
  Reordering gradient_in_for_data, gradient_out;              // backward, gradient of the input
  Reordering gradient_in_for_weights, source_in_for_weights;  // backward, gradient of the weights
  Call forward, data, weights;
};

class Convolution final : public Operation<float> {
 public:
  explicit Convolution(const Wiring<float>& wiring) : Operation(wiring) {
    stay_on_this_thread();
    const std::int64_t parts = std::clamp(layer().macs * w_.batch / kMacsPerPart, kLeastParts, kMostParts);
    images_ = std::max(1, static_cast<int>((w_.batch + parts - 1) / parts));
    parts_ = (w_.batch + images_ - 1) / images_;
    pixels_ = std::int64_t{layer().out.height} * layer().out.width;
    has_input_gradient_ = wiring.inputs[0].place.gradient >= 0;
    const Descriptions full(layer(), images_);
    plan_shared(full);
    prepare(full, calls_);
    const int rest = w_.batch - (parts_ - 1) * images_;
    if (rest != images_) prepare(Descriptions(layer(), rest), calls_of_rest_);
    w_.workspace->need_per_worker(source_ + result_ + scratch_);
    w_.workspace->need_shared(filter_for_forward_ + filter_for_data_ + weight_slots_ * parts_ + bias_slots_ * parts_);
  }

  void forward(const Step&) override {
    const float* filter = arranged(filter_for_forward, w_.workspace->shared());
    w_.pool->parallel_for(parts_, [&](int part, int worker) { forward_part(part, worker, filter); });
  }

  bool splits_gradients() const override { return has_input_gradient_; }

  void backward(const Step& step) override {
    const bool by_weights = step.gradients != Gradients::of_input;
    const bool by_input = has_input_gradient_ && step.gradients != Gradients::of_parameters;
    const float* filter = by_input ? arranged(filter_for_data, w_.workspace->shared() + filter_for_forward_) : nullptr;
    w_.pool->parallel_for(parts_, [&](int part, int worker) {
      if (by_weights) weights_part(part, worker);
      if (by_input) input_part(part, worker, filter);
    });
    if (by_weights) add_parts();
  }

 private:
  void plan_shared(const Descriptions& of) {
    const auto size_if = [](bool is_needed, const Descriptor& d) { return is_needed ? floats_of(d) : 0; };
    const std::int64_t floats = layer().parameters[0].elements;
    filter_for_forward = {of.plain.weights, of.forward.weights_desc()};
    filter_for_forward_ = size_if(filter_for_forward.is_needed(), of.forward.weights_desc());
    if (has_input_gradient_) {
      filter_for_data = {of.plain.weights, of.data.weights_desc()};
      filter_for_data_ = size_if(filter_for_data.is_needed(), of.data.weights_desc());
    }
    weight_gradients_out = {of.weights.diff_weights_desc(), of.plain.weights};
    weight_slots_ = std::max(aligned_elements<float>(floats), floats_of(of.weights.diff_weights_desc()));
    bias_slots_ = layer().parameters.size() > 1 ? aligned_elements<float>(layer().out.channels) : 0;
    scratch_ = std::max({filter_for_forward.scratch(), filter_for_data.scratch(), weight_gradients_out.scratch()});
  }

  void prepare(const Descriptions& of, std::vector<Calls>& calls) {
    const Layouts& plain = of.plain;
    for (const Descriptor& d : {of.forward.src_desc(), of.data.diff_src_desc(), of.weights.src_desc()})
      if (d != plain.source) source_ = std::max(source_, floats_of(d));
    for (const Descriptor& d : {of.forward.dst_desc(), of.data.diff_dst_desc(), of.weights.diff_dst_desc()})
      if (d != plain.destination) result_ = std::max(result_, floats_of(d));
    const bool adds = w_.inputs[0].accumulate;
    if (adds) source_ = std::max(source_, floats_of(of.data.diff_src_desc()));
    for (int worker = 0; worker < w_.pool->threads(); ++worker) {
      Calls own;
      own.source_in = {plain.source, of.forward.src_desc()};
      own.result_out = {of.forward.dst_desc(), plain.destination};
      own.forward = {dnnl::convolution_forward(of.forward),
                     {{DNNL_ARG_SRC, of.forward.src_desc()},
                      {DNNL_ARG_WEIGHTS, of.forward.weights_desc()},
                      {DNNL_ARG_DST, of.forward.dst_desc()},
                      {DNNL_ARG_SCRATCHPAD, of.forward.scratchpad_desc()}}};
      own.source_in_for_weights = {plain.source, of.weights.src_desc()};
      own.gradient_in_for_weights = {plain.destination, of.weights.diff_dst_desc()};
      own.weights = {dnnl::convolution_backward_weights(of.weights),
                     {{DNNL_ARG_SRC, of.weights.src_desc()},
                      {DNNL_ARG_DIFF_DST, of.weights.diff_dst_desc()},
                      {DNNL_ARG_DIFF_WEIGHTS, of.weights.diff_weights_desc()},
                      {DNNL_ARG_SCRATCHPAD, of.weights.scratchpad_desc()}}};
      own.gradient_in_for_data = {plain.destination, of.data.diff_dst_desc()};
      own.gradient_out = {of.data.diff_src_desc(), plain.source, adds};
      own.data = {dnnl::convolution_backward_data(of.data),
                  {{DNNL_ARG_DIFF_DST, of.data.diff_dst_desc()},
                   {DNNL_ARG_WEIGHTS, of.data.weights_desc()},
                   {DNNL_ARG_DIFF_SRC, of.data.diff_src_desc()},
                   {DNNL_ARG_SCRATCHPAD, of.data.scratchpad_desc()}}};
      scratch_ = std::max({scratch_, floats_of(of.forward.scratchpad_desc()), floats_of(of.weights.scratchpad_desc()),
                           floats_of(of.data.scratchpad_desc()), own.source_in.scratch(), own.result_out.scratch(),
                           own.source_in_for_weights.scratch(), own.gradient_in_for_weights.scratch(),
                           own.gradient_in_for_data.scratch(), own.gradient_out.scratch()});
      calls.push_back(std::move(own));
    }
  }

  int first_of(int part) const { return part * images_; }
  int images_of(int part) const { return std::min(images_, w_.batch - first_of(part)); }
  Calls& calls_of(int part, int worker) {
    return (images_of(part) == images_ ? calls_ : calls_of_rest_)[static_cast<std::size_t>(worker)];
  }
  float* source_of(int worker) const { return w_.workspace->of_worker(worker); }
  float* result_of(int worker) const { return source_of(worker) + source_; }
  float* scratch_of(int worker) const { return result_of(worker) + result_; }
  float* slots() const { return w_.workspace->shared() + filter_for_forward_ + filter_for_data_; }
  float* biases() const { return slots() + weight_slots_ * parts_; }

  /// Returns data in the primitive's layout: a copy in `own`, or `from` itself if the layouts are equal.
  static const float* brought(Reordering& reordering, const float* from, float* own, float* scratch) {
    if (!reordering.is_needed()) return from;
    reordering(from, own, scratch);
    return own;
  }
  const float* arranged(Reordering& reordering, float* own) {
    stay_on_this_thread();
    return brought(reordering, w_.parameters[0], own, scratch_of(0));
  }

  void forward_part(int part, int worker, const float* filter) {
    stay_on_this_thread();
    Calls& calls = calls_of(part, worker);
    const int first = first_of(part);
    float* const scratch = scratch_of(worker);
    const float* source = brought(calls.source_in, in(first), source_of(worker), scratch);
    float* const result = calls.result_out.is_needed() ? result_of(worker) : out(first);
    calls.forward({source, filter, result, scratch});
    if (calls.result_out.is_needed()) calls.result_out(result, out(first), scratch);
    if (bias_slots_ == 0) return;
    for (int i = first; i < first + images_of(part); ++i)
      for (int k = 0; k < layer().out.channels; ++k) {
        float* const plane = out(i) + k * pixels_;
        loops<float>().shift(pixels_, plane, w_.parameters[1][k], plane);
      }
  }

  void weights_part(int part, int worker) {
    stay_on_this_thread();
    Calls& calls = calls_of(part, worker);
    const int first = first_of(part);
    float* const scratch = scratch_of(worker);
    const float* source = brought(calls.source_in_for_weights, in(first), source_of(worker), scratch);
    const float* gradient = brought(calls.gradient_in_for_weights, out_gradient(first), result_of(worker), scratch);
    calls.weights({source, gradient, slots() + part * weight_slots_, scratch});
    if (bias_slots_ == 0) return;
    for (int k = 0; k < layer().out.channels; ++k)
      biases()[part * bias_slots_ + k] = loops<float>().sum_of_runs({images_of(part), pixels_, layer().out.elements()},
                                                                    out_gradient(first) + k * pixels_);
  }

  void input_part(int part, int worker, const float* filter) {
    stay_on_this_thread();
    Calls& calls = calls_of(part, worker);
    const int first = first_of(part);
    float* const scratch = scratch_of(worker);
    const float* gradient = brought(calls.gradient_in_for_data, out_gradient(first), result_of(worker), scratch);
    float* const source = calls.gradient_out.is_needed() ? source_of(worker) : in_gradient(first);
    calls.data({gradient, filter, source, scratch});
    if (calls.gradient_out.is_needed()) calls.gradient_out(source, in_gradient(first), scratch);
  }

  /// Adds the parts' weight and bias gradients in order.
  void add_parts() {
    constexpr std::int64_t kBlock = 8192;
    const int blocks = static_cast<int>((weight_slots_ + kBlock - 1) / kBlock);
    w_.pool->parallel_for(parts_ > 1 ? blocks : 0, [&](int block, int) {
      const std::int64_t begin = block * kBlock;
      const std::int64_t count = std::min(kBlock, weight_slots_ - begin);
      for (int part = 1; part < parts_; ++part)
        loops<float>().add(count, slots() + part * weight_slots_ + begin, slots() + begin);
    });
    stay_on_this_thread();
    if (weight_gradients_out.is_needed())
      weight_gradients_out(slots(), w_.parameter_gradients[0], scratch_of(0));
    else
      loops<float>().copy(layer().parameters[0].elements, slots(), w_.parameter_gradients[0]);
    for (int part = 1; bias_slots_ > 0 && part < parts_; ++part)
      loops<float>().add(layer().out.channels, biases() + part * bias_slots_, biases());
    if (bias_slots_ > 0) loops<float>().copy(layer().out.channels, biases(), w_.parameter_gradients[1]);
  }

  int images_;  ///< of a part; the last may have fewer
  int parts_;
  std::int64_t pixels_;
  bool has_input_gradient_;
  Reordering filter_for_forward, filter_for_data, weight_gradients_out;
  std::vector<Calls> calls_, calls_of_rest_;  ///< of each worker
  // Sizes are given in floats of the workspace.
  std::int64_t source_ = 0, result_ = 0, scratch_ = 0;         ///< per worker
  std::int64_t filter_for_forward_ = 0, filter_for_data_ = 0;  ///< shared
  std::int64_t weight_slots_ = 0, bias_slots_ = 0;             ///< shared; one slot per part
};

}  // namespace

void multiply(const GemmSize& size, const Operand<float>& a, const Operand<float>& b, float* c, std::int64_t stride,
              bool accumulate) {
  stay_on_this_thread();
  const dnnl_status_t status =
      dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', size.rows, size.cols, size.inner, 1.0F, a.data,
                 a.stride, b.data, b.stride, accumulate ? 1.0F : 0.0F, c, stride);
  if (status != dnnl_success) throw std::runtime_error("oneDNN cannot multiply");
}

OperationPtr<float> make_convolution(const Wiring<float>& wiring) {
  return std::make_unique<Convolution>(wiring);
}

}  // namespace lockstep::host::onednn
#endif
