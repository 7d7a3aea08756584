// Operators of classical models (ai.onnx.ml).
import { badRequest } from '../../domain/errors.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { weightsOf } from './network.ts'
import { floatsOf, intsOf, label, transformed } from './scores.ts'
import { type Rule, reshaped, type Step } from './step.ts'
import { treeClassifier, treeRegressor } from './trees.ts'

const linear = (step: Step, targets: number): string => {
  const weights = floatsOf(step, 'coefficients')
  const offsets = floatsOf(step, 'intercepts')
  const [rows, features] = step.shape(0) as [number, number]
  if (weights.length !== targets * features)
    throw badRequest(`${weights.length} coefficients for ${features} features and ${targets} targets.`)
  const params = {
    inputChannels: features,
    outputChannels: targets,
    weights: weightsOf(weights),
    hasBias: offsets.length === targets,
    ...(offsets.length === targets && { bias: weightsOf(offsets) }),
  }
  return step.net.add('innerProduct', params, [step.value(0)], [rows, targets])
}

const linearRegressor: Rule = (step) => {
  const targets = step.context.int('targets', 1)
  transformed(step, linear(step, targets), step.result, step.output)
}

/** With two classes and one row of coefficients, scores are [-s, s] and probabilities [1 - p, p]. */
const linearClassifier: Rule = (step) => {
  const { net, outputs } = step
  const labels = intsOf(step, 'classlabels_ints')
  const [rows, features] = step.shape(0) as [number, number]
  const found = floatsOf(step, 'coefficients').length / features
  const raw = linear(step, found)
  const kind = step.context.text('post_transform', 'NONE')
  const classes = outputs[1]?.[1].at(-1) ?? labels.length
  const both = (value: string): string => {
    if (found === classes) return value
    const scale = (alpha: number, beta: number) =>
      net.add('activation', { linear: { alpha, beta } }, [value], [rows, 1])
    const other = kind === 'LOGISTIC' ? scale(-1, 1) : scale(-1, 0)
    return net.add('concatND', { axis: 1 }, [other, value], [rows, 2])
  }
  const scores =
    found === classes
      ? transformed(step, raw, [rows, classes])
      : kind === 'LOGISTIC'
        ? both(transformed(step, raw, [rows, 1]))
        : transformed(step, both(raw), [rows, classes])
  const [scoresName] = outputs[1] ?? ['']
  if (scoresName) reshaped(step, scores, [rows, classes], scoresName)
  label(step, scores, labels, [rows, classes])
}

const scaler: Rule = (step) => {
  const features = step.shape(0).at(-1)!
  const full = (numbers: readonly number[], absent: number) =>
    Float32Array.from({ length: features }, (_, at) => numbers[numbers.length === 1 ? 0 : at] ?? absent)
  const offset = step.net.constant(full(floatsOf(step, 'offset'), 0), [features])
  const scale = step.net.constant(full(floatsOf(step, 'scale'), 1), [features])
  const moved = step.add('subtractBroadcastable', {}, [step.value(0), offset])
  step.emit('multiplyBroadcastable', {}, [moved, scale])
}

const NORMS: Readonly<Record<string, string>> = { L1: 'reduceL1', L2: 'reduceL2', MAX: 'reduceMax' }

const normalizer: Rule = (step) => {
  const [rows] = step.result as [number]
  const kind = ownEntry(NORMS, step.context.text('norm', 'MAX'))
  if (kind === undefined) throw badRequest(`The norm ${step.context.text('norm')} is not supported.`)
  const size = step.net.add(kind, { axes: [1], keepDims: true }, [step.value(0)], [rows, 1])
  // A row of zeros stays unchanged.
  const isZero = step.net.add('equal', {}, [size, step.net.constant([0], [1])], [rows, 1])
  const divisor = step.net.add('addBroadcastable', {}, [size, isZero], [rows, 1])
  step.emit('divideBroadcastable', {}, [step.value(0), divisor])
}

export const CLASSICAL: Readonly<Record<string, Rule>> = {
  LinearRegressor: linearRegressor,
  LinearClassifier: linearClassifier,
  Scaler: scaler,
  Normalizer: normalizer,
  TreeEnsembleRegressor: treeRegressor,
  TreeEnsembleClassifier: treeClassifier,
  ArrayFeatureExtractor: (step) =>
    step.emit('gather', { axis: step.shape(0).length - 1 }, [
      step.value(0),
      reshaped(step, step.value(1), [step.result.at(-1)!]),
    ]),
}
