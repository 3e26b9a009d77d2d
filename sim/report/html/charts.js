// Charts, drawn by Chart.js. Series differ by mark, dash or hatch as well as by colour; bounds are whiskers; the arrow keys
// walk through the points and the same figures stand in a table below the chart. On paper they are drawn light and sharp.
'use strict';

const PALETTES = {
  light: {text: '#1d2733', faint: '#55606e', grid: '#d9dfe6', surface: '#ffffff',
          series: ['#1f5fa8', '#b4540a', '#1c7a4a', '#7a3fa0', '#b8336a', '#0b7285', '#6b5b2a', '#55606e', '#a11d1d', '#4a4ad0']},
  dark: {text: '#e6ebf1', faint: '#a9b4c2', grid: '#323c48', surface: '#1a2129',
         series: ['#6fb1ff', '#f2a65a', '#5fd08f', '#c79bf0', '#ff8db4', '#4fd0e0', '#d9c57a', '#a9b4c2', '#ff8a7a', '#a9a8ff']},
};
const MARKS = ['circle', 'rect', 'triangle', 'rectRot', 'star', 'crossRot', 'cross', 'rectRounded', 'dash', 'line'];
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [4, 4], [12, 4], [1, 3], [6, 2, 2, 2], [3, 3], [8, 2]];
const HATCHES = ['solid', 'diagonal', 'dots', 'cross', 'across', 'solid', 'diagonal', 'dots'];
const PAPER_WIDTH = 680;

// A look's colour and mark: no two of the first hundred are alike, and each of the first ten has both of its own.
const colourOf = (palette, look) => palette.series[look % palette.series.length];
const markOf = look => MARKS[(look + Math.floor(look / MARKS.length)) % MARKS.length];
const dashOf = look => DASHES[(look + Math.floor(look / DASHES.length)) % DASHES.length];

const darkScheme = window.matchMedia('(prefers-color-scheme: dark)');
let isPrinting = false;
const paletteNow = () => !isPrinting && darkScheme.matches ? PALETTES.dark : PALETTES.light;

const figures = [];
function redrawAll() { figures.forEach(figure => figure.draw()); }
darkScheme.addEventListener('change', redrawAll);
beforePrint.push(() => { isPrinting = true; redrawAll(); });
afterPrint.push(() => { isPrinting = false; redrawAll(); });

// A figure with a chart: config(palette) gives Chart.js's configuration, summary says in words what there is to see,
// table holds the same figures.
function chartFigure({title, note, summary, config, table, height}) {
  const canvas = h('canvas', {role: 'img', tabindex: '0',
                              'aria-label': title + '. ' + summary + ' The arrow keys walk through the points.'});
  const box = h('div', {class: 'chart-box', style: 'height:' + (height || 320) + 'px'}, canvas);
  const spoken = h('p', {class: 'unseen', 'aria-live': 'polite'});
  const figure = {chart: null, draw() {
    const palette = paletteNow();
    if (figure.chart) figure.chart.destroy();
    const settings = config(palette);
    settings.options = {...commonOptions(palette), ...settings.options};
    settings.options.plugins = {...commonPlugins(palette), ...settings.options.plugins};
    settings.options.responsive = !isPrinting;
    if (isPrinting) settings.options.devicePixelRatio = 3;
    settings.plugins = [whiskers];
    figure.chart = new Chart(canvas, settings);
    if (isPrinting) figure.chart.resize(PAPER_WIDTH, height || 280);
  }};
  canvas.addEventListener('keydown', event => walk(figure.chart, event, text => { spoken.textContent = text; }));
  canvas.addEventListener('blur', () => { activate(figure.chart, []); });
  figures.push(figure);
  return h('figure', {class: 'chart'}, h('figcaption', {}, h('strong', {}, title), note && h('span', {class: 'note'}, note)), box,
           spoken, table && h('details', {class: 'chart-data'}, h('summary', {}, 'The figures of this chart'), table));
}

function commonOptions(palette) {
  return {responsive: true, maintainAspectRatio: false, animation: false, color: palette.text,
          font: {family: 'system-ui, sans-serif', size: 13}, layout: {padding: {top: 4, right: 12}},
          interaction: {mode: 'nearest', intersect: false, axis: 'xy'}};
}

