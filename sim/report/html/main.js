// Reads the document out of the page and shows the page of its kind.
'use strict';

function showContents(main) {
  document.getElementById('contents').append(h('ul', {}, [...main.querySelectorAll('section > h2')].map(
    heading => h('li', {}, h('a', {href: '#' + heading.parentElement.id}, heading.textContent)))));
}

function showFooter(text, data) {
  document.getElementById('footer').prepend(
    h('p', {}, 'Made by Lockstep. This file is complete in itself and fetches nothing. Charts: Chart.js ' + Chart.version + ', MIT licence.'),
    h('p', {}, h('button', {type: 'button', class: 'plain', click: () => saveFile(
      data.schema.split('/')[1] + '.json', 'application/json', text)}, 'Save the data as JSON')));
}

(function () {
  const text = document.getElementById('document').textContent;
  const data = JSON.parse(text);
  const pages = {'lockstep/result/1': resultPage, 'lockstep/plan-result/1': planPage, 'lockstep/validation/1': validationPage};
  const main = document.getElementById('main');
  main.append(...pages[data.schema](data).filter(Boolean));
  showContents(main);
  showFooter(text, data);
  redrawAll();
})();
