#include "sim/replica/program.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/base/index.hpp"
#include "sim/replica/exchange.hpp"
#include "sim/replica/group_plans.hpp"
#include "sim/replica/pieces.hpp"

namespace lockstep::sim::replica {
namespace {

// Lists the streams of a stage; those of its neighbours follow.
enum Stream { kPasses, kGroups, kRing, kExperts, kShards, kExchange, kForward, kBackward, kStreamsOfStage };

std::vector<std::string> stream_names(int stages) {
  std::vector<std::string> names;
  for (int stage = 0; stage < stages; ++stage)
    for (const char* name :
         {"passes", "groups", "ring", "experts", "shards", "exchange", "forward from", "backward from"})
      names.push_back(std::string(name) + " " + std::to_string(stage));
  names.emplace_back("all");
  return names;
}

ParallelSpec of_replicas(const ParallelSpec& spec, int replicas) {
  ParallelSpec fewer = spec;
  fewer.data = replicas;
  return fewer;
}

class Builder {
 public:
  Builder(const Scenario& scenario, const SplitModel& model, int replicas)
      : scenario_(scenario),
        job_(model.job()),
        seconds_(model.seconds()),
        ops_(job_.ops()),
        pipeline_(job_.pipeline()),
        plans_(scenario, of_replicas(model.job().spec, replicas), model.links()),
        links_(model.links()),
        gpu_(model.job().spec.gpus_of_replica() * replicas, stream_names(model.job().spec.pipeline)),
        all_(model.job().spec.pipeline * kStreamsOfStage) {
    std::vector<int> stage_of_gpu;
    for (int gpu = 0; gpu < model.job().spec.gpus_of_replica() * replicas; ++gpu)
      stage_of_gpu.push_back(plans_.stage_of(gpu));
    gpu_.have_roles(std::move(stage_of_gpu), job_.spec.pipeline);
  }

  Program build(int iterations) {
    for (int i = 0; i < iterations; ++i) iteration();
    return gpu_.finish();
  }

 private:
  using After = std::vector<int>;

  int stream(int stage, Stream which) const { return stage * kStreamsOfStage + which; }
  const ModelPart& part(int stage, int chunk) const { return job_.parts[to_index(chunk * job_.spec.pipeline + stage)]; }
  bool shards_from(ShardingStage least) const {
    return static_cast<int>(job_.spec.exchanged_sharding()) >= static_cast<int>(least);
  }

  int plan_of(const Traffic& traffic, int stage) {
    const auto key = std::make_tuple(static_cast<int>(traffic.kind), static_cast<int>(traffic.group), stage,
                                     traffic.bytes, traffic.ranks);
    const auto [entry, is_new] = known_.try_emplace(key, 0);
    if (is_new) entry->second = gpu_.add_plan(plans_.exchange(traffic, stage));
    return entry->second;
  }

  int message_plan(double bytes, int from, int to) {
    const auto [entry, is_new] = messages_.try_emplace({from, to}, 0);
    if (is_new) entry->second = gpu_.add_plan(plans_.message(bytes, from, to));
    return entry->second;
  }

  // Adds the exchange as often as `traffic` says, one after the other; -1: nothing is exchanged. Steps of a ring are
  // rounds of its plan.
  int exchange(const Traffic& traffic, int stage, Stream which, const After& after, double launch_s = 0) {
    if (traffic.ranks == 1 || traffic.bytes <= 0) return -1;
    const int times = traffic.kind == TrafficKind::send ? 1 : static_cast<int>(std::lround(traffic.times));
    int last = -1;
    const bool is_of_state = which == kShards || which == kExchange;
    const double slows = is_of_state ? links_.slowdown(traffic) : 1;
    for (int i = 0; i < times; ++i)
      last = gpu_.collective(stream(stage, which), traffic.name.text(), plan_of(traffic, stage),
                             launch_s + traffic.host_s, after, slows);
    return last;
  }

  // Adds all exchanges one after the other. Returns the last one; -1: none.
  int exchange_all(const TrafficList& list, int stage, Stream which, const After& after, double launch_s = 0) {
    int last = -1;
    for (const Traffic& traffic : list) {
      const int index = exchange(traffic, stage, which, last >= 0 ? After{last} : after, launch_s);
      if (index >= 0) last = index;
    }
    return last;
  }

