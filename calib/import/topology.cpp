#include <algorithm>
#include <set>
#include <sstream>

#include "calib/import/imported.hpp"
#include "calib/import/log_text.hpp"
#include "engine/base/text.hpp"

namespace lockstep::calib {
namespace {

// Whether the word is `start` followed by a number.
bool is_numbered(const std::string& word, const std::string& start) {
  return word.size() > start.size() && word.compare(0, start.size(), start) == 0 &&
         word.find_first_not_of("0123456789", start.size()) == std::string::npos;
}

bool is_gpu(const std::string& word) {
  return is_numbered(word, "GPU");
}

// The names above the matrix, up to "CPU Affinity", "NUMA Affinity" and "GPU NUMA ID": GPU0, GPU1, and NICs by number
// or, of older drivers, by what their own drivers call them (mlx5_0, rdmap16s27, bnxt_re0, irdma0).
std::vector<std::string> devices_of(const std::vector<std::string>& header) {
  const auto end = std::find_if(header.begin(), header.end(), [](const std::string& word) {
    return word == "CPU" || word == "NUMA" || word == "GPU";
  });
  return {header.begin(), end};
}

// X is the device itself; NV# means # NVLinks; PIX and PXB are PCIe bridges; PHB, NODE, SYS are host bridge, NUMA node
// and sockets.
bool is_link(const std::string& word) {
  static const std::set<std::string> links{"X", "PIX", "PXB", "PHB", "NODE", "SYS", "OK"};
  return links.count(word) > 0 || is_numbered(word, "NV");
}

}  // namespace

Imported import_topology(const std::string& text, const std::string& name) {
  std::vector<std::string> devices;
  std::map<std::string, std::map<std::string, std::string>> links;
  Imported result;
  std::istringstream stream(text);
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const std::vector<std::string> words = words_of(plain_line(line));
    if (words.empty()) continue;
    if (devices.empty()) {
      if (is_gpu(words[0]) && (words.size() == 1 || !is_link(words[1]))) devices = devices_of(words);
      continue;
    }
    if (std::find(devices.begin(), devices.end(), words[0]) == devices.end()) continue;
    const std::string where = name + " line " + std::to_string(number);
    if (words.size() < devices.size() + 1) {
      result.refused.push_back(where + ": fewer links than the " + std::to_string(devices.size()) + " devices");
      continue;
    }
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (!is_link(words[i + 1])) throw InputError(where + ": unknown link " + in_quotes(words[i + 1]));
      if (words[i + 1] != "X") links[words[0]][devices[i]] = words[i + 1];
    }
  }
  if (links.empty()) throw InputError(name + ": no matrix of nvidia-smi topo -m");
  Json gpus = Json::array(), nics = Json::array(), pairs = Json::object();
  for (const std::string& device : devices) (device.compare(0, 3, "GPU") == 0 ? gpus : nics).push_back(device);
  for (std::size_t i = 0; i < devices.size(); ++i)
    for (std::size_t j = i + 1; j < devices.size(); ++j) {
      const std::string& a = devices[i];
      const std::string& b = devices[j];
      if (links.count(a) == 0 || links[a].count(b) == 0) continue;
      if (links.count(b) > 0 && links[b].count(a) > 0 && links[b][a] != links[a][b])
        throw InputError(name + ": " + a + " and " + b + " are linked by " + links[a][b] + " one way and " +
                         links[b][a] + " the other");
      pairs[a + "-" + b] = links[a][b];
    }
  result.device.name = kUnknownGpu;
  result.device.kind = "imported";
  result.device.count = std::max(1, static_cast<int>(gpus.size()));
  result.device.facts["topology"] = {{"gpus", gpus}, {"nics", nics}, {"links", pairs}};
  return result;
}

}  // namespace lockstep::calib
