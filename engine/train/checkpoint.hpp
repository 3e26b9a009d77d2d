#pragma once
// Checkpoints: the whole state of a run in one file, replaced as a whole, so that a run killed at any moment finds the
// last complete one.
//
//   line 1    lockstep/checkpoint/1 HEADER_BYTES SHA-256 of all that follows the line
//   header    JSON: settings, inputs, history; numbers (counters and reals by name) and arrays (name, elements) of
//             process 0; others: the same of processes 1, 2, ...
//   arrays    the elements of all arrays, float, in the machine's byte order
//
// Process 0 writes and reads it for all of them. An array that another process has with the bits of process 0's is not
// kept again (`"shared": true`): S-SGD's parameters and momentum are the same everywhere.
#include <map>
#include <string>
#include <vector>

#include "engine/base/json.hpp"
#include "engine/sync/state.hpp"

namespace lockstep::train {

/// State of the trainer itself beside that of the algorithm.
class RunVisitor : public sync::StateVisitor {
 public:
  virtual void floats(const std::string& name, std::vector<float>& value) = 0;
  void vector(const std::string& name, sync::DeviceVector& value) override = 0;
};

/// One process's state, as a line of JSON (numbers, arrays) and the elements of the arrays.
class StateWriter final : public RunVisitor {
 public:
  void vector(const std::string& name, sync::DeviceVector& value) override;
  void floats(const std::string& name, std::vector<float>& value) override;
  void integer(const std::string& name, std::int64_t& value) override { numbers_[name] = value; }
  void real(const std::string& name, double& value) override { numbers_[name] = value; }

  std::string packed() const;

 private:
  Json numbers_ = Json::object();
  Json arrays_ = Json::array();
  std::string content_;
};

class StateReader final : public RunVisitor {
 public:
  /// What StateWriter packed; `path` is the checkpoint's, for messages.
  StateReader(const std::string& path, const std::string& packed, sync::VectorOps& ops);

  /// All throw InputError where the checkpoint lacks `name`, or holds another size.
  void vector(const std::string& name, sync::DeviceVector& value) override;
  void floats(const std::string& name, std::vector<float>& value) override;
  void integer(const std::string& name, std::int64_t& value) override;
  void real(const std::string& name, double& value) override;

 private:
  struct Array {
    std::size_t begin;  ///< in content_, bytes
    std::int64_t elements;
  };
  const Json& number(const std::string& name) const;
  const Array& array(const std::string& name, std::int64_t elements) const;

  std::string path_;
  sync::VectorOps& ops_;
  std::string content_;
  Json numbers_;
  std::map<std::string, Array> arrays_;
};

/// The file.
class Checkpoint {
 public:
  /// Empty, to be written.
  Checkpoint() = default;
  /// Reads and checks the whole file. Throws InputError: unreadable, no checkpoint, damaged.
  explicit Checkpoint(const std::string& path);

  /// The next process's state, as it was packed.
  void add(const std::string& packed);
  /// `facts` (an object) joins the header. Throws std::runtime_error where the file cannot be written.
  void write(const std::string& path, const Json& facts) const;

  /// The header.
  const Json& facts() const { return header_; }
  /// Of process 0, 1, ... as it was packed. Throws std::out_of_range for a process that has none.
  std::string state(int process) const;

 private:
  struct Array {
    std::string name;
    std::size_t begin;  ///< in content_, bytes
    std::size_t bytes;
    bool shared;  ///< lies where process 0's lies
  };
  struct Part {
    Json numbers;
    std::vector<Array> arrays;
  };
  static Json arrays_of(const Part& part);
  void add_part(const JsonNode& state, std::size_t& begin);
  const Array* shared_with(const std::string& name, std::size_t bytes) const;

  Json header_ = Json::object();
  std::vector<Part> parts_;  ///< by process
  std::string content_;
};

}  // namespace lockstep::train
