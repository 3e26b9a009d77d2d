// The page of a simulation (lockstep/result/1).
'use strict';

function groupsOf(points) {
  const groups = new Map();
  for (const point of points) {
    const name = point.variant || '';
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(point);
  }
  return [...groups].map(([name, list]) => ({name, points: list}));
}

// What an iteration consists of; the rest is waiting that none of the named parts accounts for.
function partsOf(point) {
  const named = [{name: 'Compute', seconds: point.compute_s || 0},
                 {name: 'Exposed communication', seconds: point.exposed_communication_s || 0},
                 {name: 'Waiting for input', seconds: point.input_wait_s || 0}];
  const rest = point.iteration_s.mean - named.reduce((sum, part) => sum + part.seconds, 0);
  return rest > 1e-3 * point.iteration_s.mean ? [...named, {name: 'Other waiting', seconds: rest}] : named;
}

function bestPoint(points) {
  const largest = Math.max(...points.map(point => point.gpus));
  const candidates = points.filter(point => point.gpus === largest);
  const isTimed = candidates.every(point => isNumber(point.time_to_accuracy_s));
  const isBetter = (a, b) => isTimed ? a.time_to_accuracy_s < b.time_to_accuracy_s : a.samples_per_s > b.samples_per_s;
  return candidates.reduce((best, point) => isBetter(point, best) ? point : best);
}

function resultAnswer(points, target) {
  const best = bestPoint(points);
  const variants = new Set(points.map(point => point.variant)).size;
  const time = isNumber(best.time_to_accuracy_s) ? best.time_to_accuracy_s : undefined;
  const text = 'On ' + plural(best.gpus, 'GPU') + (variants > 1 ? ', with \u201c' + best.variant + '\u201d, the best of ' + variants + ' variants' : '') +
    ': ' + format.rate(best.samples_per_s) + ', ' + format.percent(best.scaling_efficiency) + ' of perfect scaling' +
    (time ? '; reaches ' + (target || 'its target') + ' in ' + format.duration(time) : '') + '.';
  const bounds = (show, key) => isNumber(best[key + '_low']) ? boundsText(show, best[key + '_low'], best[key + '_high']) : '';
  return section('answer', 'In short', h('p', {class: 'answer'}, text), tiles([
    time && {name: 'Time to accuracy', value: format.duration(time), note: bounds(format.duration, 'time_to_accuracy_s')},
    {name: 'Throughput', value: format.rate(best.samples_per_s), note: bounds(format.count, 'samples_per_s')},
    {name: 'Scaling efficiency', value: format.percent(best.scaling_efficiency), note: ''},
    {name: 'Iteration', value: format.milliseconds(best.iteration_s.mean), note: format.milliseconds(best.exposed_communication_s) + ' of it exposed communication'}]));
}

function resultTable(points) {
  const hasVariants = points.some(point => point.variant), isTimed = points.some(point => isNumber(point.time_to_accuracy_s));
  const number = (title, key, show, note) => ({title, note, number: true, value: row => row[key], text: row => show(row[key])});
  return dataTable({caption: 'Predictions', rows: points, pageSize: 100, fileName: 'predictions.csv', columns: [
    ...(hasVariants ? [{title: 'Variant', value: row => row.variant, rowHeader: true}] : []),
    {title: 'GPUs', number: true, rowHeader: !hasVariants, value: row => row.gpus, text: row => format.count(row.gpus)},
    number('Batch/GPU', 'batch_per_gpu', format.count), number('Global batch', 'global_batch', format.count),
    {title: 'Iteration', number: true, value: row => row.iteration_s.mean, text: row => format.milliseconds(row.iteration_s.mean)},
    number('Compute', 'compute_s', format.milliseconds), number('Exposed', 'exposed_communication_s', format.milliseconds, 'Communication that no computation hides'),
    number('Images/s', 'samples_per_s', format.count), number('Efficiency', 'scaling_efficiency', format.percent),
    ...(isTimed ? [boundedColumn('Time to accuracy', 'time_to_accuracy_s', format.duration)] : []),
  ]});
}

