// What more than one kind of page shows: the head, assumptions, warnings, where the result comes from.
'use strict';

function showHeader(kind, title, description, pairs) {
  document.getElementById('header').append(h('p', {class: 'kicker'}, 'Lockstep \u00b7 ' + kind), h('h1', {}, title),
                                           description && h('p', {class: 'lead'}, description), facts(pairs));
}

function valueText(value) {
  if (typeof value === 'number') return Number.isInteger(value) ? format.count(value) : String(Number(value.toPrecision(6)));
  return typeof value === 'string' ? value : plainText(value);
}

function assumptionsTable(list, caption, fileName) {
  return dataTable({caption, fileName, rows: list, pageSize: 25, columns: [
    {title: 'Input', value: row => row.pointer, rowHeader: true, node: row => h('code', {}, row.pointer)},
    {title: 'Value', value: row => row.value, text: row => valueText(row.value), number: true},
    {title: 'Kind', value: row => row.kind, node: row => kindBadge(row.kind)},
    {title: 'Source', value: row => row.source, text: row => row.source || NONE},
  ]});
}

function assumptionsSection(list) {
  return section('assumptions', 'Assumptions', list.length === 0 ? h('p', {}, 'The result names none.') : [
    h('p', {}, 'The prediction rests on ' + plural(list.length, 'input') + ': ' + kindsText(list) +
               '. Assumed values come from no measurement or publication; fitted values name what they were fitted on.'),
    assumptionsTable(list, 'Inputs of the prediction, with kind and source', 'assumptions.csv')]);
}

const WARNINGS_SHOWN = 5;

function warningsSection(warnings) {
  if (!warnings || warnings.length === 0) return null;
  const list = texts => h('ul', {class: 'warnings'}, texts.map(text => h('li', {}, text)));
  const rest = warnings.slice(WARNINGS_SHOWN);
  return section('warnings', 'Warnings', list(warnings.slice(0, WARNINGS_SHOWN)),
                 rest.length > 0 && h('details', {}, h('summary', {}, format.count(rest.length) + ' more'), list(rest)));
}