  int compute(int stage, const std::string& name, double seconds, const After& after) {
    return gpu_.compute_of(stage, stream(stage, kPasses), name, seconds, after);
  }

  // Adds the operations of one kind in the exchange between replicas; returns -1 if there are none.
  int exchange_state(const RankParameters& parameters, TrafficKind kind, int stage, Stream which, const After& after,
                     double launch_s) {
    ParallelSpec once = job_.spec;
    if (kind != TrafficKind::all_reduce) once.sharding = ShardingStage::zero1;
    TrafficList list;
    for (const Traffic& traffic : state_exchange(parameters, once, 1, job_.traffic))
      if (traffic.kind == kind) list.push_back(traffic);
    return exchange_all(list, stage, which, after, launch_s);
  }

  // Adds computing and the exchanges that follow or overlap it, on the passes' stream and on others. Returns the last
  // work.
  int run_piece(int stage, const Piece& piece, After after, const char* name) {
    // Exchanges by the computing that they overlap. If the forward pass is recomputed, during_attention has two rings.
    TrafficList following, during_gemms, during_attention, during_piece;
    for (const Traffic& traffic : piece.traffic)
      if (traffic.group == TrafficGroup::context && traffic.kind == TrafficKind::send && traffic.ranks > 1)
        during_attention.push_back(traffic);
      else if (traffic.group == TrafficGroup::expert && job_.spec.expert_overlap)
        during_piece.push_back(traffic);
      else
        (traffic.is_beside_products ? during_gemms : following).push_back(traffic);
    const int arrived = exchange_all(during_piece, stage, kExperts, after);
    const OverlapSeconds overlap =
        overlap_of(job_.spec, piece.seconds, !during_attention.empty(), !during_gemms.empty());
    const double slowed_s = slowed_by_experts_s(job_.spec, links_.seconds(during_piece));
    const double alone_s = piece.seconds.compute_s - overlap.attention_s - overlap.products_s;
    int last = compute(stage, name, alone_s + slowed_s, after);
    if (!during_gemms.empty()) {
      const int sent = exchange_all(during_gemms, stage, kGroups, {last});
      last = compute(stage, "products", overlap.products_s, {last});
      last = compute(stage, "products", 0, known({last, sent}));
    }
    if (!during_attention.empty()) {
      const int turned = exchange_all(during_attention, stage, kRing, {last});
      last = compute(stage, "attention", overlap.attention_s, {last});
      last = compute(stage, "attention", 0, known({last, turned}));
    }
    if (arrived >= 0) last = compute(stage, "experts", 0, {last, arrived});
    const int sent = exchange_all(following, stage, kGroups, {last});
    return sent >= 0 ? sent : last;
  }

  // Adds a micro-batch's pass through a chunk; returns its last work.
  int run_op(int stage, const PipelineOp& op, const After& arrived) {
    static const char* const kNames[] = {"forward", "backward", "backward", "weights' gradients"};
    const bool is_last = is_last_of_gradients(stage, op);
    const std::vector<Piece> all = pieces_of(job_, seconds_, part(stage, op.chunk), op.pass);
    After after = arrived;
    after.push_back(last_of_stage_[to_index(stage)]);
    const bool gathers = shards_from(ShardingStage::zero3) && op.pass != Pass::weight_gradient;
    const bool waits = job_.spec.waits_for_shards();
    int gathered = -1, before = -1, last = -1;
    if (gathers && !waits && !all.empty())
      gathered = exchange_state(all.front().weights, TrafficKind::all_gather, stage, kShards, known(after), 0);
    for (std::size_t i = 0; i < all.size(); ++i) {
      After needs = known(after);
      if (gathers && waits) gathered = gather_alone(stage, op.pass, all[i], needs);
      if (gathered >= 0) needs.push_back(gathered);
      if (op.pass == Pass::forward && is_first_of_chunk(op)) await_weights(stage, op.chunk, all[i].block, needs);
      // The next piece's weights are gathered while this piece is computed.
      if (gathers && !waits && i + 1 < all.size())
        gathered = exchange_state(all[i + 1].weights, TrafficKind::all_gather, stage, kShards,
                                  before >= 0 ? After{before} : known(after), 0);
      last = run_piece(stage, all[i], needs, kNames[static_cast<int>(op.pass)]);
      const int scattered = leave_gradients(stage, op, all[i], last, is_last);
      if (waits && scattered >= 0) last = scattered;
      before = last;
      after = {last};
    }
    last_of_stage_[to_index(stage)] = last;
    if (is_last) flush_gradients(stage, last);
    return last;
  }