// Each point brings its own tip: a title and lines.
const tipOf = item => item.dataset.tips ? item.dataset.tips[item.dataIndex] : item.raw.tip;

function commonPlugins(palette) {
  return {
    legend: {position: 'bottom', align: 'start',
             labels: {color: palette.text, usePointStyle: true, boxHeight: 8, padding: 14,
                      filter: (label, data) => !data.datasets[label.datasetIndex].isUnnamed}},
    tooltip: {backgroundColor: palette.text, titleColor: palette.surface, bodyColor: palette.surface, padding: 10, displayColors: false,
              filter: item => !!tipOf(item),
              callbacks: {title: items => items.length ? tipOf(items[0])[0] : '', label: item => tipOf(item).slice(1)}},
  };
}

// ---- bounds ----

const boundsOf = (dataset, index) => (dataset.bounds ? dataset.bounds[index] : dataset.data[index]) || {};

const whiskers = {
  id: 'whiskers',
  afterDatasetsDraw(chart) {
    const context = chart.ctx, {x, y} = chart.scales;
    chart.data.datasets.forEach((dataset, index) => {
      if (!chart.isDatasetVisible(index) || dataset.hasNoBounds) return;
      context.save();
      context.strokeStyle = dataset.whiskerColor || dataset.borderColor;
      context.lineWidth = 1.5;
      context.beginPath();
      chart.getDatasetMeta(index).data.forEach((element, at) => {
        const bounds = boundsOf(dataset, at);
        if (isNumber(bounds.yLow) && isNumber(bounds.yHigh))
          whisker(context, element.x, y.getPixelForValue(bounds.yLow), element.x, y.getPixelForValue(bounds.yHigh));
        if (isNumber(bounds.xLow) && isNumber(bounds.xHigh))
          whisker(context, x.getPixelForValue(bounds.xLow), element.y, x.getPixelForValue(bounds.xHigh), element.y);
      });
      context.stroke();
      context.restore();
    });
  },
};

function whisker(context, x1, y1, x2, y2) {
  const isUpright = x1 === x2, cap = 4;
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  for (const [x, y] of [[x1, y1], [x2, y2]]) {
    context.moveTo(isUpright ? x - cap : x, isUpright ? y : y - cap);
    context.lineTo(isUpright ? x + cap : x, isUpright ? y : y + cap);
  }
}

// ---- the keyboard ----

function activate(chart, elements) {
  chart.setActiveElements(elements);
  const at = elements.length ? elements[0].element : {x: 0, y: 0};
  chart.tooltip.setActiveElements(elements, {x: at.x, y: at.y});
  chart.update('none');
}

function walk(chart, event, say) {
  const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity}[event.key];
  if (event.key === 'Escape') activate(chart, []);
  if (step === undefined) return;
  event.preventDefault();
  const points = chart.data.datasets.flatMap((dataset, datasetIndex) => !chart.isDatasetVisible(datasetIndex) ? [] :
    chart.getDatasetMeta(datasetIndex).data.map((element, index) => ({element, datasetIndex, index})).filter(
      ({index}) => tipOf({dataset, dataIndex: index, raw: dataset.data[index]})));
  if (points.length === 0) return;
  const active = chart.getActiveElements()[0];
  const now = active ? points.findIndex(p => p.datasetIndex === active.datasetIndex && p.index === active.index) : -1;
  const next = points[Math.max(0, Math.min(points.length - 1, now + step))];
  activate(chart, [next]);
  const dataset = chart.data.datasets[next.datasetIndex];
  say(tipOf({dataset, dataIndex: next.index, raw: dataset.data[next.index]}).flat().join(', '));
}

// ---- axes ----

// At most `most` of them, evenly chosen.
function thinned(ticks, most) {
  const step = Math.ceil(ticks.length / most);
  return ticks.filter((tick, index) => index % step === 0);
}

function powerTicks(low, high) {
  const decades = Math.log10(high / low);
  const factors = decades < 1 ? [1, 1.5, 2, 3, 4, 5, 6, 8] : decades < 3 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power)
    for (const factor of factors) ticks.push(Number((factor * 10 ** power).toPrecision(3)));
  return ticks.filter(tick => tick >= low * 0.999 && tick <= high * 1.001);
}

