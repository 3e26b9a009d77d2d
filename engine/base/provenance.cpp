#include "engine/base/provenance.hpp"

#include <unistd.h>

#include <ctime>

#include "engine/base/atomic_file.hpp"
#include "engine/base/version.hpp"

namespace lockstep {
namespace {

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

/// One time per process, so that all files of a run agree.
const std::string& started_utc() {
  static const std::string started = now_utc();
  return started;
}

std::string host_name() {
  char name[256] = "";
  if (::gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

/// JSON is UTF-8, but file names may hold any bytes: invalid ones become U+FFFD.
std::string as_utf8(const std::string& bytes) {
  return Json::parse(Json(bytes).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

}  // namespace

std::string sha256_file(const std::string& path) {
  return sha256_hex(read_file(path));
}

Json provenance(const std::vector<std::string>& argv, const std::string& network_model,
                const std::map<std::string, std::string>& inputs) {
  Json result = Json::object();
  result["version"] = version();
  result["git"] = git_revision();
  result["argv"] = Json::array();
  for (const std::string& word : argv) result["argv"].push_back(as_utf8(word));
  result["started_utc"] = started_utc();
  result["host"] = host_name();
  result["simgrid"] = simgrid_version();
  result["network_model"] = network_model;
  result["inputs"] = Json::object();
  for (const auto& [file, digest] : inputs) result["inputs"][as_utf8(file)] = digest;
  return result;
}

}  // namespace lockstep
