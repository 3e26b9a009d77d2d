// A plan's result made up for the tests of its page (the figures mean nothing): every status, bounds, missing values, a
// frontier worked out by its definition, and texts that would break a careless page.
export const HOSTILE = '</script><img src=x onerror="document.title=\'broken\'"> \u2028 & {{style}}';

const RATES = {'GPU A': 400, 'GPU B': 2600}, PRICES = {'GPU A': 2.5, 'GPU B': 6};

function pointAt(index, gpu, gpus, batch) {
  const point = {id: 'p' + index, setting: {gpu, gpus, batch_per_gpu: batch}, status: 'ok', why: '', fidelity: 'analytic', gpus, nodes: Math.max(1, gpus / 8),
                 global_batch: gpus * batch, on_frontier: false, meets_objective: false, warnings: []};
  if (index === 3) return {...point, status: 'failed', why: HOSTILE};
  if (batch > 900) return {...point, status: 'refused', fidelity: null, gpus: null, nodes: null, global_batch: null, why: 'needs 20 GB a GPU; allowed: 16 GB'};
  const compute = batch / RATES[gpu], exposed = 0.001 * Math.log2(gpus) + 0.5 / batch, rate = gpus * batch / (compute + exposed);
  const time = 90 * 1281167 / rate, cost = time / 3600 * gpus * PRICES[gpu];
  return {...point, iteration_s: compute + exposed, samples_per_s: rate, samples_per_s_low: 0.95 * rate, samples_per_s_high: 1.05 * rate,
          scaling_efficiency: compute / (compute + exposed), compute_s: compute, exposed_communication_s: exposed, idle_s: 0, memory_bytes_per_gpu: 1e9 + 1e7 * batch,
          time_s: time, time_s_low: 0.95 * time, time_s_high: 1.1 * time, cost: cost, cost_low: 0.95 * cost, cost_high: 1.1 * cost,
          energy_j: null, meets_objective: time <= 3600};
}

export function samplePlan(batches) {
  const gpuNames = Object.keys(RATES), counts = [8, 16, 32, 64, 128];
  const points = gpuNames.flatMap(gpu => counts.flatMap(gpus => batches.map(batch => [gpu, gpus, batch]))).map((at, index) => pointAt(index + 1, ...at));
  const done = points.filter(point => point.status === 'ok').sort((a, b) => a.time_s - b.time_s || a.cost - b.cost);
  let cheapest = Infinity;
  for (const point of done) {
    point.on_frontier = point.cost < cheapest;
    if (point.on_frontier) [cheapest, point.fidelity] = [point.cost, 'fast'];
  }
  const [best, second] = done.filter(point => point.meets_objective).sort((a, b) => a.cost - b.cost);
  best.warnings.push('batch outside the profile: extrapolated');
  const scaling = counts.map(gpus => points.find(point => point.gpus === gpus && point.setting.gpu === best.setting.gpu && point.setting.batch_per_gpu === best.setting.batch_per_gpu));
  const change = (what, share) => ({what, time_s: best.time_s * (1 + share), cost: best.cost * (1 + share), time_change: share, cost_change: share});
  return {
    schema: 'lockstep/plan-result/1', provenance: {version: '0.1.0', git: 'none', argv: ['plan', HOSTILE], started_utc: '2026-01-01T00:00:00Z', host: 'test', inputs: {[HOSTILE]: '00'}},
    plan: {name: HOSTILE, description: 'Made up for a test.', currency: 'USD', objective: {kind: 'least-cost-by-deadline', deadline_s: 3600, budget: null, cautious: true},
           axes: [{name: 'gpu', values: gpuNames}, {name: 'gpus', values: counts}, {name: 'batch_per_gpu', values: batches}], coarse: 'analytic', refined: 'fast'},
    points, frontier: done.filter(point => point.on_frontier).map(point => point.id),
    answer: {recommended: best.id, runner_up: second.id, closest: null, why: 'The cheapest of those in time.', text: HOSTILE}, scaling,
    breakdown: {point: best.id, iteration_s: best.iteration_s, note: 'idle: waiting', parts: [{name: 'forward', seconds: best.compute_s / 3}, {name: 'backward', seconds: best.compute_s * 2 / 3},
                {name: 'exposed communication', seconds: best.exposed_communication_s}],
                layer_groups: Array.from({length: 30}, (unused, index) => ({name: 'group ' + index, forward_s: 1e-4 * index, backward_s: 2e-4 * index, update_s: 1e-6, gradient_bytes: 1e6 * index}))},
    sensitivity: [change('network at half the bandwidth', 0.12), change('latency twice as long', 0.01), change('GPU 20 % faster', -0.15),
                  {...change('GPU-hours dearer', 0), recommended: second.id}, {what: 'cannot be told', time_s: null, cost: null, time_change: null, cost_change: null, why: HOSTILE}],
    refinement: {points: 3, largest_error: 0.02, median_error: 0.01},
    assumptions: [{pointer: '/cluster/' + HOSTILE, value: '12 GB/s', kind: 'assumed', source: HOSTILE}, {pointer: '/price', value: 2.5, kind: 'published', source: 'a price list'}],
    warnings: [HOSTILE]};
}