const DURATIONS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18000, 36000];  // two to three times the one before

function durationTicks(low, high) {
  const ticks = [...(low < 1 ? powerTicks(low, Math.min(high, 0.9)) : []), ...DURATIONS,
                 ...(high > 86400 ? powerTicks(1, high / 86400).map(days => days * 86400) : [])];
  return ticks.filter(tick => tick >= low && tick <= high);
}

// The step of a linear axis of durations, so that it falls on whole units.
function durationStep(span) {
  const days = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map(count => count * 86400);
  const steps = [0.1, 0.2, 0.5, ...DURATIONS, 20, 1200, 86400 / 4, ...days].sort((a, b) => a - b);
  return span < 0.6 ? undefined : steps.find(step => span / step <= 8);
}

function steppedTicks(low, high, step) {
  if (!step) step = Math.pow(10, Math.floor(Math.log10((high - low) || 1)));
  const ticks = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high * (1 + 1e-9); ++at) ticks.push({value: at * step});
  return ticks;
}

// axis({label, show, values, isLog, exact, ticks, step, min, max}): values are what must fit in, ends of bounds included.
function axis(palette, spec) {
  const values = spec.values.filter(value => isNumber(value) && (!spec.isLog || value > 0));
  const settings = {
    type: spec.isLog ? 'logarithmic' : 'linear', title: {display: true, text: spec.label, color: palette.text},
    grid: {color: palette.grid, borderColor: palette.faint, tickColor: palette.faint},
    ticks: {color: palette.faint, callback: spec.show, maxRotation: 0, autoSkipPadding: 10},
  };
  if (spec.exact && !spec.isLog) {
    Object.assign(settings.ticks, {autoSkip: false, maxRotation: 60});
    settings.afterBuildTicks = scale => { scale.ticks = spec.exact.map(value => ({value})); };
  }
  if (spec.step && !spec.isLog)
    settings.afterBuildTicks = scale => { scale.ticks = steppedTicks(scale.min, scale.max, spec.step(scale.max - scale.min)); };
  if (values.length === 0) return {...settings, ...(spec.isLog ? {min: 1, max: 10} : {})};
  let low = Math.min(...values), high = Math.max(...values);
  if (spec.isLog) {
    const margin = Math.max(1.08, (high / low) ** 0.04);
    [low, high] = [low / margin, high * margin];
    Object.assign(settings, {min: low, max: high});
    const ticks = spec.exact || (spec.ticks || powerTicks)(low, high);
    if (ticks.length > 1 || spec.exact)
      settings.afterBuildTicks = scale => { scale.ticks = thinned(ticks, spec.exact ? 16 : 9).map(value => ({value})); };
  } else if (isNumber(spec.min) || isNumber(spec.max)) {
    Object.assign(settings, {min: spec.min, max: spec.max});
    settings.suggestedMin = low;
    settings.suggestedMax = high;
  } else {
    Object.assign(settings, {suggestedMin: low, suggestedMax: high, grace: '4%'});
  }
  return settings;
}

// Whether values spread far enough for a logarithmic axis.
function spreadsFar(values) {
  const positive = values.filter(value => value > 0);
  return positive.length === values.length && positive.length > 0 && Math.max(...positive) / Math.min(...positive) >= 6;
}

// ---- kinds of charts ----

const endsOf = (series, axisName) => series.flatMap(one => one.points.flatMap(
  point => [point[axisName], point[axisName + 'Low'], point[axisName + 'High']])).filter(isNumber);

