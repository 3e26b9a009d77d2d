#include "sim/job_prediction/kernel_times.hpp"

#include "engine/base/rounded_json.hpp"
#include "engine/base/text.hpp"

namespace lockstep::sim {
inline namespace job_prediction {
namespace {

/// The laws of the GPUs in a table; each is looked up once.
class LawsOfGpus {
 public:
  explicit LawsOfGpus(const Catalogue& catalogue) : catalogue_(catalogue) {}

  const GpuEntry& gpu(const std::string& name) const {
    if (const GpuEntry* found = catalogue_.gpus.named(name)) return *found;
    throw InputError("gpu " + in_quotes(name) + " is not in the catalogue; " + catalogue_.gpus.nearest_text(name));
  }
  const KernelLaws& laws(const GpuEntry& gpu) {
    const auto known = laws_.find(gpu.id);
    return known != laws_.end() ? known->second : laws_.insert({gpu.id, catalogue_.kernel_laws_of(gpu)}).first->second;
  }

 private:
  const Catalogue& catalogue_;
  std::map<std::string, KernelLaws> laws_;
};

KernelPrediction predict_row(KernelKind kind, const KernelCells& cells, LawsOfGpus& known) {
  KernelPrediction prediction;
  prediction.row = read_kernel_row(kind, cells);
  const KernelRow& row = prediction.row;
  prediction.gpu = &known.gpu(row.gpu);
  const KernelLaws& laws = known.laws(*prediction.gpu);
  if (row.work.flop > 0 && laws.peaks().peak_flop_per_s(row.work.precision) <= 0)
    throw InputError(prediction.gpu->name + " has no arithmetic in " + name_of(row.work.precision));
  prediction.law = laws.find(row.law);
  if (prediction.law.law == nullptr)
    throw InputError("no law " + in_quotes(row.law) + " for " + prediction.gpu->name +
                     "; nearest: " + joined(nearest_names(row.law, laws.names())));
  prediction.source = prediction.law.law->source;
  prediction.time = laws.time(prediction.law, row.work);
  return prediction;
}

std::string reached_text(const KernelPrediction& p) {
  if (p.row.work.flop > 0) return formatted("%.4g TFLOP/s", 1e-12 * p.row.work.flop / p.time.seconds);
  return format_bandwidth(p.row.work.memory_bytes / p.time.seconds);
}

}  // namespace

KernelPrediction predict_kernel(KernelKind kind, const KernelCells& cells, const Catalogue& catalogue) {
  LawsOfGpus known(catalogue);
  return predict_row(kind, cells, known);
}

std::string kernel_text(const KernelPrediction& p) {
  std::string text = p.row.law + " on " + p.gpu->name + ": " + format_seconds(p.time.seconds) + " (" +
                     format_seconds(p.time.low_s) + " to " + format_seconds(p.time.high_s) + "), " + reached_text(p) +
                     "\n";
  const KernelLawError& error = p.law.law->error;
  text += "  law fitted on " + with_thousands(p.law.law->rows) + " times of " + p.law.measured_on + " (" + p.source +
          "); on shapes that the fit did not see its median error is " + percent(error.median) + "\n";
  if (p.law.carried != Carried::no)
    text += "  carried from " + p.law.measured_on +
            (p.law.law->message ? ", which has the same links" : " by peak and memory bandwidth") +
            ", so the interval is wider\n";
  if (!p.time.is_in_range) text += "  the shape lies outside those that were measured, so the interval is wider\n";
  return text;
}

Json kernel_json(const KernelPrediction& p) {
  Json json{{"schema", "lockstep/kernel/1"},
            {"kernel", p.row.law},
            {"gpu", p.gpu->id},
            {"seconds", p.time.seconds},
            {"seconds_low", p.time.low_s},
            {"seconds_high", p.time.high_s},
            {"flop", p.row.work.flop},
            {"flops", p.row.work.flop / p.time.seconds},
            {"bytes", p.row.work.memory_bytes + p.row.work.streamed_bytes},
            {"in_range", p.time.is_in_range},
            {"law",
             {{"measured_on", p.law.measured_on},
              {"kind", p.law.carried != Carried::no ? "assumed" : "fitted"},
              {"source", p.source},
              {"rows", p.law.law->rows},
              {"error", fields_to_json(p.law.law->error)}}}};
  return rounded(std::move(json));
}

std::string predict_kernel_table(const KernelTable& table, const Catalogue& catalogue) {
  constexpr const char* kType = "kernel_type";
  bool has_type = false;
  for (const std::string& column : table.columns()) has_type = has_type || column == kType;
  if (!has_type)
    throw InputError("simulate kernel --csv: no column \"kernel_type\"; allowed: a column that says " +
                     joined(choice_names<KernelKind>()));
  LawsOfGpus known(catalogue);
  std::string text = table.header_text() + ",predicted_s,why\n";
  for (std::size_t i = 0; i < table.size(); ++i) {
    std::string seconds, why;
    try {
      const KernelCells cells = table.cells(i);
      const KernelKind kind = choice_named<KernelKind>(cells.at(kType), kType);
      seconds = formatted("%.6g", predict_row(kind, cells, known).time.seconds);
    } catch (const InputError& e) {
      why = e.what();
    }
    text += table.row_text(i) + "," + seconds + "," + csv_cell(why) + "\n";
  }
  return text;
}

}  // namespace job_prediction
}  // namespace lockstep::sim
