#pragma once
// What a checkpoint keeps of an algorithm. An algorithm names its buffers and counters once, in visit_state(); the same
// list serves saving and restoring. Restoring into an algorithm made with the same options, then going on, gives the
// same bits as never having stopped.
#include <cstdint>
#include <string>

#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  /// `name` is unique in the whole state. When restoring, the value is replaced.
  virtual void vector(const std::string& name, DeviceVector& value) = 0;
  virtual void integer(const std::string& name, std::int64_t& value) = 0;
  virtual void real(const std::string& name, double& value) = 0;  ///< finite
};

}  // namespace lockstep::sync
