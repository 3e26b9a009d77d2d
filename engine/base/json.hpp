#pragma once
// The one strict JSON reader. Every number carries a unit, every key is known, and every error is one line:
//
//   scenarios/x.json: /cluster/nic/bandwidth: unit "Gbits" is unknown; allowed: bit/s, kbit/s, Mbit/s, ..., GiB/s
//
// Units and their spellings are in units.hpp. A value that a prediction rests on may be written plain ("12 GB/s") or
// with where it comes from:
//
//   {"value": "12 GB/s", "kind": "published", "source": "Table 2 of ..."}
//
// with a kind of measured, published, fitted or assumed. Reading it through a sourced_*() call notes it in the
// document's ledger of assumptions either way (a plain value has kind "assumed" and source "given in FILE", and so has
// a "value" that --set replaced without its source).
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/base/units.hpp"

namespace lockstep {

using Json = nlohmann::ordered_json;

/// Bad input or bad usage; what() is the whole line to print. Programs exit with 2 on it.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A job that was understood, and that needs more memory than its GPUs have.
struct NotEnoughMemory : InputError {
  using InputError::InputError;
};

/// One input that a prediction rests on, as written in the result's "assumptions".
struct Assumption {
  std::string pointer;  ///< JSON pointer in the document, "/cluster/nic/bandwidth"
  Json value;           ///< as written (the inner value of a {"value", "kind", "source"} object)
  std::string kind;     ///< measured, published, fitted, assumed
  std::string source;
};

/// The allowed interval of a number, both ends included.
struct Range {
  double low;
  double high;
};

class JsonNode;

/// A JSON text with the file it came from. Subtrees may come from other files (include()) or from the command line
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

  /// Where the value at `pointer` is a string naming a .json file, replaces it by that file's content. The path is
  /// relative to the folder of the file that names it (to the current folder when --set names it). No effect when the
  /// value is absent or anything else. Like set(), it invalidates the nodes taken before.
  void include(const std::string& pointer);
  /// `--set pointer=text`: text is JSON if it parses as such, else a string. The pointer's parent must exist; a last
  /// member that an object lacks is added. The ledger forgets what it noted at, below or around the pointer.
  /// Errors about the value begin with `origin` and the whole document's pointer; a file that it names is looked for
  /// in `folder` (empty: the current one).
  void set(const std::string& pointer, const std::string& text, const std::string& origin = "--set",
           const std::string& folder = "");

  /// Files read so far (path as given or resolved -> SHA-256 in hex), for provenance.
  const std::map<std::string, std::string>& inputs() const { return inputs_; }
  /// Ledger filled by the sourced_*() calls, in the order of reading, each pointer once.
  const std::vector<Assumption>& assumptions() const { return assumptions_; }
  void note(const Assumption& assumption) const;

 private:
  friend class JsonNode;
  struct Origin {
    std::string pointer;  ///< subtree
    std::string file;     ///< or what set() was told
    std::string folder;   ///< where files that it names are looked for
    bool is_setting;      ///< came by set()
  };
  /// "FILE: /pointer/in/that/file" for a pointer of the whole document.
  std::string locate(const std::string& pointer) const;
  std::string file_of(const std::string& pointer) const;
  const Origin* origin_of(const std::string& pointer) const;
  void replaced(const Origin& origin);

  std::string name_;
  Json root_;
  std::vector<Origin> origins_;
  std::map<std::string, std::string> inputs_;
  mutable std::vector<Assumption> assumptions_;
};

/// A value inside a JsonDocument (which must outlive it). Cheap to copy. Every accessor throws InputError.
class JsonNode {
 public:
  /// Refuses any key outside `known`: `unknown key "latncy"; known: bandwidth, latency`. Also refuses a non-object.
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
  /// A string "12 GB/s" whose unit measures `dimension`, in SI units; a bare number is refused (`missing unit`).
  double quantity(Dimension dimension, Range range) const;

  /// The same, plain or as {"value", "kind", "source"}; noted in the ledger.
  double sourced_number(Range range) const;
  double sourced_quantity(Dimension dimension, Range range) const;
  /// The same for true or false.
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
