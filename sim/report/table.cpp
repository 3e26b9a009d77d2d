#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "sim/report/result.hpp"

namespace lockstep::sim {
namespace {

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string with_thousands(double value) {
  std::string digits = format("%.0f", value);
  for (int i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}

std::string duration(double seconds) {
  if (seconds < 120) return format("%.1f s", seconds);
  if (seconds < 7200) return format("%.2f min", seconds / 60);
  return seconds < 172800 ? format("%.2f h", seconds / 3600) : format("%.2f d", seconds / 86400);
}

// Right-aligned columns, two blanks apart.
class Table {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const {
    std::vector<std::size_t> widths(rows_.front().size(), 0);
    for (const auto& row : rows_)
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    std::string text;
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) text += std::string(widths[i] - row[i].size() + (i ? 2 : 0), ' ') + row[i];
      text += "\n";
    }
    return text;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string communication_text(const CommunicationSpec& c) {
  std::string text = c.all_reduce + " all-reduce";
  if (c.all_reduce == "hierarchical" || c.all_reduce == "hybrid") text += ", groups of " + std::to_string(c.group_size);
  if (c.all_reduce == "hybrid") text += ", ring from " + format_bytes(static_cast<double>(c.hybrid_threshold_bytes));
  text += ", " + c.wire + " wire";
  text += c.fusion_threshold_bytes > 0 ? ", fused to " + format_bytes(static_cast<double>(c.fusion_threshold_bytes)) : ", unfused";
  return text + (c.overlap ? ", overlapped" : ", after back-propagation");
}

std::string kinds_text(const std::vector<Assumption>& assumptions) {
  std::map<std::string, int> count;
  for (const Assumption& a : assumptions) ++count[a.kind];
  std::string text;
  for (const char* kind : {"measured", "published", "fitted", "assumed"})
    if (count[kind] > 0) text += (text.empty() ? "" : ", ") + std::to_string(count[kind]) + " " + kind;
  return text;
}

std::string header(const Scenario& s) {
  std::string text = s.name + ": " + s.model.title + " on " + s.cluster.name + "\n";
  text += "  " + s.cluster.gpu.name + ", " + s.compute.precision + ", S-SGD, " + communication_text(s.communication) + "\n";
  if (s.convergence)
    text += "  to " + s.convergence->target + " in " + format("%g", s.convergence->epochs) + " epochs of " +
            with_thousands(s.convergence->train_samples) + " images\n";
  return text + "\n";
}

}  // namespace

std::string table_text(const Report& report) {
  const Scenario& s = report.loaded.scenario;
  Table table;
  std::vector<std::string> names{"GPUs", "batch/GPU", "global batch", "iteration", "compute", "exposed", "images/s", "efficiency"};
  if (s.convergence) names.insert(names.end(), {"time to accuracy", "low", "high"});
  table.add(names);
  double wall_s = 0;
  for (const ReportPoint& row : report.points) {
    const PointResult& p = row.point;
    std::vector<std::string> cells{std::to_string(p.gpus),
                                   std::to_string(p.batch_per_gpu),
                                   with_thousands(static_cast<double>(row.global_batch)),
                                   format("%.1f ms", p.mean_iteration_s() * 1e3),
                                   format("%.1f ms", p.compute_s * 1e3),
                                   format("%.1f ms", p.exposed_communication_s * 1e3),
                                   with_thousands(p.samples_per_s()),
                                   format("%.1f %%", 100 * row.scaling_efficiency)};
    if (row.has_accuracy)
      cells.insert(cells.end(), {duration(row.accuracy.seconds), duration(row.accuracy.low_s), duration(row.accuracy.high_s)});
    table.add(cells);
    wall_s += p.wall_s;
  }
  std::string text = header(s) + table.text() + "\n";
  text += "Fidelity " + s.fidelity + ", " + std::to_string(s.iterations) + " iterations a point, simulated in " + format("%.2f s", wall_s) + ". ";
  text += "Inputs: " + kinds_text(report.loaded.assumptions) + " (--json lists them with their sources).\n";
  return text;
}

}  // namespace lockstep::sim
