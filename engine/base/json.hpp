#pragma once
// The project's strict JSON reader. Every quantity has a unit, unknown keys are refused, and every error is one line:
//
//   scenarios/x.json: /cluster/nic/bandwidth: unit "Gbits" is unknown; allowed: bit/s, kbit/s, Mbit/s, ..., GiB/s
//
// Units and their spellings are in units.hpp. A value that predictions depend on may be written plain ("12 GB/s") or
// with its origin:
//
//   {"value": "12 GB/s", "kind": "published", "source": "Table 2 of ..."}
//
// The kind is measured, published, fitted or assumed. The sourced_*() functions record each value that they read in the
// document's ledger of assumptions. A plain value, or one that --set replaced without its source, gets the kind
// "assumed" and the source "given in FILE".
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/base/units.hpp"

namespace lockstep {

using Json = nlohmann::ordered_json;

/// Bad input or bad usage; what() is the complete line to print. Programs then exit with 2.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The job is valid but needs more memory than its GPUs have.
struct NotEnoughMemory : InputError {
  using InputError::InputError;
};

/// One input that a prediction depends on, as written to the result's "assumptions".
struct Assumption {
  std::string pointer;  ///< JSON pointer in the document, "/cluster/nic/bandwidth"
  Json value;           ///< as written (the inner value of a {"value", "kind", "source"} object)
  std::string kind;     ///< measured, published, fitted, assumed
  std::string source;
};

/// Adds those assumptions that `all` does not have.
void add_assumptions(std::vector<Assumption>& all, const std::vector<Assumption>& more);

/// The allowed interval of a number, both ends included.
struct Range {
  double low;
  double high;
};

class JsonNode;

/// A JSON text with the name of its file. Subtrees may come from other files (include()) or from the command line
/// (set()); errors then name that file and the pointer inside it.
class JsonDocument {
 public:
  /// Reads and parses. Throws InputError: unreadable file, syntax error (with line and column), duplicate key,
  /// trailing text, nesting deeper than 64, a file over 64 MiB, NaN or infinity.
  static JsonDocument load(const std::string& path);
  static JsonDocument parse(const std::string& text, const std::string& name);

  JsonNode root() const;
  const Json& json() const { return root_; }
  const std::string& name() const { return name_; }

  /// If the value at `pointer` is a string that names a .json file, replaces it by that file's content. The path is
  /// relative to the folder of the file that names it (to the current folder if --set names it). Otherwise has no
  /// effect. Invalidates nodes taken before, as set() does.
  void include(const std::string& pointer);
  /// `--set pointer=text`: text is JSON if it parses as such, else a string. The pointer's parent must exist; a last
  /// member that an object lacks is added. Removes ledger entries at, below or above the pointer. Errors about the
  /// value begin with `origin` and the whole document's pointer. If the value names a file, that is searched in
  /// `folder` (empty: the current folder).
  void set(const std::string& pointer, const std::string& text, const std::string& origin = "--set",
           const std::string& folder = "");

  /// Files read so far, for provenance: path as given or resolved -> SHA-256 in hex. Computed at each call.
  std::map<std::string, std::string> inputs() const;
  /// The ledger that the sourced_*() functions fill, in the order of reading, each pointer once.
  const std::vector<Assumption>& assumptions() const { return assumptions_; }
  void note(const Assumption& assumption) const;

 private:
  friend class JsonNode;
  struct Origin {
    std::string pointer;  ///< root of the subtree
    std::string file;     ///< its file, or the `origin` given to set()
    std::string folder;   ///< folder in which files that it names are searched
    bool is_setting;      ///< the subtree was set by set()
  };
  /// Turns a pointer of the whole document into "FILE: /pointer/in/that/file".
  std::string locate(const std::string& pointer) const;
  std::string file_of(const std::string& pointer) const;
  const Origin* origin_of(const std::string& pointer) const;
  void replaced(const Origin& origin);

  std::string name_;
  Json root_;
  std::vector<Origin> origins_;
  std::map<std::string, std::shared_ptr<const std::string>> texts_;  ///< of the files read, by path
  mutable std::vector<Assumption> assumptions_;
};

/// A value inside a JsonDocument (which must outlive it). Cheap to copy. Every accessor throws InputError.
class JsonNode {
 public:
  /// Throws unless this is an object with keys of `known` only: `unknown key "latncy"; known: bandwidth, latency`.
  void keys(const std::vector<std::string>& known) const;

  bool is_object() const { return value_->is_object(); }
  bool is_array() const { return value_->is_array(); }
  bool is_string() const { return value_->is_string(); }
  bool is_number() const { return value_->is_number(); }
  bool is_null() const { return value_->is_null(); }
  bool has(const std::string& key) const;
  JsonNode at(const std::string& key) const;                      ///< required member: `missing key "gpus"`
  std::optional<JsonNode> find(const std::string& key) const;     ///< optional member
  std::vector<JsonNode> items() const;                            ///< elements of an array
  std::vector<std::pair<std::string, JsonNode>> members() const;  ///< members of an object

  std::string text() const;  ///< non-empty string
  std::string choice(const std::vector<std::string>& allowed) const;
  bool boolean() const;
  double number(Range range) const;                                 ///< a pure number, no unit
  std::int64_t integer(std::int64_t low, std::int64_t high) const;  ///< a whole number; 1e6 and 8.0 are whole
  /// A string "12 GB/s" whose unit measures `dimension`, in SI units. Refuses a bare number (`missing unit`).
  double quantity(Dimension dimension, Range range) const;

  /// Does the same for a value that is plain or {"value", "kind", "source"}. Records the value in the ledger.
  double sourced_number(Range range) const;
  double sourced_quantity(Dimension dimension, Range range) const;
  /// Does the same for true or false.
  bool sourced_boolean() const;

  const std::string& pointer() const { return pointer_; }
  const Json& json() const { return *value_; }
  const JsonDocument& document() const { return *document_; }
  /// Throws `FILE: /pointer: wrong; allowed` (without "; allowed" when that is empty).
  [[noreturn]] void fail(const std::string& wrong, const std::string& allowed = "") const;

 private:
  friend class JsonDocument;
  JsonNode(const JsonDocument* document, const Json* value, std::string pointer)
      : document_(document), value_(value), pointer_(std::move(pointer)) {}
  JsonNode sourced_value(Assumption& assumption) const;

  const JsonDocument* document_;
  const Json* value_;
  std::string pointer_;
};

}  // namespace lockstep
