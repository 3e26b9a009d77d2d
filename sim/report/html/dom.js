// Elements of the page. Text from the document only ever becomes text nodes, never markup.
'use strict';

// h('p', {class: 'note'}, 'text', element, ...): attributes that are false or undefined are left out, functions are
// listeners, and children may be nested lists.
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === false || value === null) continue;
    if (typeof value === 'function') {
      element.addEventListener(name, value);
    } else {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  element.append(...children.flat(Infinity).filter(
    child => child !== undefined && child !== null && child !== false && child !== ''));
  return element;
}

let nextId = 0;
const newId = prefix => prefix + '-' + ++nextId;

// A part of the page with a heading; the list of contents is made from these.
function section(id, title, ...children) {
  return h('section', {id, 'aria-labelledby': id + '-title'}, h('h2', {id: id + '-title'}, title), ...children);
}

// [[term, text], ...] as a list of terms; empty texts are left out.
function facts(pairs) {
  return h('dl', {class: 'facts'}, pairs.filter(pair => pair[1] !== undefined && pair[1] !== '').map(
    ([term, text]) => h('div', {}, h('dt', {}, term), h('dd', {}, text))));
}

// The unit smaller than the number before it.
function withUnit(text) {
  const at = text.indexOf('\u00a0');
  return at < 0 ? text : [text.slice(0, at) + ' ', h('span', {class: 'unit'}, text.slice(at + 1))];
}

// The few figures that matter most: [{name, value, note}, ...].
function tiles(figures) {
  return h('dl', {class: 'tiles'}, figures.filter(Boolean).map(
    ({name, value, note}) => h('div', {class: 'tile'}, h('dt', {}, name),
                               h('dd', {}, h('span', {class: 'figure'}, withUnit(value)), note && h('span', {class: 'bounds'}, note)))));
}

const kindMarks = {measured: '\u25cf', published: '\u25a0', fitted: '\u25b2', assumed: '\u25cb'};

// Where a value comes from: a mark and its name, so that colour carries nothing alone.
function kindBadge(kind) {
  return h('span', {class: 'badge kind-' + kind}, h('span', {'aria-hidden': 'true'}, (kindMarks[kind] || '\u25cb') + ' '), kind);
}

function kindsText(list) {
  const count = new Map();
  for (const {kind} of list) count.set(kind, (count.get(kind) || 0) + 1);
  const order = ['measured', 'published', 'fitted', 'assumed'];
  const kinds = [...count.keys()].sort((a, b) => order.indexOf(a) - order.indexOf(b));
  return kinds.map(kind => count.get(kind) + ' ' + kind).join(', ');
}

// Offers text as a file. The page is a file itself, so that the data travel by a blob.
function saveFile(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], {type}));
  const link = h('a', {href: address, download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

const beforePrint = [], afterPrint = [];
window.addEventListener('beforeprint', () => beforePrint.forEach(action => action()));
window.addEventListener('afterprint', () => afterPrint.forEach(action => action()));