  // Gathers a piece's weights while the stage computes nothing; returns the last operation.
  int gather_alone(int stage, Pass pass, const Piece& piece, const After& after) {
    const bool is_repeated = pass != Pass::forward && piece.block >= 0;
    int gathered = -1;
    for (int i = 0; i < (is_repeated ? gathers_of_backward(job_.spec) : 1); ++i)
      gathered = exchange_state(piece.weights, TrafficKind::all_gather, stage, kShards, after, 0);
    return gathered;
  }

  static After known(const After& after) {
    After all;
    for (int index : after)
      if (index >= 0) all.push_back(index);
    return all;
  }

  bool is_first_of_chunk(const PipelineOp& op) const {
    return op.micro_batch ==
           (pipeline_.order == ChunkOrder::mirrored ? op.chunk * pipeline_.micro_batches_of_chunk() : 0);
  }

  // True if the op computes gradients of weights, and is the last of its chunk to do so.
  bool is_last_of_gradients(int stage, const PipelineOp& wanted) const {
    const StageOps& ops = ops_[to_index(stage)];
    const auto last = std::find_if(ops.rbegin(), ops.rend(), [&](const PipelineOp& op) {
      return op.chunk == wanted.chunk && gives_weight_gradients(op.pass);
    });
    return last != ops.rend() && *last == wanted;
  }

  // Gathers weights before the iteration's first passes.
  void gather_weights(int stage) {
    if (job_.spec.exchanged_sharding() != ShardingStage::zero1 &&
        job_.spec.exchanged_sharding() != ShardingStage::zero2)
      return;
    const double launch_s = scenario_.communication.launch_overhead_s;
    int gathered = -1;
    for (int chunk = 0; chunk < job_.spec.chunks(); ++chunk) {
      const ModelPart& of = part(stage, chunk);
      // With one second per block, the time of a bucket is the number of its first block.
      for (const ExchangeBucket& bucket : weight_buckets(job_, of, std::vector<double>(to_index(of.blocks), 1.0), 0.5,
                                                         {double(scenario_.communication.bucket_bytes()), launch_s})) {
        const int index =
            exchange_state(bucket.parameters, TrafficKind::all_gather, stage, kExchange, start_, launch_s);
        if (index >= 0) gathered = index;
        weights_[{stage, chunk}].push_back({bucket.from_start_s, gathered});
      }
    }
    if (scenario_.communication.overlap) return;
    for (int chunk = 0; chunk < job_.spec.chunks(); ++chunk)
      for (auto& [place, index] : weights_[{stage, chunk}]) index = gathered;
  }

  // Adds the gathers of weights that are needed by now; for the embedding only the first one.
  void await_weights(int stage, int chunk, int block, After& needs) {
    const auto found = weights_.find({stage, chunk});
    if (found == weights_.end()) return;
    const double place =
        block < 0 ? (part(stage, chunk).has_embedding ? 0 : part(stage, chunk).blocks + 0.5) : block + 0.5;
    for (const auto& [from, index] : found->second)
      if (from <= place && index >= 0) needs.push_back(index);
  }

  // Returns the work that scatters the gradients; -1: none.
  int leave_gradients(int stage, const PipelineOp& op, const Piece& piece, int last, bool is_last) {
    if (!gives_weight_gradients(op.pass)) return -1;
    int scattered = -1;
    if (shards_from(ShardingStage::zero2)) {
      scattered = exchange_state(piece.gradients, TrafficKind::reduce_scatter, stage, kShards, {last}, 0);
      if (scattered >= 0) exchanged_[to_index(stage)] = scattered;
    }
    if (!is_last) return scattered;
    RankParameters& open = open_[to_index(stage)];
    open += piece.gradients;
    if (scenario_.communication.overlap &&
        open.total() * job_.traffic.gradient_bytes >= double(scenario_.communication.bucket_bytes()))
      flush_gradients(stage, last);
    return scattered;
  }

