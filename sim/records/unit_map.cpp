// From the SI value of what was mapped to the record's own unit.
#include <algorithm>

#include "engine/base/text.hpp"
#include "sim/records/mapping.hpp"

namespace lockstep::sim {
inline namespace records {
namespace {

double tokens_of(const Mapping& m) {
  if (m.model == nullptr || m.model->tokens == 0)
    throw Unmapped{"metric " + in_quotes(m.job.record->metric) + ": the tokens of a sample of " + m.job.model.stated +
                   " are not known"};
  return m.model->tokens;
}

double samples_of_iteration(const Mapping& m) {
  const RecordRun& run = m.result.target.front();
  return run.samples() * run.accumulation;
}

}  // namespace

void set_unit(Mapping& m) {
  const Measure& measure = m.job.measure;
  m.result.per_si *= measure.per_si / (measure.is_per_gpu ? std::max(1, m.job.gpus) : 1);
  if (measure.counted == Counted::tokens) m.result.per_si *= tokens_of(m);
  if (is_of_flops(measure.metric)) m.result.per_si *= counted_flop(m);
  if (measure.counted == Counted::iterations) m.result.per_si /= m.result.target.front().samples();
  if (measure.tokens > 0)
    m.result.per_si *=
        measure.tokens / (tokens_of(m) * samples_of_iteration(m)) * (measure.is_of_all_gpus ? m.job.gpus : 1);
}

}  // namespace records
}  // namespace lockstep::sim
