#include "engine/model/optimizer.hpp"

namespace lockstep::model {

UpdateArrays update_arrays(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
      return {0, 2, 1, 0};
    case Optimizer::momentum:
      return {1, 3, 2, 0};
    case Optimizer::lars:
      return {1, 3, 2, 2};
    case Optimizer::adam:
      return {2, 4, 3, 0};
    case Optimizer::lamb:
      return {2, 6, 4, 3};
    case Optimizer::adafactor:
      return {0, 2, 1, 3};
  }
  throw std::logic_error("Optimizer out of range");
}

}  // namespace lockstep::model
