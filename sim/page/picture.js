// Pictures: stacked bars, intervals and the scaling curve. Each also shows its figures as text, so that no information
// depends on colour or position alone.
'use strict';

// Like format.duration, but with three digits below two minutes.
function duration(seconds) {
  if (!isNumber(seconds)) return NONE;
  const size = Math.abs(seconds);
  if (size > 0 && size < 1) return significant(seconds * 1e3) + SPACE + 'ms';
  return size < 120 ? significant(seconds) + SPACE + 's' : format.duration(seconds);
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes || {}))
    if (value !== undefined) element.setAttribute(name, value);
  element.append(...children.flat(Infinity).filter(Boolean));
  return element;
}

// A value that shows its source while the pointer is over it or it has the focus.
function sourced(text, source) {
  if (!source) return h('span', {}, text);
  const id = newId('source');
  return h('span', {class: 'sourced', tabindex: '0', 'aria-describedby': id}, text, h('span', {class: 'tip', id, role: 'tooltip'}, source));
}

// Low, value and high on a scale from zero.
function intervalBar(low, value, high, show) {
  if (!isNumber(low) || !isNumber(high) || !(high > 0)) return null;
  const place = x => (100 * x / (1.05 * high)).toFixed(2);
  return h('span', {class: 'interval', 'aria-hidden': 'true'},
           h('span', {class: 'interval-range', style: `left:${place(low)}%;width:${(place(high) - place(low)).toFixed(2)}%`}),
           h('span', {class: 'interval-mark', style: `left:${place(value)}%`}));
}

// parts: [{name, value, look, source}]; whole: the value of 100 %. The legend gives each part's value and percentage.
function stackedBar(label, parts, whole, show, end) {
  const shown = parts.filter(part => part.value > 1e-6 * whole);
  const share = part => 100 * part.value / whole;
  return h('div', {class: 'stack'},
    h('div', {class: 'stack-bar', role: 'img', 'aria-label': label + ': ' + shown.map(part => `${part.name} ${show(part.value)}`).join(', ')},
      shown.map(part => h('span', {class: `stack-part look-${part.look}`, style: `width:${share(part).toFixed(3)}%`,
                                   title: `${part.name}: ${show(part.value)} (${share(part).toFixed(1)} %)${part.source ? '\n' + part.source : ''}`}))),
    end && h('p', {class: 'note-line'}, end),
    h('ul', {class: 'legend'}, shown.map(part => h('li', {title: part.source}, h('span', {class: `swatch look-${part.look}`, 'aria-hidden': 'true'}),
      h('span', {}, part.name + ' '), h('strong', {}, show(part.value)), h('span', {class: 'bounds-inline'}, ` ${share(part).toFixed(1)} %`)))));
}

// ---- the scaling curve, both axes logarithmic ----

const CURVE = {width: 640, height: 300, left: 64, right: 30, top: 14, bottom: 44};

function logScale(low, high, from, to) {
  const a = Math.log(low), b = Math.log(high);
  return value => b === a ? (from + to) / 2 : from + (to - from) * (Math.log(value) - a) / (b - a);
}

function powersBetween(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
    for (const factor of [1, 2, 5]) {
      const tick = factor * 10 ** power;
      if (tick >= 0.999 * low && tick <= 1.001 * high) ticks.push(tick);
    }
  return ticks.length > 6 ? ticks.filter(tick => String(tick.toExponential())[0] === '1') : ticks;
}

// points: [{gpus, value, low, high}], in order of gpus.
function scalingCurve(points, now, unit) {
  const {width, height, left, right, top, bottom} = CURVE;
  const counts = points.map(point => point.gpus), values = points.flatMap(point => [point.value, point.low, point.high]).filter(isNumber);
  const low = 0.9 * Math.min(...values), high = 1.1 * Math.max(...values);
  const x = logScale(Math.min(...counts), Math.max(...counts), left, width - right), y = logScale(low, high, height - bottom, top);
  const first = points[0], ideal = points.map(point => first.value * point.gpus / first.gpus).map(value => Math.min(value, high));
  const line = list => list.map(([a, b], index) => `${index ? 'L' : 'M'}${a.toFixed(1)} ${b.toFixed(1)}`).join('');
  const band = points.every(point => isNumber(point.low) && isNumber(point.high)) &&
    line([...points.map(point => [x(point.gpus), y(point.high)]), ...[...points].reverse().map(point => [x(point.gpus), y(point.low)])]) + 'Z';
  const said = points.map(point => `${format.count(point.gpus)} GPUs ${format.short(point.value)}`).join(', ');
  return svg('svg', {class: 'curve', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${unit} by number of GPUs: ${said}`},
    powersBetween(low, high).map(tick => [
      svg('line', {class: 'grid', x1: left, x2: width - right, y1: y(tick), y2: y(tick)}),
      svg('text', {class: 'tick', x: left - 8, y: y(tick) + 4, 'text-anchor': 'end'}, format.short(tick))]),
    points.map(point => svg('text', {class: 'tick', x: x(point.gpus), y: height - bottom + 18, 'text-anchor': 'middle'}, format.count(point.gpus))),
    svg('text', {class: 'tick', x: (left + width - right) / 2, y: height - 6, 'text-anchor': 'middle'}, `GPUs; upwards ${unit}; dashed: proportional to the GPUs`),
    band && svg('path', {class: 'band', d: band}),
    svg('path', {class: 'ideal', d: line(points.map((point, index) => [x(point.gpus), y(first.value * point.gpus / first.gpus > high ? high : ideal[index])]))}),
    svg('path', {class: 'curve-line', d: line(points.map(point => [x(point.gpus), y(point.value)]))}),
    points.map(point => svg('circle', {class: point.gpus === now ? 'dot dot-now' : 'dot', cx: x(point.gpus), cy: y(point.value), r: point.gpus === now ? 6 : 4},
      svg('title', {}, `${format.count(point.gpus)} GPUs: ${withBounds(format.number, point.value, point.low, point.high)} ${unit}`))));
}

// ---- tables ----

// columns: [title, isNumber]; rows: lists of cells; a cell {span, content} fills several columns. source: all numbers'.
function plainTable(caption, columns, rows, source) {
  return h('div', {class: 'scroller', tabindex: '0', role: 'region', 'aria-label': caption}, h('table', {},
    h('caption', {}, caption),
    h('thead', {}, h('tr', {}, columns.map(([title, number]) => h('th', {scope: 'col', class: number && 'number'}, h('span', {class: 'head'}, title))))),
    h('tbody', {}, rows.map(cells => h('tr', {}, cells.map((cell, index) => {
      if (index === 0) return h('th', {scope: 'row'}, cell);
      return cell && cell.span ? h('td', {colspan: cell.span}, cell.content) : h('td', {class: columns[index][1] && 'number', title: columns[index][1] && source}, cell);
    }))))));
}