// pointChart({title, note, summary, x, y, series, ...}): series of {name, points: [{x, y, xLow, ..., tip}], hasLine, isGuide,
// look, looks}. A guide is a thin dashed line without points (perfect scaling, a deadline); look chooses colour and mark,
// looks those of each point; hollow points have no filling.
function pointChart({x, y, series, ...rest}) {
  const config = palette => ({
    type: 'scatter',
    data: {datasets: series.map((one, index) => {
      const look = one.look === undefined ? index : one.look, colour = one.isFaint || one.isGuide ? palette.faint : colourOf(palette, look);
      return {
        label: one.name, isUnnamed: one.isUnnamed, data: one.points, showLine: !!(one.hasLine || one.isGuide), borderColor: colour, borderWidth: one.isGuide ? 1.5 : 2,
        borderDash: one.isGuide ? [5, 5] : dashOf(look), backgroundColor: one.isFaint ? 'transparent' : colour,
        pointStyle: one.isGuide ? 'line' : markOf(look), pointRadius: one.isGuide ? 0 : one.size || 4, order: one.isGuide || one.isFaint ? 1 : 0,
        pointHoverRadius: one.isGuide ? 0 : (one.size || 4) + 2, hasNoBounds: one.isFaint || one.isHollow, pointBorderWidth: one.isFaint || one.isHollow ? 1 : 2,
        ...(one.isHollow && {backgroundColor: 'transparent'}),
        ...(one.looks && {pointStyle: one.looks.map(markOf), pointBackgroundColor: one.looks.map(at => colourOf(palette, at)),
                          pointBorderColor: one.looks.map(at => colourOf(palette, at))}),
      };
    })},
    options: {scales: {x: axis(palette, {...x, values: [...endsOf(series, 'x'), ...(x.values || [])]}),
                       y: axis(palette, {...y, values: [...endsOf(series.filter(one => !one.isOutside), 'y'), ...(y.values || [])]})},
              plugins: {legend: {...commonPlugins(palette).legend, display: series.length > 1}}},
  });
  return chartFigure({...rest, config});
}

function hatch(colour, kind) {
  if (kind === 'solid') return colour;
  const tile = h('canvas', {width: 8, height: 8}), context = tile.getContext('2d');
  context.globalAlpha = 0.3;
  context.fillStyle = colour;
  context.fillRect(0, 0, 8, 8);
  context.globalAlpha = 1;
  context.strokeStyle = colour;
  context.lineWidth = 1.6;
  const lines = {diagonal: [[0, 8, 8, 0], [-4, 4, 4, -4], [4, 12, 12, 4]], cross: [[0, 8, 8, 0], [0, 0, 8, 8]],
                 across: [[0, 4, 8, 4]], dots: []}[kind];
  for (const [x1, y1, x2, y2] of lines) {
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.stroke();
  }
  if (kind === 'dots') {
    context.beginPath();
    context.arc(4, 4, 1.8, 0, 7);
    context.fill();
  }
  return context.createPattern(tile, 'repeat');
}

// barChart({categories, value, series, isStacked, isSideways, ...}): series of {name, values, bounds, tips}; value is the
// value axis's spec.
function barChart({categories, categoryLabel, value, series, isStacked, isSideways, ...rest}) {
  const config = palette => {
    const bars = {labels: categories, datasets: series.map((one, index) => ({
      label: one.name, data: one.values, bounds: one.bounds, tips: one.tips, borderColor: palette.series[index], borderWidth: 1.5,
      backgroundColor: context => hatch(palette.series[index], HATCHES[index]), whiskerColor: palette.text, maxBarThickness: series.length > 1 ? 40 : 24,
      pointStyle: 'rect'}))};
    const categoryAxis = {stacked: isStacked, title: {display: !!categoryLabel, text: categoryLabel, color: palette.text},
                          grid: {display: false, borderColor: palette.faint},
                          ticks: {color: palette.text, maxRotation: isSideways ? 0 : 45, autoSkip: !isSideways}};
    const ends = series.flatMap(one => (one.bounds || []).flatMap(bound => Object.values(bound || {})));
    const valueAxis = {...axis(palette, {...value, values: ends}), stacked: isStacked};
    valueAxis.beginAtZero = true;
    return {type: 'bar', data: bars, options: {
      indexAxis: isSideways ? 'y' : 'x', scales: isSideways ? {x: valueAxis, y: categoryAxis} : {x: categoryAxis, y: valueAxis},
      interaction: {mode: 'index', intersect: false, axis: isSideways ? 'y' : 'x'},
      plugins: {legend: {...commonPlugins(palette).legend, display: series.length > 1}}}};
  };
  return chartFigure({...rest, config});
}
