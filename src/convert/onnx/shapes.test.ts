import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { foldConstants } from './fold-constants.ts'
import { graphBuilder } from './graph-builder.ts'
import { inferShapes } from './infer-shapes.ts'
import { float, int, ints } from './model.ts'
import { readOnnx } from './read-onnx.ts'
import { numbersOf, scalarOf, tensorOf } from './tensors.ts'

/** A convolution, its normalization, and `flatten(x, 1)` of a dynamic batch, as PyTorch's exporter writes them. */
const exported = () => {
  const graph = graphBuilder('exported')
  const x = graph.input('x', 'f32', ['batch', 1, 'height', 4])
  const weight = graph.constant('weight', tensorOf('f32', [2, 1, 3, 3], [...Array(18).keys()]))
  const conv = graph.node('Conv', [x, weight], { pads: ints([1, 1, 1, 1]) })
  const norm = [
    [2, 3],
    [0.5, -0.5],
    [1, 2],
    [4, 9],
  ].map((values) => graph.constant('norm', tensorOf('f32', [2], values)))
  const normal = graph.node('BatchNormalization', [conv, ...norm], { epsilon: float(0) })
  const dropped = graph.node('Dropout', [graph.node('Identity', [normal])])
  const shape = graph.node('Shape', [dropped])
  const first = graph.node('Gather', [shape, graph.constant('zero', scalarOf('i64', 0))], { axis: int(0) })
  const axes = graph.constant('axes', tensorOf('i64', [1], [0]))
  const rest = graph.constant('rest', tensorOf('i64', [1], [-1]))
  const target = graph.node('Concat', [graph.node('Unsqueeze', [first, axes]), rest], { axis: int(0) })
  graph.output('y', graph.node('Reshape', [dropped, target]), 'f32', ['batch', 'features'])
  return graph.build()
}

it('every value has a shape: named dimensions are 1 or come from the input shape', () => {
  const shapes = inferShapes(exported())
  expect(shapes.get('conv')).toEqual({ type: 'f32', shape: [1, 2, 1, 4] })
  expect(shapes.get('concat')).toEqual({ type: 'i64', shape: [2] })
  expect(shapes.get('y')).toEqual({ type: 'f32', shape: [1, 8] })
  expect(inferShapes(exported(), [5, 1, 3, 4]).get('y')?.shape).toEqual([5, 24])
  expect(inferShapes(exported(), { x: [5, 1, 3, 4] }).get('y')?.shape).toEqual([5, 24])
})

it('a shape that does not fit names the input or the node', () => {
  expect(() => inferShapes(exported(), [1, 3, 2, 4])).toThrow(
    "The input shape [1, 3, 2, 4] does not fit the input 'x' of [batch, 1, height, 4].",
  )
  expect(() => inferShapes(exported(), { z: [1] })).toThrow("There is no input 'z'; the model has 'x'.")
  const graph = graphBuilder('wrong')
  const x = graph.input('x', 'f32', [2, 3])
  graph.output('y', graph.node('MatMul', [x, x]), 'f32', null)
  expect(() => inferShapes(graph.build())).toThrow("MatMul 'matmul': [2, 3] and [2, 3] cannot be multiplied.")
})

it('folding removes constants, shape arithmetic, and pass-through nodes, and merges normalization into convolutions', () => {
  const { graph } = foldConstants(exported(), [5, 1, 3, 4])
  expect(graph.nodes.map(({ type }) => type)).toEqual(['Conv', 'Reshape'])
  const [conv, reshape] = graph.nodes
  expect(reshape!.outputs).toEqual(['y'])
  expect([...numbersOf(graph.initializers.get(reshape!.inputs[1]!)!)]).toEqual([5, -1])
  const weight = numbersOf(graph.initializers.get(conv!.inputs[1]!)!)
  expect([weight[1], weight[10]]).toEqual([1, 10])
  // 2 * (0 - 1) / 2 + 0.5, and 3 * (0 - 2) / 3 - 0.5.
  expect([...numbersOf(graph.initializers.get(conv!.inputs[2]!)!)]).toEqual([-0.5, -2.5])
  expect(graph.outputs).toEqual([{ name: 'y', type: 'f32', shape: [5, 24] }])
  expect(graph.initializers.size).toBe(3)
})

it('real exports fold to a graph in which every value has a shape', async () => {
  const model = readOnnx(await readFile('test/fixtures/models/tiny-bert/onnx/model.onnx'))
  const shape = { input_ids: [1, 8], attention_mask: [1, 8], token_type_ids: [1, 8] }
  const folded = foldConstants(model, shape)
  expect(folded.graph.nodes.length).toBeLessThan(model.graph.nodes.length)
  const shapes = inferShapes(folded)
  for (const node of folded.graph.nodes) for (const name of node.outputs) expect(shapes.has(name)).toBe(true)
})

it('consecutive products with constant matrices are merged if that is smaller', () => {
  const graph = graphBuilder('support vectors')
  const x = graph.input('x', 'f32', [1, 2])
  const vectors = graph.constant('vectors', tensorOf('f32', [2, 3], [1, 2, 3, 4, 5, 6]))
  const coefficients = graph.constant('coefficients', tensorOf('f32', [3, 1], [1, -1, 2]))
  graph.output('y', graph.node('MatMul', [graph.node('MatMul', [x, vectors]), coefficients]), 'f32', [1, 1])
  const folded = foldConstants(graph.build()).graph
  expect(folded.nodes).toHaveLength(1)
  expect([...numbersOf(folded.initializers.get(folded.nodes[0]!.inputs[1]!)!)]).toEqual([5, 11])
})