  void flush_gradients(int stage, int last) {
    RankParameters& open = open_[to_index(stage)];
    if (open.total() <= 0) return;
    const double launch_s = scenario_.communication.launch_overhead_s;
    for (TrafficKind kind : {TrafficKind::reduce_scatter, TrafficKind::all_reduce}) {
      if (kind == TrafficKind::reduce_scatter && job_.spec.exchanged_sharding() != ShardingStage::zero1) continue;
      const int index = exchange_state(open, kind, stage, kExchange, {last}, launch_s);
      if (index >= 0) exchanged_[to_index(stage)] = index;
    }
    open = {};
  }

  // The works after which an op's inputs from other stages have arrived; empty: it has no such inputs; nullopt: not
  // known yet.
  std::optional<After> arrived(int stage, const PipelineOp& op) const {
    if (op.pass == Pass::weight_gradient) return After{};
    const bool is_forward = op.pass == Pass::forward;
    const ChunkPlace here{stage, op.chunk};
    const std::optional<ChunkPlace> from = is_forward ? pipeline_.before(here) : pipeline_.next(here);
    if (!from) return After{};
    const auto found = sent_.find({is_forward, from->stage, from->chunk, op.micro_batch});
    if (found == sent_.end()) return std::nullopt;
    return After{found->second};
  }

  void send(int stage, const PipelineOp& op, int last) {
    if (op.pass == Pass::weight_gradient) return;
    const bool is_forward = op.pass == Pass::forward;
    const ChunkPlace here{stage, op.chunk};
    const std::optional<ChunkPlace> there = is_forward ? pipeline_.next(here) : pipeline_.before(here);
    if (!there) return;
    int& arrives = sent_[{is_forward, stage, op.chunk, op.micro_batch}] = last;
    if (there->stage == stage) return;
    for (const Traffic& traffic : stage_message(job_.shape, job_.spec, job_.traffic))
      if (traffic.group == TrafficGroup::neighbour)
        arrives = gpu_.collective(stream(stage, is_forward ? kForward : kBackward), traffic.name.text(),
                                  message_plan(traffic.bytes, stage, there->stage), 0, {last});
  }

  // Runs the stage's next op, or the next two if they are computed together. Two ops wait for each other's inputs, and
  // both send at the end.
  bool run_next(int stage, std::size_t& next) {
    const StageOps& ops = ops_[to_index(stage)];
    const std::size_t end = next + (ops[next].is_beside_next ? 2 : 1);
    After needs;
    for (std::size_t i = next; i < end; ++i) {
      const std::optional<After> of_op = arrived(stage, ops[i]);
      if (!of_op) return false;
      needs.insert(needs.end(), of_op->begin(), of_op->end());
    }
    int last = -1;
    for (std::size_t i = next; i < end; ++i) last = run_op(stage, ops[i], needs);
    for (; next < end; ++next) send(stage, ops[next], last);
    return true;
  }

  void run_pipeline() {
    std::vector<std::size_t> next(ops_.size(), 0);
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      for (int stage = 0; stage < job_.spec.pipeline; ++stage)
        while (next[to_index(stage)] < ops_[to_index(stage)].size() && run_next(stage, next[to_index(stage)]))
          has_moved = true;
    }
  }

  void iteration() {
    const int p = job_.spec.pipeline;
    gpu_.begin_iteration();
    start_ = ended_ < 0 ? After{} : After{ended_};
    last_of_stage_.assign(to_index(p), ended_);
    exchanged_.assign(to_index(p), -1);
    open_.assign(to_index(p), {});
    weights_.clear();
    sent_.clear();
    for (int stage = 0; stage < p; ++stage) gather_weights(stage);
    run_pipeline();
    if (exchanges_tied_embedding(job_)) exchange_tied();
    if (job_.spec.has_two_copies()) exchange_copies();
    After all;
    for (int stage = 0; stage < p; ++stage) {
      all.push_back(last_of_stage_[to_index(stage)]);
      if (exchanged_[to_index(stage)] >= 0) all.push_back(exchanged_[to_index(stage)]);
    }
    const int met = gpu_.collective(all_, "norm of all gradients", barrier(), 0, all);
    After updated;
    for (int stage = 0; stage < p; ++stage)
      updated.push_back(compute(stage, "update", update_of_stage_s(scenario_, job_, seconds_, stage), {met}));
    ended_ = gpu_.collective(all_, "end", barrier(), 0, updated);
    gpu_.end_iteration(ended_);
  }

