import { badRequest } from '../../domain/errors.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import { batchNormalization, instanceNormalization, layerNormalization, lrn, softmax } from './normalization.ts'
import { gemm, matMul } from './products.ts'
import type { Rule } from './step.ts'
import { convolution, deconvolution, globalPool, pool } from './windows.ts'

const resize: Rule = (step) => {
  const { context } = step
  const from = step.shape(0)
  const factors = step.result.map((size, axis) => size / from[axis]!)
  const scalingFactor = factors.slice(-2)
  if (
    from.length !== 4 ||
    factors[0] !== 1 ||
    factors[1] !== 1 ||
    scalingFactor.some((factor) => !Number.isInteger(factor))
  ) {
    throw badRequest('It is supported only for the last two of four dimensions, by whole factors.')
  }
  const mode = context.text('mode', 'nearest')
  const places =
    context.node.type === 'Upsample' || context.opset < 11
      ? 'asymmetric'
      : context.text('coordinate_transformation_mode', 'half_pixel')
  if (mode === 'nearest') {
    const rounding = context.text('nearest_mode', 'round_prefer_floor')
    // Integer factors repeat each element if positions between two elements are rounded like this.
    const isRepeat =
      places === 'asymmetric' ? rounding === 'floor' : rounding.startsWith('round') && places !== 'align_corners'
    if (!isRepeat && context.opset >= 11 && context.node.type === 'Resize') {
      throw badRequest(
        `The mode nearest with ${places} and ${rounding} has no layer in Core ML; asymmetric with floor has.`,
      )
    }
    return step.emit('upsample', { scalingFactor, mode: 0 }, [step.value(0)])
  }
  const linear = ownEntry({ align_corners: 1, half_pixel: 2, pytorch_half_pixel: 2 }, places)
  if (mode !== 'linear' || linear === undefined)
    throw badRequest(`The mode ${mode} with ${places} has no layer in Core ML.`)
  step.emit('upsample', { scalingFactor, mode: 1, linearUpsampleMode: linear }, [step.value(0)])
}

export const LAYERS: Readonly<Record<string, Rule>> = {
  Conv: convolution,
  ConvTranspose: deconvolution,
  MaxPool: pool(0),
  AveragePool: pool(1),
  GlobalAveragePool: globalPool('reduceMean'),
  GlobalMaxPool: globalPool('reduceMax'),
  MatMul: matMul,
  Gemm: gemm,
  BatchNormalization: batchNormalization,
  InstanceNormalization: instanceNormalization,
  LayerNormalization: layerNormalization,
  LRN: lrn,
  Softmax: softmax(false),
  LogSoftmax: softmax(true),
  Resize: resize,
  Upsample: resize,
}
