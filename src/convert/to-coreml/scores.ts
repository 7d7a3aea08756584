// Shared parts of the operators of classical models (ai.onnx.ml): attributes and scores.
import { badRequest } from '../../domain/errors.ts'
import { attributeOf } from '../onnx/model.ts'
import { reshaped, type Step } from './step.ts'

export const floatsOf = ({ context }: Step, name: string): readonly number[] =>
  attributeOf(context.node, name, 'floats', [])
export const intsOf = ({ context }: Step, name: string): readonly number[] =>
  attributeOf(context.node, name, 'ints', [])

/** Applies `post_transform` to scores, under the output's name if given. */
export const transformed = (step: Step, scores: string, shape: readonly number[], output?: string): string => {
  const kind = step.context.text('post_transform', 'NONE')
  if (kind === 'NONE') return reshaped(step, scores, shape, output)
  if (kind === 'LOGISTIC') return step.net.add('activation', { sigmoid: {} }, [scores], shape, output)
  if (kind === 'SOFTMAX') return step.net.add('softmaxND', { axis: shape.length - 1 }, [scores], shape, output)
  throw badRequest(`The post_transform ${kind} has no layer in Core ML.`)
}

/** The label of the highest score, if labels are numbers and are used. */
export const label = (
  step: Step,
  scores: string,
  labels: readonly number[],
  [rows]: readonly [number, number],
): void => {
  if (step.output === '' || labels.length === 0) return
  const best = step.net.add('argMax', { axis: 1, removeDim: false }, [scores], [rows, 1])
  const names = step.net.constant(labels, [labels.length])
  const taken = step.net.add('gather', { axis: 0 }, [names, best], [rows, 1])
  reshaped(step, taken, step.result, step.output)
}
