#include "sim/validation/kernel_tables.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "calib/import/log_text.hpp"
#include "engine/base/progress_line.hpp"
#include "engine/base/text.hpp"
#include "sim/kernel/kernel_row.hpp"
#include "sim/kernel/kernel_table.hpp"
#include "sim/report/text_table.hpp"
#include "sim/scenario/kernels_spec.hpp"

namespace lockstep::sim {
inline namespace validation {
namespace {

using SeriesByName = std::map<std::pair<std::string, std::string>, KernelSeries>;

// Adds the names of a row's source, such as "vllm 0.24.0". Several sources are listed without their order in the file.
void add_source(std::map<std::pair<std::string, std::string>, std::set<std::string>>& sources,
                const std::pair<std::string, std::string>& key, const KernelCells& cells) {
  for (const char* column : {"source", "table"}) {
    const auto found = cells.find(column);
    if (found != cells.end()) sources[key].insert(found->second);
  }
}

void read_table(const std::string& path, KernelKind kind, const Catalogue& catalogue, SeriesByName& all,
                std::map<std::pair<std::string, std::string>, std::set<std::string>>& sources) {
  const KernelTable table(calib::log_text(path), path);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const KernelCells cells = table.cells(i);
    try {
      const KernelRow row = read_kernel_row(kind, cells);
      const GpuEntry* gpu = catalogue.gpus.named(row.gpu);
      if (gpu == nullptr) throw InputError("gpu " + in_quotes(row.gpu) + " is not in the catalogue");
      const double seconds = table.number(cells, "seconds");
      if (seconds == 0) continue;  // the row is a difference of two measurements that do not differ
      const auto key = std::make_pair(gpu->id, row.law);
      KernelSeries& series = all[key];
      series.gpu = gpu->id;
      series.law = row.law;
      series.samples.push_back({row.work, seconds, is_held_out(row.split_key)});
      add_source(sources, key, cells);
    } catch (const InputError& e) {
      throw InputError(path + ": line " + std::to_string(table.line(i)) + ": " + e.what());
    }
  }
}

// Returns an empty path if the folder has no table of this kind.
std::string find_table(const std::string& folder, KernelKind kind) {
  for (const char* ending : {".csv.gz", ".csv"}) {
    const std::string path = folder + "/" + name_of(kind) + ending;
    if (std::filesystem::exists(path)) return path;
  }
  return "";
}

constexpr const char* kDescription =
    "Laws of this GPU's kernels, fitted by validate --fit-kernels on measured times (results/kernels): terms, tables "
    "that "
    "correct them by shape in thousandths of the logarithm, and errors on shapes that the fit did not see.";

}  // namespace

std::vector<KernelSeries> read_kernel_tables(const std::string& folder, const Catalogue& catalogue) {
  SeriesByName all;
  std::map<std::pair<std::string, std::string>, std::set<std::string>> sources;
  for (const Choice<KernelKind>& kind : choices_of(KernelKind()))
    if (const std::string path = find_table(folder, kind.value); !path.empty())
      read_table(path, kind.value, catalogue, all, sources);
  if (all.empty())
    throw InputError(folder +
                     ": no table of kernels; allowed: a folder with gemm.csv.gz and its kin (results/kernels)");
  std::vector<KernelSeries> series;
  for (auto& [key, one] : all) {
    const std::set<std::string>& names = sources[key];
    one.source = joined({names.begin(), names.end()});
    series.push_back(std::move(one));
  }
  return series;
}

KernelFit fit_kernel_laws(const std::vector<KernelSeries>& series, const Catalogue& catalogue, int jobs) {
  std::vector<KernelLawFit> laws(series.size());
  std::atomic<std::size_t> next{0}, done{0};
  const auto work = [&](ProgressLine* progress) {
    for (std::size_t i = next++; i < series.size(); i = next++) {
      const KernelPeaks peaks = kernel_peaks(catalogue.gpus.with_id(series[i].gpu)->spec);
      laws[i] = fit_kernel_law(series[i].law, series[i].source, series[i].samples, peaks);
      ++done;
      if (progress != nullptr) progress->advance_to(done);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < jobs; ++i) threads.emplace_back(work, nullptr);
  ProgressLine progress("laws", series.size());
  work(&progress);
  for (std::thread& thread : threads) thread.join();

  KernelFit fit;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (fit.files.empty() || fit.files.back().gpu != series[i].gpu)
      fit.files.push_back({series[i].gpu, kDescription, {}});
    fit.files.back().laws.push_back(laws[i].law);
    fit.held_out.push_back({series[i].law, series[i].gpu, laws[i].held_out});
  }
  for (const KernelSeries& to : series) {
    const GpuEntry* gpu = catalogue.gpus.with_id(to.gpu);
    for (std::size_t i = 0; i < series.size(); ++i)
      if (series[i].gpu == gpu->kernels_of && series[i].law == to.law)
        fit.carried.push_back(
            {to.law, series[i].gpu, to.gpu, kernel_law_error(laws[i].law, to.samples, kernel_peaks(gpu->spec), true)});
  }
  return fit;
}

std::string kernel_fit_table(const KernelFit& fit) {
  TextTable table(true);
  table.add({"law", "GPU", "rows", "held out", "median", "nine tenths"});
  for (const KernelLawFile& file : fit.files)
    for (const KernelLaw& law : file.laws)
      table.add({law.name, file.gpu, with_thousands(law.rows), with_thousands(law.error.rows),
                 percent(law.error.median), percent(law.error.nine_tenths)});
  std::string text = table.text();
  if (fit.carried.empty()) return text;
  TextTable carried(true);
  carried.add({"carried to another GPU", "from", "to", "rows", "median", "nine tenths"});
  for (const CarriedLaw& one : fit.carried)
    carried.add({one.law, one.from, one.to, with_thousands(one.error.rows), percent(one.error.median),
                 percent(one.error.nine_tenths)});
  return text + "\n" + carried.text();
}

Json kernel_fit_json(const KernelFit& fit) {
  Json laws = Json::array(), carried = Json::array();
  for (const KernelLawFile& file : fit.files)
    for (const KernelLaw& law : file.laws)
      laws.push_back({{"law", law.name}, {"gpu", file.gpu}, {"rows", law.rows}, {"error", fields_to_json(law.error)}});
  for (const CarriedLaw& one : fit.carried)
    carried.push_back({{"law", one.law}, {"from", one.from}, {"to", one.to}, {"error", fields_to_json(one.error)}});
  Json held_out = Json::array();
  for (const HeldOutTimes& one : fit.held_out) {
    Json times = Json::array();
    for (const HeldOutTime& time : one.times) times.push_back({time.measured_s, time.predicted_s});
    held_out.push_back({{"law", one.law}, {"gpu", one.gpu}, {"measured_and_predicted_s", times}});
  }
  return {{"schema", "lockstep/kernel-fit/1"}, {"laws", laws}, {"carried", carried}, {"held_out", held_out}};
}

}  // namespace validation
}  // namespace lockstep::sim
