import { badRequest } from '../../domain/errors.ts'
import { finiteNumbers, requireConstant, weightsOf } from './network.ts'
import { layerOf, type Rule, reshaped } from './step.ts'
import { onImages } from './windows.ts'

/** Written as x · factor + offset, which supports any number of dimensions. */
export const batchNormalization: Rule = (step) => {
  const { context, net } = step
  if (context.int('training_mode') !== 0)
    throw badRequest('It is exported for training. Export the model for inference.')
  const [scale, bias, mean, variance] = [1, 2, 3, 4].map((at) =>
    finiteNumbers(requireConstant(context.constant(at), 'The parameters of a BatchNormalization')),
  )
  const epsilon = context.float('epsilon', 1e-5)
  const factors = scale!.map((value, at) => value / Math.sqrt(variance![at]! + epsilon))
  const offsets = bias!.map((value, at) => value - mean![at]! * factors[at]!)
  const image = step.shape(0).slice(2)
  const shape = [factors.length, ...image.map(() => 1)]
  const scaled = step.add('multiplyBroadcastable', {}, [step.value(0), net.constant(factors, shape)])
  step.emit('addBroadcastable', {}, [scaled, net.constant(offsets, shape)])
}

export const instanceNormalization: Rule = (step) => {
  const { context } = step
  const [gamma, beta] = [1, 2].map((at) => finiteNumbers(requireConstant(context.constant(at), 'Scale and bias')))
  const channels = gamma!.length
  const ones = weightsOf(new Float32Array(channels).fill(1))
  onImages(step, 'InstanceNormalization', 'batchnorm', {
    channels,
    computeMeanVar: true,
    instanceNormalization: true,
    epsilon: context.float('epsilon', 1e-5),
    gamma: weightsOf(gamma!),
    beta: weightsOf(beta!),
    mean: weightsOf(new Float32Array(channels)),
    variance: ones,
  })
}

export const layerNormalization: Rule = (step) => {
  const { context } = step
  if (step.outputs.length > 1) throw badRequest('Its second and third outputs have no layer in Core ML.')
  const normalizedShape = step.shape(0).slice(context.axis('axis', -1))
  const size = normalizedShape.reduce((product, one) => product * one, 1)
  const gamma = finiteNumbers(requireConstant(context.constant(1), 'The scale'))
  const beta = context.has(2) ? finiteNumbers(requireConstant(context.constant(2), 'The bias')) : new Float32Array(size)
  if (gamma.length !== size || beta.length !== size)
    throw badRequest('Its scale and bias must have the normalized shape.')
  const params = {
    normalizedShape: [...normalizedShape],
    eps: context.float('epsilon', 1e-5),
    gamma: weightsOf(gamma),
    beta: weightsOf(beta),
  }
  step.emit('layerNormalization', params, [step.value(0)])
}

export const lrn = layerOf('lrn', ({ context }) => ({
  alpha: context.float('alpha', 1e-4),
  beta: context.float('beta', 0.75),
  localSize: context.int('size'),
  k: context.float('bias', 1),
}))

/** Before operator set 13, all dimensions from the axis on are treated as one. */
export const softmax =
  (isLog: boolean): Rule =>
  (step) => {
    const { context, net } = step
    const shape = step.shape(0)
    const isOld = context.opset < 13
    const axis = context.axis('axis', isOld ? 1 : -1)
    const merged =
      isOld && axis < shape.length - 1 ? [...shape.slice(0, axis), shape.slice(axis).reduce((a, b) => a * b, 1)] : shape
    const x = merged === shape ? step.value(0) : reshaped(step, step.value(0), merged)
    const soft = net.add('softmaxND', { axis }, [x], merged)
    reshaped(step, isLog ? net.add('unary', { type: 5 }, [soft], merged) : soft, step.result, step.output)
  }
