// Matrix products.
import { badRequest } from '../../../domain/errors.ts'
import { type Constant, transposeConstant } from '../../onnx/constants.ts'
import { elementCount } from '../../onnx/model.ts'
import { einsumTerms } from '../../onnx/shape-rules-sequences.ts'
import { type Lower, reshape, transpose } from '../lowering.ts'
import type { Tensor, TfliteGraph } from '../tflite-graph.ts'
import { arithmetic } from './arithmetic.ts'

/** `x · weights^T + bias` with x [..., k], weights [n, k], and bias [n]. */
export const fullyConnected = (graph: TfliteGraph, x: Tensor, weights: Tensor, bias: Tensor | null): Tensor =>
  graph.operator(
    'FULLY_CONNECTED',
    [x, weights, bias],
    { shape: [...x.shape.slice(0, -1), weights.shape[0]!] },
    { activation: 0, weightsFormat: 0, keepNumDims: true },
  )

/** a [..., m, k] and b [..., k, n] with broadcast batches. */
const batchMatMul = (graph: TfliteGraph, a: Tensor, b: Tensor): Tensor => {
  const rank = Math.max(a.shape.length, b.shape.length)
  const [left, right] = [a, b].map(({ shape }) => [...Array.from({ length: rank - shape.length }, () => 1), ...shape])
  const batch = left!.slice(0, -2).map((size, at) => (size === 1 ? right![at]! : size))
  const shape = [...batch, left!.at(-2)!, right!.at(-1)!]
  const options = { adjX: false, adjY: false }
  const [x, y] = [reshape(graph, a, left!), reshape(graph, b, right!)]
  if (rank <= 4) return graph.operator('BATCH_MATMUL', [x, y], { shape }, options)
  // Kernels support up to five dimensions, so batches that do not broadcast are merged.
  const count = elementCount(batch)
  if ([left!, right!].some((sizes) => elementCount(sizes.slice(0, -2)) !== count)) {
    throw badRequest(`Matrices of ${rank} dimensions that broadcast are not supported by TFLite.`)
  }
  const three = [x, y].map((tensor) => reshape(graph, tensor, [count, ...tensor.shape.slice(-2)]))
  return reshape(graph, graph.operator('BATCH_MATMUL', three, { shape: [count, ...shape.slice(-2)] }, options), shape)
}

const scaled = (constant: Constant, factor: number): Constant =>
  factor === 1 ? constant : { ...constant, values: Float64Array.from(constant.values, (value) => value * factor) }

const gemm: Lower = (node) => {
  const { graph } = node
  const [alpha, beta] = [node.float('alpha', 1), node.float('beta', 1)]
  const { mul, add } = arithmetic(graph)
  const x = node.value(0, node.int('transA') !== 0 ? [1, 0] : [0, 1])
  const weight = node.constant(1)
  const addend = node.has(2) ? node.constant(2) : undefined
  const columns = node.result().shape[1]!
  const fused = addend !== undefined && addend.shape.at(-1) === columns && addend.values.length === columns
  const bias = fused ? graph.vector('f32', scaled(addend, beta).values) : null
  let result: Tensor
  if (weight === undefined) {
    const product = fullyConnected(graph, x, node.value(1, node.int('transB') !== 0 ? [0, 1] : [1, 0]), null)
    result = alpha === 1 ? product : mul(product, alpha)
    if (bias !== null) result = add(result, bias)
  } else {
    const rows = scaled(node.int('transB') !== 0 ? weight : transposeConstant(weight, [1, 0]), alpha)
    result = fullyConnected(graph, x, graph.constant('f32', rows.shape, rows.values), bias)
  }
  if (node.has(2) && bias === null) result = add(result, beta === 1 ? node.value(2) : mul(node.value(2), beta))
  node.define(result)
}

const matMul: Lower = (node) => {
  const { graph } = node
  const { shape } = node.result()
  const [a, b] = [node.input(0).shape, node.input(1).shape]
  const weight = node.constant(1)
  if (node.input(0).type !== 'f32' && node.result().type !== 'f32') {
    throw badRequest('TFLite does not multiply integer matrices; cast to float32.')
  }
  if (weight !== undefined && b.length === 2 && a.length >= 2) {
    const rows = transposeConstant(weight, [1, 0])
    return node.define(fullyConnected(graph, node.value(0), graph.constant('f32', rows.shape, rows.values), null))
  }
  const left = a.length === 1 ? reshape(graph, node.value(0), [1, a[0]!]) : node.value(0)
  const right = b.length === 1 ? reshape(graph, node.value(1), [b[0]!, 1]) : node.value(1)
  node.define(reshape(graph, batchMatMul(graph, left, right), shape))
}

/** Two terms as a matrix product: letters in both terms and the output are batches; those in both terms only are summed. */
const einsum: Lower = (node) => {
  const { graph } = node
  const { inputs, output } = einsumTerms(node.text('equation'))
  const sizes = new Map(
    inputs.flatMap((term, at) => [...term].map((letter, axis) => [letter, node.input(at).shape[axis]!])),
  )
  if (inputs.length !== 2)
    throw badRequest('An Einsum with a number of terms other than two is not supported; use MatMul.')
  const [a, b] = inputs.map((term) => [...term]) as [string[], string[]]
  const kept = new Set(output)
  const batch = a.filter((letter) => b.includes(letter) && kept.has(letter))
  const inner = a.filter((letter) => b.includes(letter) && !kept.has(letter))
  const [rows, columns] = [a.filter((letter) => !b.includes(letter)), b.filter((letter) => !a.includes(letter))]
  if ([...rows, ...columns].some((letter) => !kept.has(letter))) {
    throw badRequest('An Einsum that sums over one term alone is not supported; use ReduceSum.')
  }
  const count = (letters: readonly string[]) => elementCount(letters.map((letter) => sizes.get(letter)!))
  const as = (at: number, letters: readonly string[], shape: number[]) => {
    const order = letters.map((letter) => inputs[at]!.indexOf(letter))
    return reshape(graph, node.value(at, order), shape)
  }
  const x = as(0, [...batch, ...rows, ...inner], [count(batch), count(rows), count(inner)])
  const y = as(1, [...batch, ...inner, ...columns], [count(batch), count(inner), count(columns)])
  const letters = [...batch, ...rows, ...columns]
  const shape = letters.map((letter) => sizes.get(letter)!)
  const permutation = [...output].map((letter) => letters.indexOf(letter))
  node.define(transpose(graph, reshape(graph, batchMatMul(graph, x, y), shape), permutation))
}

export const MATRIX: Readonly<Record<string, Lower>> = { Einsum: einsum, Gemm: gemm, MatMul: matMul }
