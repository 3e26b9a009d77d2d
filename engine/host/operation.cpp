#include "engine/host/operation.hpp"

#include "engine/base/text.hpp"

namespace lockstep::host {

template <typename Scalar>
OperationPtr<Scalar> make_operation(const Wiring<Scalar>& wiring) {
  using model::LayerKind;
  switch (wiring.layer->kind) {
    case LayerKind::conv:
      return make_convolution(wiring);
    case LayerKind::fc:
      return make_fully_connected(wiring);
    case LayerKind::batch_norm:
      return make_batch_norm(wiring);
    case LayerKind::relu:
      return make_relu(wiring);
    case LayerKind::max_pool:
      return make_max_pool(wiring);
    case LayerKind::avg_pool:
      return make_avg_pool(wiring);
    case LayerKind::global_avg_pool:
      return make_global_avg_pool(wiring);
    case LayerKind::lrn:
      return make_lrn(wiring);
    case LayerKind::dropout:
      return make_dropout(wiring);
    case LayerKind::add:
      return make_add(wiring);
    case LayerKind::concat:
      return make_concat(wiring);
    case LayerKind::softmax:
      return std::make_unique<Softmax<Scalar>>(wiring);
    case LayerKind::subsample:
      return make_subsample(wiring);
    case LayerKind::opaque:
    case LayerKind::embedding:
    case LayerKind::positions:
    case LayerKind::linear:
    case LayerKind::layer_norm:
    case LayerKind::rms_norm:
    case LayerKind::rotary:
    case LayerKind::attention:
    case LayerKind::gelu:
    case LayerKind::silu:
    case LayerKind::tanh:
    case LayerKind::multiply:
    case LayerKind::take:
    case LayerKind::router:
    case LayerKind::experts:
    case LayerKind::recurrence:
    case LayerKind::input:
      break;
  }
  throw InputError("layer " + in_quotes(wiring.layer->name) + ": the host cannot run a layer of kind " +
                   to_string(wiring.layer->kind));
}

template OperationPtr<float> make_operation(const Wiring<float>&);
template OperationPtr<double> make_operation(const Wiring<double>&);

}  // namespace lockstep::host
