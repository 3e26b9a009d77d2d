#pragma once
// The keys of a launch script or configuration, each with its value, its place and how it was used. A reader takes the keys
// that it maps; tables say why others are not read; the rest is unknown. So every key is accounted for.
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/choice.hpp"
#include "sim/launch/place.hpp"

namespace lockstep::sim::launch {

enum class Use { unread, read, overridden, no_effect, not_simulated, unknown };

inline const Choices<Use>& choices_of(Use) {
  static const Choices<Use> all{{Use::unread, "unread"},
                                {Use::read, "read"},
                                {Use::overridden, "overridden"},
                                {Use::no_effect, "no effect on speed"},
                                {Use::not_simulated, "not simulated"},
                                {Use::unknown, "unknown"}};
  return all;
}

struct LaunchSetting {
  std::string key;      ///< in the spelling of the format's table: "tensor_model_parallel_size", "training.seq_len"
  std::string written;  ///< in the spelling of the file: "--tensor-model-parallel-size"
  Json value;           ///< null: a flag, or an empty value
  std::string unknown;  ///< the part of the value that cannot be evaluated: "$TP"; empty: none
  Place place;
  Use use = Use::unread;
  std::string why;  ///< of a use other than `read`

  /// "train.sh:12: --tensor-model-parallel-size 8"
  std::string text() const;
};

/// Keys that are not read, by the reason. A key may end in "*".
struct UnreadKeys {
  Use use;
  const char* why;
  const char* keys;  ///< separated by blanks
};

/// A value that a prediction needs and that cannot be evaluated, with the option that gives it instead.
struct Unevaluated {
  LaunchSetting setting;
  std::string option;
  std::string why;  ///< "$TP cannot be evaluated"
};

class LaunchSettings {
 public:
  void add(LaunchSetting setting);
  /// Adds the settings of another source after these.
  void append(const LaunchSettings& other);

  bool has(const std::string& key) const { return find(key) != nullptr; }
  /// The last setting of that key, which is then read; earlier ones are overridden. nullptr: there is none, or its value
  /// cannot be evaluated; `option`: which option would give it.
  const LaunchSetting* take(const std::string& key, const std::string& option = "");
  std::optional<std::int64_t> whole(const std::string& key, const std::string& option = "");
  std::optional<double> number(const std::string& key, const std::string& option = "");
  std::optional<std::string> text(const std::string& key, const std::string& option = "");
  /// The name of a file, as it is written where a part of it is unknown.
  std::optional<std::string> file_name(const std::string& key) const;
  /// The option is needed in place of the setting, because of `why`.
  void require_option(const LaunchSetting& setting, const std::string& option, const std::string& why);
  /// Words of a list, or of a text with commas or blanks.
  std::vector<std::string> words(const std::string& key, const std::string& option = "");
  /// Whether the flag is there, or the key is true.
  bool is_on(const std::string& key, const std::string& option = "");
  std::optional<bool> boolean(const std::string& key, const std::string& option = "");

  /// Another key, or another value, for what a format spells in its own way.
  void rename(const std::string& key, const std::string& to);
  void replace(const std::string& key, Json value);
  void replace_key(const std::string& key, const std::string& to, Json value);
  void replace_prefix(const std::string& prefix, const std::string& to);
  /// "num-layers" becomes "num_layers".
  void replace_hyphens();
  void strip_prefix(const std::string& prefix) { replace_prefix(prefix, ""); }
  /// Ignores DeepSpeed's "auto", which the Trainer fills in; "bf16: auto" of axolotl is a value.
  void set_aside_auto();
  /// "${trainer.devices}" becomes that key's value, "${NAME:8}" and "${oc.env:NAME,8}" their default; others are unknown.
  void resolve_references();

  /// The settings of that key are of that use.
  void mark(const std::string& key, Use use, const std::string& why);
  /// Marks each unread setting as the tables say, or as unknown if no table has its key.
  void mark_rest(const std::vector<UnreadKeys>& tables);

  const std::deque<LaunchSetting>& all() const { return all_; }
  const std::vector<Unevaluated>& unevaluated() const { return unevaluated_; }

 private:
  const LaunchSetting* find(const std::string& key) const;
  /// Value of the reference "${inside}"; none: it is not known.
  std::optional<Json> value_of_reference(const LaunchSetting& setting, const std::string& inside) const;
  std::deque<LaunchSetting> all_;
  std::vector<Unevaluated> unevaluated_;
};

/// Throws InputError: "FILE:LINE: KEY VALUE: wrong; allowed".
[[noreturn]] void fail_at(const LaunchSetting& setting, const std::string& wrong, const std::string& allowed);

/// Returns the first `most` bytes of a text on one line, or fewer, so that no character is cut.
std::string beginning_of(const std::string& text, std::size_t most);

/// Writes a value as text without quotes: 8, 1.5, true.
std::string plain_text(const Json& value);

}  // namespace lockstep::sim::launch