  void exchange_tied() {
    const double bytes =
        double(job_.shape.vocabulary) * job_.shape.hidden / job_.spec.tensor * job_.traffic.gradient_bytes;
    After both;
    for (int stage : {0, job_.spec.pipeline - 1}) {
      both.push_back(last_of_stage_[to_index(stage)]);
      if (exchanged_[to_index(stage)] >= 0) both.push_back(exchanged_[to_index(stage)]);
    }
    exchanged_[0] =
        exchange({"tied embedding's gradients", TrafficKind::all_reduce, TrafficGroup::embeddings, 2, bytes}, 0,
                 kExchange, both);
  }

  // Exchanges gradients of the parts that a stage and its mirrored stage both have.
  void exchange_copies() {
    const int p = job_.spec.pipeline;
    for (int stage = 0; stage < p / 2; ++stage) {
      RankParameters trained;
      for (int chunk = 0; chunk < job_.spec.chunks(); ++chunk) trained += job_.trained_parameters(part(stage, chunk));
      After both;
      for (int one : {stage, p - 1 - stage}) {
        both.push_back(last_of_stage_[to_index(one)]);
        if (exchanged_[to_index(one)] >= 0) both.push_back(exchanged_[to_index(one)]);
      }
      const int met = exchange_all(copies_exchange(trained, job_.spec, job_.traffic), stage, kExchange, both);
      if (met >= 0) exchanged_[to_index(stage)] = exchanged_[to_index(p - 1 - stage)] = met;
    }
  }

  int barrier() {
    if (barrier_ < 0) barrier_ = gpu_.add_plan(plans_.barrier());
    return barrier_;
  }

  const Scenario& scenario_;
  const SplitJob& job_;
  const RankSeconds& seconds_;
  const std::vector<StageOps> ops_;
  const PipelineShape pipeline_;
  GroupPlans plans_;
  const SplitLinks& links_;
  Enqueue gpu_;
  const int all_;                                                // stream
  std::map<std::tuple<int, int, int, double, int>, int> known_;  // plans
  std::map<std::pair<int, int>, int> messages_;                  // plans
  int barrier_ = -1, ended_ = -1;
  After start_;
  std::vector<int> last_of_stage_, exchanged_;  // works
  std::vector<RankParameters> open_;            // gradients of a bucket that is not full yet
  std::map<std::pair<int, int>, std::vector<std::pair<double, int>>>
      weights_;                                          // by stage and chunk: first block, work that gathers it
  std::map<std::tuple<bool, int, int, int>, int> sent_;  // forward or backward, stage, chunk, micro-batch -> arrival
};

}  // namespace

Program split_program(const Scenario& scenario, const SplitModel& model, int iterations, int replicas) {
  return Builder(scenario, model, replicas).build(iterations);
}

Jitter jitter_of_stages(const SplitModel& model, Jitter jitter, int replicas) {
  const int stages = model.job().spec.pipeline;
  const GroupPlans plans(model.scenario(), of_replicas(model.job().spec, replicas), model.links());
  std::vector<int> stage_of;
  const int gpus = model.job().spec.gpus_of_replica() * replicas;
  for (int gpu = 0; gpu < gpus; ++gpu) stage_of.push_back(plans.stage_of(gpu));
  return [=](int gpu, int draw) { return draw % stages == stage_of[to_index(gpu)] ? jitter(gpu, draw / stages) : 0.0; };
}

double events_of(const Program& program) {
  return program.messages_per_iteration() +
         static_cast<double>(program.work.size()) * program.gpus / program.iterations;
}

}  // namespace lockstep::sim::replica
