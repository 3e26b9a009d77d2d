#include "sim/plan/row_writer.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "engine/base/process_pool.hpp"

namespace lockstep::sim::plan {
namespace {

constexpr std::size_t kRows = 2000;              // of a text: about 5 MB
constexpr std::size_t kRowsOfProcesses = 20000;  // fewer take less time than the processes

}  // namespace

void write_rows(std::size_t rows, int jobs,
                const std::function<std::string(std::size_t from, std::size_t until)>& text_of,
                const std::function<void(const std::string& piece)>& write) {
  const std::size_t texts = (rows + kRows - 1) / kRows;
  const auto make = [&](std::size_t text) { return text_of(text * kRows, std::min(rows, (text + 1) * kRows)); };
  if (jobs < 2 || rows < kRowsOfProcesses) {
    for (std::size_t text = 0; text < texts; ++text) write(make(text));
    return;
  }
  ProcessPool pool(jobs);
  std::map<std::size_t, std::string> made;
  for (std::size_t started = 0, written = 0; written < texts;) {
    while (started < texts && pool.free() > 0) {
      pool.start([&, started](const ToParent& parent) { parent.send(make(started)); });
      ++started;
    }
    for (const ProcessEvent& event : pool.wait(-1)) {  // processes have the numbers of their texts
      const auto text = static_cast<std::size_t>(event.process);
      if (!event.is_end)
        made[text] = event.text;
      else if (text >= written && made.count(text) == 0)
        throw std::runtime_error("rows of the plan were not written: " + event.text);
    }
    for (auto next = made.begin(); next != made.end() && next->first == written; ++written) {
      write(next->second);
      next = made.erase(next);
    }
  }
}

}  // namespace lockstep::sim::plan
