// Elementwise operators.
import { badRequest } from '../../domain/errors.ts'
import { ELEMENT_TYPES } from '../onnx/model.ts'
import { isFloat } from './network.ts'
import type { Message } from './schema-fields.ts'
import { layerOf, type Rule, type Step } from './step.ts'

const activation = (params: (step: Step) => Message): Rule => layerOf('activation', params)

/** UnaryFunctionLayerParams.Operation. Its epsilon of 1e-6 applies only to 1/x, which is a division here. */
const unary = (type: number): Rule => layerOf('unary', () => ({ type }))

const linear = (alpha: number): Message => ({ linear: { alpha, beta: 0 } })

/** Two inputs are broadcast; more are combined one after another. */
const broadcast =
  (kind: string): Rule =>
  (step) => {
    const inputs = step.context.node.inputs.map((_, at) => step.value(at))
    if (inputs.length === 1) return step.emit('activation', linear(1), inputs)
    const last = inputs.length - 1
    let left = inputs[0]!
    for (const right of inputs.slice(1, last)) left = step.add(kind, {}, [left, right])
    step.emit(kind, {}, [left, inputs[last]!])
  }

const clip = layerOf('clip', ({ context }) => {
  const limit = (at: number, name: string, absent: number): number => {
    if (context.opset < 11) return context.float(name, absent)
    return context.has(at) ? context.numbers(at)[0]! : absent
  }
  const finite = (value: number) => Math.max(-3.4e38, Math.min(3.4e38, value))
  const [minVal, maxVal] = [finite(limit(1, 'min', -Infinity)), finite(limit(2, 'max', Infinity))]
  return { minVal, maxVal }
})

/** max(x, 0) + slope · min(x, 0), because the slope may have any shape. */
const prelu: Rule = (step) => {
  const [x, slope] = [step.value(0), step.value(1)]
  const positive = step.add('activation', { ReLU: {} }, [x])
  const negative = step.add('subtractBroadcastable', {}, [x, positive])
  step.emit('addBroadcastable', {}, [positive, step.add('multiplyBroadcastable', {}, [slope, negative])])
}

/** Core ML's own layer also passes values equal to the threshold. */
const thresholdedRelu: Rule = (step) => {
  const [x, alpha, zero] = [step.value(0), step.context.float('alpha', 1), step.net.constant([0], [1])]
  const above = step.add('greaterThan', {}, [x, step.net.constant([alpha], [1])])
  step.emit('whereBroadcastable', {}, [above, x, zero])
}

const hardSwish: Rule = (step) => {
  const gate = step.add('activation', { sigmoidHard: { alpha: 1 / 6, beta: 0.5 } }, [step.value(0)])
  step.emit('multiplyBroadcastable', {}, [step.value(0), gate])
}

/** Everything is a float in a network: conversion to an integer truncates, conversion to bool tests x ≠ 0. */
const cast: Rule = (step) => {
  const to = ELEMENT_TYPES[step.context.int('to')]
  const from = step.context.input(0).type
  const x = step.value(0)
  if (to === undefined || to === 'string' || from === 'string') throw badRequest('Text has no layer in Core ML.')
  if (to === 'bool' && from !== 'bool') {
    return step.emit('logicalNot', {}, [step.add('equal', {}, [x, step.net.constant([0], [1])])])
  }
  if (!isFloat(to) && isFloat(from)) {
    const whole = step.add('floor', {}, [step.add('unary', { type: 6 }, [x])])
    return step.emit('multiplyBroadcastable', {}, [step.add('sign', {}, [x]), whole])
  }
  step.emit('activation', linear(1), [x])
}

const where: Rule = (step) => step.emit('whereBroadcastable', {}, [step.value(0), step.value(1), step.value(2)])

const mod: Rule = (step) => {
  if (step.context.int('fmod') !== 0) throw badRequest('fmod=1 has no layer in Core ML; use fmod=0.')
  step.emit('modBroadcastable', {}, [step.value(0), step.value(1)])
}

const mean: Rule = (step) => {
  const inputs = step.context.node.inputs.map((_, at) => step.value(at))
  const sum = inputs.slice(1).reduce((left, right) => step.add('addBroadcastable', {}, [left, right]), inputs[0]!)
  step.emit('activation', linear(1 / inputs.length), [sum])
}

export const POINTWISE: Readonly<Record<string, Rule>> = {
  Relu: activation(() => ({ ReLU: {} })),
  Sigmoid: activation(() => ({ sigmoid: {} })),
  Tanh: activation(() => ({ tanh: {} })),
  LeakyRelu: activation(({ context }) => ({ leakyReLU: { alpha: context.float('alpha', 0.01) } })),
  Elu: activation(({ context }) => ({ ELU: { alpha: context.float('alpha', 1) } })),
  Softplus: activation(() => ({ softplus: {} })),
  Softsign: activation(() => ({ softsign: {} })),
  ThresholdedRelu: thresholdedRelu,
  HardSigmoid: activation(({ context }) => ({
    sigmoidHard: { alpha: context.float('alpha', 0.2), beta: context.float('beta', 0.5) },
  })),
  Identity: activation(() => linear(1)),
  Dropout: (step) => {
    if (step.context.has(2)) throw badRequest('Dropout in training mode is not supported; export for inference.')
    step.emit('activation', linear(1), [step.value(0)])
  },
  Neg: activation(() => linear(-1)),
  Reciprocal: (step) => step.emit('divideBroadcastable', {}, [step.net.constant([1], [1]), step.value(0)]),
  HardSwish: hardSwish,
  PRelu: prelu,
  Gelu: layerOf('gelu', ({ context }) => ({ mode: context.text('approximate', 'none') === 'tanh' ? 1 : 0 })),
  Clip: clip,
  Cast: cast,
  Where: where,
  Mod: mod,
  Mean: mean,
  Sqrt: unary(0),
  Exp: unary(4),
  Log: unary(5),
  Abs: unary(6),
  Add: broadcast('addBroadcastable'),
  Sum: broadcast('addBroadcastable'),
  Sub: broadcast('subtractBroadcastable'),
  Mul: broadcast('multiplyBroadcastable'),
  Div: (step) => {
    // Integer division truncates, but the layer would keep the fraction.
    if (!isFloat(step.context.input(0).type)) throw badRequest('Division of integers has no layer in Core ML.')
    step.emit('divideBroadcastable', {}, [step.value(0), step.value(1)])
  },
  Pow: (step) => {
    if (!isFloat(step.context.input(0).type)) throw badRequest('Powers of integers have no layer in Core ML.')
    step.emit('powBroadcastable', {}, [step.value(0), step.value(1)])
  },
  Min: broadcast('minBroadcastable'),
  Max: broadcast('maxBroadcastable'),
  Equal: broadcast('equal'),
  Less: broadcast('lessThan'),
  LessOrEqual: broadcast('lessEqual'),
  Greater: broadcast('greaterThan'),
  GreaterOrEqual: broadcast('greaterEqual'),
  And: broadcast('logicalAnd'),
  Or: broadcast('logicalOr'),
  Xor: broadcast('logicalXor'),
  Not: layerOf('logicalNot'),
  // Only NaN differs from itself.
  IsNaN: (step) => step.emit('logicalNot', {}, [step.add('equal', {}, [step.value(0), step.value(0)])]),
  ...Object.fromEntries(
    'Ceil Floor Round Sign Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Erf'
      .split(' ')
      .map((name) => [name, layerOf(name.toLowerCase())]),
  ),
}
