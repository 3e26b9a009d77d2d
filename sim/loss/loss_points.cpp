#include "sim/loss/loss_points.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "engine/base/atomic_file.hpp"
#include "engine/base/json.hpp"
#include "engine/base/text.hpp"
#include "engine/base/units.hpp"

namespace lockstep::sim::loss {
namespace {

const std::vector<std::string>& columns() {
  static const std::vector<std::string> all{"parameters", "tokens", "batch_tokens", "loss"};
  return all;
}

/// Returns the index of each column; -1: it is absent.
std::map<std::string, int> read_head(const std::vector<std::string>& cells, const std::string& where) {
  std::map<std::string, int> places;
  for (const std::string& column : columns()) places[column] = -1;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto place = places.find(cells[i]);
    if (place == places.end())
      throw InputError(where + "column " + in_quotes(cells[i]) + " is unknown; allowed: " + joined(columns()));
    if (place->second >= 0) throw InputError(where + "column " + in_quotes(cells[i]) + " twice; allowed: each once");
    place->second = static_cast<int>(i);
  }
  for (const char* column : {"parameters", "tokens", "loss"})
    if (places.at(column) < 0)
      throw InputError(where + "column " + in_quotes(column) +
                       " is missing; allowed: parameters,tokens,loss and, if known, batch_tokens");
  return places;
}

/// Reads a row. Returns why it is unusable; empty: it is usable.
std::string read_row(const std::vector<std::string>& cells, const std::map<std::string, int>& places,
                     LossPoint& point) {
  const auto number = [&](const char* column, double& value) {
    const int place = places.at(column);
    const std::string cell =
        place < 0 || place >= static_cast<int>(cells.size()) ? "" : cells[static_cast<std::size_t>(place)];
    if (cell.empty()) return;
    if (const auto count = parse_count(cell))
      value = *count;
    else
      value = std::nan("");
  };
  number("parameters", point.parameters);
  number("tokens", point.tokens);
  number("batch_tokens", point.batch_tokens);
  number("loss", point.loss);
  if (!(point.parameters >= 1e3 && point.parameters <= 1e16)) return "parameters are no count of 1e3 to 1e16";
  if (!(point.tokens >= 1e3 && point.tokens <= 1e18)) return "tokens are no count of 1e3 to 1e18";
  if (!(point.loss > 0 && point.loss < 20)) return "the loss is no number between 0 and 20 nats";
  if (!(point.batch_tokens >= 0 && point.batch_tokens <= point.tokens)) return "the batch is no count up to the tokens";
  return "";
}

}  // namespace

LossTable parse_loss_points(const std::string& text, const std::string& name) {
  LossTable table;
  std::map<std::string, int> places;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::vector<std::string> cells = csv_cells(line);
    if (cells.front().rfind('#', 0) == 0 || (cells.size() == 1 && cells.front().empty())) continue;
    const std::string where = name + " line " + std::to_string(number) + ": ";
    if (places.empty()) {
      places = read_head(cells, where);
      continue;
    }
    LossPoint point;
    const std::string wrong = read_row(cells, places, point);
    if (wrong.empty())
      table.points.push_back(point);
    else
      table.refused.push_back(where + wrong);
  }
  if (table.points.empty())
    throw InputError(name + ": no usable row" + (table.refused.empty() ? "" : " (" + table.refused.front() + ")") +
                     "; allowed: a line parameters,tokens,batch_tokens,loss, then a line for each run");
  return table;
}

LossTable read_loss_points(const std::string& path) {
  return parse_loss_points(read_file(path), path);
}

std::vector<LossPoint> without_small_batches(const std::vector<LossPoint>& points) {
  std::map<std::pair<double, double>, std::vector<const LossPoint*>> pairs;
  for (const LossPoint& point : points)
    if (point.batch_tokens > 0) pairs[{point.parameters, point.tokens}].push_back(&point);
  std::vector<LossPoint> kept;
  for (const LossPoint& point : points) {
    const auto pair = pairs.find({point.parameters, point.tokens});
    if (point.batch_tokens > 0 && pair->second.size() >= 3) {
      const LossPoint* best = *std::min_element(pair->second.begin(), pair->second.end(),
                                                [](const auto* a, const auto* b) { return a->loss < b->loss; });
      if (point.batch_tokens < best->batch_tokens) continue;
    }
    kept.push_back(point);
  }
  return kept;
}

}  // namespace lockstep::sim::loss