function provenanceSection(provenance) {
  const p = provenance || {};
  const command = (p.argv || []).map(word => /^[\w./:=,+@%-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'").join(' ');
  return section('provenance', 'Where this comes from', facts([
    ['Command', command && h('code', {}, command)], ['Version', p.version && p.version + (p.git ? ' (git ' + p.git + ')' : '')],
    ['SimGrid', p.simgrid], ['Network model', p.network_model], ['Started', p.started_utc], ['Host', p.host]]),
    p.inputs && h('details', {}, h('summary', {}, 'Files read, with their SHA-256'), h('dl', {class: 'files'},
      Object.entries(p.inputs).map(([path, sum]) => h('div', {}, h('dt', {}, h('code', {}, path)), h('dd', {}, h('code', {}, sum)))))));
}

// A value with its bounds below it.
function boundedColumn(title, key, show) {
  const [low, high] = [key + '_low', key + '_high'];
  return {title, number: true, value: row => row[key], text: row => withBounds(show, row[key], row[low], row[high]),
          node: row => [show(row[key]), isNumber(row[low]) && h('span', {class: 'bounds'}, boundsText(show, row[low], row[high]))],
          saved: [[key, row => row[key]], [low, row => row[low]], [high, row => row[high]]]};
}

// The figures of a chart with points, as a small table.
function pointsTable(caption, series, x, y) {
  const rows = series.filter(one => !one.isGuide).flatMap(one => one.points.map(point => ({name: one.name, ...point})));
  const hasBounds = rows.some(row => isNumber(row.yLow));
  return dataTable({caption, rows, fileName: 'chart.csv', columns: [
    {title: 'Series', value: row => row.name, rowHeader: true},
    {title: x.label, value: row => row.x, text: row => x.full(row.x), number: true},
    {title: y.label, value: row => row.y, text: row => y.full(row.y), number: true},
    ...(hasBounds ? [{title: 'Low', value: row => row.yLow, text: row => y.full(row.yLow), number: true},
                     {title: 'High', value: row => row.yHigh, text: row => y.full(row.yHigh), number: true}] : []),
  ]});
}

// The figures of a bar chart: a row per category, a column per series.
function barsTable(caption, categoryTitle, categories, series, show) {
  const rows = categories.map((category, index) => ({category: [category].flat().join(' '), index}));
  return dataTable({caption, rows, fileName: 'chart.csv', columns: [
    {title: categoryTitle, value: row => row.category, rowHeader: true},
    ...series.map(one => ({title: one.name, value: row => one.values[row.index], text: row => show(one.values[row.index]), number: true})),
  ]});
}

const axes = {
  gpus: {label: 'GPUs', show: value => format.count(value), full: format.count},
  rate: {get label() { return 'Throughput (' + style.rateUnit + ')'; }, show: format.short, full: format.rate},
  efficiency: {label: 'Scaling efficiency', show: value => trimmed(100 * value) + SPACE + '%', full: format.percent},
  duration: {label: 'Time', show: format.shortDuration, full: format.duration, ticks: durationTicks, step: durationStep},
  cost: {get label() { return 'Cost (' + style.currency + ')'; }, show: format.short, full: format.money},
};

// Throughput and efficiency against GPUs. groups: [{name, points: [{gpus, samples_per_s, ..., scaling_efficiency}]}].
function scalingCharts(groups) {
  const gpus = [...new Set(groups.flatMap(group => group.points.map(point => point.gpus)))].sort((a, b) => a - b);
  const x = {...axes.gpus, isLog: true, exact: gpus};
  const title = (group, point) => (group.name ? group.name + ', ' : '') + plural(point.gpus, 'GPU');
  const rates = groups.map(group => ({name: group.name || 'Predicted', hasLine: true, points: group.points.map(point => ({
    x: point.gpus, y: point.samples_per_s, yLow: point.samples_per_s_low, yHigh: point.samples_per_s_high,
    tip: [title(group, point), withBounds(format.rate, point.samples_per_s, point.samples_per_s_low, point.samples_per_s_high)]}))}));
  const efficiencies = groups.map(group => ({name: group.name || 'Predicted', hasLine: true, points: group.points.filter(
    point => isNumber(point.scaling_efficiency)).map(point => ({x: point.gpus, y: point.scaling_efficiency,
      tip: [title(group, point), format.percent(point.scaling_efficiency) + ' efficient']}))}));
  // Efficiency compares equal batches per GPU, and so does perfect scaling: its line bends where the batch changes.
  const perfect = groups.length > 1 ? [] : [{name: 'Perfect scaling', isGuide: true, points: groups[0].points.filter(
    point => point.scaling_efficiency > 0).map(point => ({x: point.gpus, y: point.samples_per_s / point.scaling_efficiency}))}];
  const worst = Math.min(...efficiencies.flatMap(one => one.points.map(point => point.y)));
  return [
    pointChart({title: 'Throughput against GPUs', note: 'whiskers: bounds of the prediction', x, y: {...axes.rate, isLog: true},
                series: [...rates, ...perfect], table: pointsTable('Throughput against GPUs', rates, axes.gpus, axes.rate),
                summary: rates.map(one => one.name + ': ' + one.points.map(p => p.tip.join(' ')).slice(-1)).join('. ') + '.'}),
    pointChart({title: 'Scaling efficiency against GPUs', note: 'share of perfect scaling', x,
                y: {...axes.efficiency, min: worst > 0.85 ? 0.8 : worst > 0.6 ? 0.5 : 0, max: undefined, values: [1]},
                series: [...efficiencies, {name: 'Perfect scaling', isGuide: true, points: [gpus[0], gpus[gpus.length - 1]].map(count => ({x: count, y: 1}))}],
                table: pointsTable('Scaling efficiency against GPUs', efficiencies, axes.gpus, axes.efficiency),
                summary: 'The lowest is ' + format.percent(worst) + '.'})];
}

// Bars with bounds, one per group: where there is one GPU count alone. items: [{name, value, low, high}].
function comparisonChart(title, items, valueAxis) {
  const tips = items.map(item => [item.name, withBounds(valueAxis.full, item.value, item.low, item.high)]);
  const series = [{name: valueAxis.label, values: items.map(item => item.value), tips,
                   bounds: items.map(item => ({xLow: item.low, xHigh: item.high}))}];
  return barChart({title, note: items.some(item => isNumber(item.low)) && 'whiskers: bounds of the prediction', isSideways: true, height: 90 + 40 * items.length,
                   categories: items.map(item => wrapped(item.name)), value: valueAxis, series, summary: tips.map(tip => tip.join(': ')).join('. ') + '.',
                   table: barsTable(title, 'Variant', items.map(item => item.name), series, valueAxis.full)});
}

// A label in lines of some 16 letters.
function wrapped(text) {
  const lines = [''];
  for (const word of String(text).split(' ')) {
    const last = lines.length - 1;
    if (lines[last] && (lines[last] + ' ' + word).length > 16) lines.push(word);
    else lines[last] += (lines[last] ? ' ' : '') + word;
  }
  return lines.length === 1 ? lines[0] : lines;
}

// Stacked bars of the parts of iterations. bars: [{name, parts: [{name, seconds}]}].
function iterationChart(title, bars, categoryTitle, note) {
  const names = [...new Set(bars.flatMap(bar => bar.parts.map(part => part.name)))];
  const series = names.map(name => {
    const seconds = bars.map(bar => (bar.parts.find(part => part.name === name) || {seconds: 0}).seconds);
    return {name, values: seconds.map(value => value * 1e3), seconds,
            tips: seconds.map((value, index) => [bars[index].name, name + ': ' + format.milliseconds(value) + shareText(value, bars[index])])};
  }).filter(one => one.seconds.some(value => value > 0));
  return barChart({title, note, categories: bars.map(bar => wrapped(bar.name)), isStacked: true, isSideways: bars.length < 16,
                   height: bars.length < 16 ? 110 + 38 * bars.length : 360, value: {label: 'Milliseconds', show: format.short, full: format.number}, series,
                   summary: bars.map(bar => bar.name + ': ' + bar.parts.filter(p => p.seconds > 0).map(p => p.name + ' ' + format.milliseconds(p.seconds)).join(', ')).join('. ') + '.',
                   table: barsTable(title + ' (ms)', categoryTitle, bars.map(bar => bar.name), series, value => isNumber(value) ? fixed(value, 2) : NONE)});
}

function shareText(seconds, bar) {
  const whole = bar.parts.reduce((sum, part) => sum + part.seconds, 0);
  return whole > 0 ? ' (' + format.percent(seconds / whole) + ')' : '';
}