// Variants side by side: throughput at every number of GPUs, and what the best makes of the largest that all have.
function variantsSection(groups) {
  if (groups.length < 2) return null;
  const at = (group, gpus) => group.points.find(point => point.gpus === gpus);
  const counts = [...new Set(groups.flatMap(group => group.points.map(point => point.gpus)))].sort((a, b) => a - b);
  const common = counts.filter(gpus => groups.every(group => at(group, gpus))).pop();
  const most = Math.max(...groups.map(group => isNumber(common) ? at(group, common).samples_per_s : 0));
  const isTimed = isNumber(common) && groups.some(group => isNumber(at(group, common).time_to_accuracy_s));
  const rate = (group, gpus) => (at(group, gpus) || {}).samples_per_s;
  return section('variants', 'Variants compared', dataTable({caption: 'Throughput (' + style.rateUnit + ') of the variants by number of GPUs', rows: groups, pageSize: 100, fileName: 'variants.csv', columns: [
    {title: 'Variant', value: group => group.name, rowHeader: true},
    ...counts.map(gpus => ({title: plural(gpus, 'GPU'), number: true, value: group => rate(group, gpus), text: group => format.count(rate(group, gpus))})),
    ...(isNumber(common) ? [{title: 'Of the fastest', note: 'On ' + plural(common, 'GPU'), number: true, value: group => rate(group, common) / most, text: group => format.percent(rate(group, common) / most)}] : []),
    ...(isTimed ? [{title: 'Time to accuracy', note: 'On ' + plural(common, 'GPU'), number: true, value: group => at(group, common).time_to_accuracy_s, text: group => format.duration(at(group, common).time_to_accuracy_s)}] : [])]}));
}

// Jobs at the same time on one cluster: how much each is slowed by the others and by background traffic.
function sharedSection(shared) {
  if (!shared) return null;
  const spread = row => format.milliseconds(row.together_s_low) + ' to ' + format.milliseconds(row.together_s_high);
  const flows = shared.background_flows > 0 ? ', with ' + plural(shared.background_flows, 'background flow') : '';
  return section('shared', 'Together on the cluster',
    h('p', {}, 'Iteration times' + flows + '. Other tables have each job alone. Low and high are the least and the most of ' + plural(shared.replays, 'replay') + ' with random starts.'),
    comparisonChart('Slowdown of each job', shared.jobs.map(job => ({name: job.job, value: job.slowdown})), {label: 'Iteration time together over alone', show: value => trimmed(value), full: value => value.toFixed(3)}),
    dataTable({caption: 'Jobs together', rows: shared.jobs, fileName: 'shared.csv', columns: [
      {title: 'Job', rowHeader: true, value: row => row.job}, {title: 'GPUs', number: true, value: row => row.gpus, text: row => format.count(row.gpus)},
      {title: 'Alone', number: true, value: row => row.alone_s, text: row => format.milliseconds(row.alone_s)},
      {title: 'Together', number: true, value: row => row.together_s, text: row => format.milliseconds(row.together_s)},
      {title: 'Low to high', value: spread},
      {title: 'Slower by', number: true, value: row => row.slowdown - 1, text: row => format.percent(row.slowdown - 1)}]}));
}

function timeCharts(groups, isOneCount) {
  const timed = groups.map(group => ({...group, points: group.points.filter(point => isNumber(point.time_to_accuracy_s))})).filter(
    group => group.points.length > 0);
  if (timed.length === 0) return [];
  const axisOfTime = {...axes.duration, label: 'Time to accuracy'};
  if (isOneCount) return [comparisonChart('Time to accuracy', timed.map(({name, points: [point]}) => ({
    name: name || plural(point.gpus, 'GPU'), value: point.time_to_accuracy_s, low: point.time_to_accuracy_s_low, high: point.time_to_accuracy_s_high})), axisOfTime)];
  const series = timed.map(group => ({name: group.name || 'Predicted', hasLine: true, points: group.points.map(point => ({
    x: point.gpus, y: point.time_to_accuracy_s, yLow: point.time_to_accuracy_s_low, yHigh: point.time_to_accuracy_s_high,
    tip: [(group.name ? group.name + ', ' : '') + plural(point.gpus, 'GPU'),
          withBounds(format.duration, point.time_to_accuracy_s, point.time_to_accuracy_s_low, point.time_to_accuracy_s_high)]}))}));
  const gpus = [...new Set(series.flatMap(one => one.points.map(point => point.x)))].sort((a, b) => a - b);
  return [pointChart({title: 'Time to accuracy against GPUs', note: 'whiskers: bounds of the prediction', series, x: {...axes.gpus, isLog: true, exact: gpus},
                      y: {...axisOfTime, isLog: true}, table: pointsTable('Time to accuracy against GPUs', series, axes.gpus, axisOfTime),
                      summary: series.map(one => one.name + ': ' + one.points.slice(-1)[0].tip.join(' ')).join('. ') + '.'})];
}

