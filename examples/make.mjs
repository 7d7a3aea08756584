// Makes the small files that the README's "The first hour" uses: 300 rows of made-up measurements, the weights of a linear classifier that
// knows nothing yet (the layout of torch.nn.Linear), and the same classifier, trained by hand, as ONNX. Run: node examples/make.mjs
import { writeFileSync } from 'node:fs'

const FEATURES = ['temperature', 'vibration', 'humidity']
const CLASSES = 2
/** What the labels follow, apart from noise: a warm, shaking machine in dry air is worn out. */
const TRUTH = [1.5, 1, -0.5]

/** Uniform in (0, 1), the same in every run: the minimal standard of Park and Miller (1988). */
let state = 42
const uniform = () => {
  state = (state * 48271) % 2147483647
  return state / 2147483647
}
const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())

const rows = Array.from({ length: 300 }, () => {
  const values = FEATURES.map(() => Number(normal().toFixed(3)))
  const score = values.reduce((sum, value, index) => sum + value * TRUTH[index], 0.3 * normal())
  return [...values, score > 0 ? 1 : 0].join(',')
})
const write = (name, content) => writeFileSync(new URL(name, import.meta.url), content)
write('measurements.csv', `${[...FEATURES, 'label'].join(',')}\n${rows.join('\n')}\n`)

const SHAPES = { '0.bias': [CLASSES], '0.weight': [CLASSES, FEATURES.length] }
let end = 0
const header = JSON.stringify(
  Object.fromEntries(
    Object.entries(SHAPES).map(([name, shape]) => {
      const begin = end
      end += 4 * shape.reduce((product, length) => product * length, 1)
      return [name, { dtype: 'F32', shape, data_offsets: [begin, end] }]
    }),
  ),
)
const padded = header.padEnd(Math.ceil(header.length / 8) * 8)
const length = Buffer.alloc(8)
length.writeBigUInt64LE(BigInt(padded.length))
write('weights.safetensors', Buffer.concat([length, Buffer.from(padded), Buffer.alloc(end)]))

// The few messages of onnx.proto that one Gemm needs: Y = X B + C.
const varint = (value) => (value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))])
const number = (field, value) => Buffer.from([...varint(field * 8), ...varint(value)])
const bytes = (field, ...parts) => {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part)))
  return Buffer.concat([Buffer.from([...varint(field * 8 + 2), ...varint(content.length)]), content])
}
const FLOAT = 1
const shape = (dims) =>
  bytes(2, ...dims.map((dim) => bytes(1, typeof dim === 'number' ? number(1, dim) : bytes(2, dim))))
const value = (field, name, dims) => bytes(field, bytes(1, name), bytes(2, bytes(1, number(1, FLOAT), shape(dims))))
const tensor = (name, dims, values) =>
  bytes(
    5,
    ...dims.map((dim) => number(1, dim)),
    number(2, FLOAT),
    bytes(8, name),
    bytes(9, Buffer.from(Float32Array.from(values).buffer)),
  )
const graph = bytes(
  7,
  bytes(1, bytes(1, 'measurement'), bytes(1, 'weight'), bytes(1, 'bias'), bytes(2, 'scores'), bytes(4, 'Gemm')),
  bytes(2, 'classifier'),
  tensor(
    'weight',
    [FEATURES.length, CLASSES],
    TRUTH.flatMap((weight) => [-weight, weight]),
  ),
  tensor('bias', [CLASSES], [0, 0]),
  value(11, 'measurement', ['batch', FEATURES.length]),
  value(12, 'scores', ['batch', CLASSES]),
)
write('model.onnx', Buffer.concat([number(1, 8), graph, bytes(8, bytes(1, ''), number(2, 17))]))
