#include "calib/overlap.hpp"

#include <map>

namespace lockstep::calib {
namespace {

// Does not throw for keys that other programs wrote: missing members count as empty.
std::string text(const Json& key, const char* name) {
  const auto member = key.find(name);
  return member != key.end() && member->is_string() ? member->get<std::string>() : "";
}

double number(const Json& key, const char* name) {
  const auto member = key.find(name);
  return member != key.end() && member->is_number() ? member->get<double>() : 0;
}

std::string alone_id(const Sample& beside) {
  Sample alone;
  alone.probe = beside.probe;
  alone.key = beside.key;
  alone.key["beside"] = "nothing";
  return alone.id();
}

}  // namespace

std::vector<Slowdown> slowdowns(const Profile& profile) {
  std::map<std::string, double> seconds;
  for (const Sample& sample : profile.samples)
    if (sample.probe == "overlap") seconds[sample.id()] = sample.median_s();
  std::vector<Slowdown> all;
  for (const Sample& sample : profile.samples) {
    if (sample.probe != "overlap" || text(sample.key, "beside") == "nothing") continue;
    const auto alone = seconds.find(alone_id(sample));
    if (alone == seconds.end() || !(alone->second > 0)) continue;
    Slowdown one;
    one.model = text(sample.key, "model");
    one.precision = text(sample.key, "precision");
    one.library = text(sample.key, "library");
    one.devices = static_cast<int>(number(sample.key, "devices"));
    one.batch = number(sample.key, "batch");
    one.bytes = number(sample.key, "bytes");
    one.ratio = sample.median_s() / alone->second;
    all.push_back(one);
  }
  return all;
}

}  // namespace lockstep::calib