function speedCharts(groups, isOneCount) {
  if (!isOneCount) return scalingCharts(groups);
  const items = (key, hasBounds) => groups.map(({name, points: [point]}) => ({name: name || plural(point.gpus, 'GPU'), value: point[key],
                                                                              low: hasBounds ? point[key + '_low'] : undefined, high: hasBounds ? point[key + '_high'] : undefined}));
  return [comparisonChart('Throughput', items('samples_per_s', true), axes.rate),
          comparisonChart('Scaling efficiency', items('scaling_efficiency', false), axes.efficiency)];
}

function breakdownOf(groups) {
  if (groups.length === 1)
    return iterationChart('An iteration by GPU count', groups[0].points.map(point => ({name: plural(point.gpus, 'GPU'), parts: partsOf(point)})), 'GPUs');
  const bars = groups.map(({name, points}) => ({name, point: points.reduce((a, b) => b.gpus > a.gpus ? b : a)}));
  return iterationChart('An iteration by variant', bars.map(({name, point}) => ({name: name + ', ' + plural(point.gpus, 'GPU'), parts: partsOf(point)})), 'Variant',
                        'at the largest GPU count of each');
}

// Efficiencies and gains differ by points, the rest by per cent, as in the program's table.
const isShare = metric => metric === 'scaling_efficiency' || metric === 'throughput_gain';

function metricText(metric, value) {
  if (metric === 'scaling_efficiency') return format.percent(value);
  if (metric === 'throughput_gain') return format.change(value);
  if (metric === 'samples_per_s') return format.rate(value);
  return metric === 'iteration' ? format.milliseconds(value) : format.duration(value);
}

function publishedSection(published) {
  if (!published || published.length === 0) return null;
  const difference = row => isShare(row.metric) ? row.predicted - row.published : row.relative_error;
  const fitted = published.filter(row => row.used_for_fit).length;
  return section('published', 'Predicted against published',
    h('p', {}, plural(published.length, 'published result') + (fitted ? '; ' + fitted + ' of them served to fit a constant and so tell nothing new' : '') + '.'),
    dataTable({caption: 'Predicted against published', rows: published, fileName: 'published.csv', columns: [
      ...(published.some(row => row.variant) ? [{title: 'Variant', value: row => row.variant}] : []),
      {title: 'What', rowHeader: true, value: row => row.metric.replaceAll('_', ' ')},
      {title: 'GPUs', number: true, value: row => row.gpus, text: row => format.count(row.gpus)},
      {title: 'Predicted', number: true, value: row => row.predicted, text: row => metricText(row.metric, row.predicted)},
      {title: 'Published', number: true, value: row => row.published, text: row => metricText(row.metric, row.published)},
      {title: 'Error', number: true, value: difference, text: row => (isShare(row.metric) ? format.points : format.change)(difference(row))},
      {title: 'Used for fit', value: row => row.used_for_fit ? 'fitted' : 'no'}, {title: 'Source', value: row => row.source}]}));
}

function settingsOf(scenario) {
  const cluster = scenario.cluster || {}, compute = scenario.compute || {}, communication = scenario.communication || {};
  const model = scenario.model || {};
  return [['Model', typeof model === 'string' ? model : model.title || model.name], ['Cluster', cluster.name], ['GPU', (cluster.gpu || {}).name],
          ['Precision', compute.precision], ['Algorithm', scenario.algorithm], ['All-reduce', communication.all_reduce],
          ['Target', (scenario.convergence || {}).target], ['Fidelity', scenario.fidelity]];
}

function resultPage(result) {
  if (result.points.some(point => isNumber(point.tokens_per_s))) Object.assign(style, {rateUnit: 'sequences/s'});
  const scenario = result.scenario || {}, groups = groupsOf(result.points);
  const isOneCount = groups.every(group => group.points.length === 1);
  showHeader('simulation', scenario.name || 'A simulation', scenario.description, settingsOf(scenario));
  return [
    ...(result.shared_cluster ? [sharedSection(result.shared_cluster)] : [resultAnswer(result.points, (scenario.convergence || {}).target), variantsSection(groups)]),
    section('scaling', 'Throughput and scaling', h('div', {class: 'charts'}, speedCharts(groups, isOneCount), timeCharts(groups, isOneCount))),
    section('breakdown', 'Where an iteration goes', breakdownOf(groups)),
    section('points', 'All predictions', resultTable(result.points)),
    publishedSection(result.published), warningsSection(result.warnings), assumptionsSection(result.assumptions || []),
    provenanceSection(result.provenance)];
}
