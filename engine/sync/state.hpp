#pragma once
// The state of an algorithm that a checkpoint stores. An algorithm lists its buffers and counters once, in
// visit_state(), which serves both saving and restoring. Restoring into an algorithm with the same options and
// continuing gives the same bits as an uninterrupted run.
#include <cstdint>
#include <string>

#include "engine/sync/vector_ops.hpp"

namespace lockstep::sync {

class StateVisitor {
 public:
  virtual ~StateVisitor() = default;
  /// `name` is unique in the whole state. Restoring replaces the value.
  virtual void vector(const std::string& name, DeviceVector& value) = 0;
  virtual void integer(const std::string& name, std::int64_t& value) = 0;
  virtual void real(const std::string& name, double& value) = 0;  ///< finite
};

}  // namespace lockstep::sync
