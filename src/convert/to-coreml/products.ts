import { type Constant, transposeConstant } from '../onnx/constants.ts'
import { finiteNumbers, weightsOf } from './network.ts'
import { type Rule, reshaped } from './step.ts'

/** The numbers of a matrix, column by column. */
export const transposed = (matrix: Constant): Float32Array =>
  Float32Array.from(transposeConstant(matrix, [1, 0]).values)

export const matMul: Rule = (step) => {
  const { context, net } = step
  const right = context.constant(1)
  if (right !== undefined && right.shape.length === 2) {
    const [rows, columns] = right.shape as [number, number]
    // Stored column by column.
    const params = {
      weightMatrixFirstDimension: rows,
      weightMatrixSecondDimension: columns,
      hasBias: false,
      weights: weightsOf(transposed(right)),
    }
    return step.emit('batchedMatmul', params, [step.value(0)])
  }
  const [a, b] = [step.shape(0), step.shape(1)]
  const left = a.length === 1 ? reshaped(step, step.value(0), [1, ...a]) : step.value(0)
  const second = b.length === 1 ? reshaped(step, step.value(1), [...b, 1]) : step.value(1)
  const batch = step.result.slice(0, step.result.length - (a.length === 1 ? 0 : 1) - (b.length === 1 ? 0 : 1))
  const rows = a.length === 1 ? 1 : a.at(-2)!
  const columns = b.length === 1 ? 1 : b.at(-1)!
  const inserted = [...(a.length === 1 && b.length === 1 ? [] : batch), rows, columns]
  const product = net.add('batchedMatmul', { transposeA: false, transposeB: false }, [left, second], inserted)
  reshaped(step, product, step.result, step.output)
}

export const gemm: Rule = (step) => {
  const { context } = step
  const [alpha, beta] = [context.float('alpha', 1), context.float('beta', 1)]
  const [transposeA, transposeB] = [context.int('transA') !== 0, context.int('transB') !== 0]
  const weights = context.constant(1)
  const bias = context.has(2) ? context.constant(2) : undefined
  const [inner, outer] = transposeB ? [1, 0] : [0, 1]
  const isVector = !context.has(2) || (bias !== undefined && bias.values.length === weights?.shape[outer])
  if (weights !== undefined && !transposeA && isVector) {
    const matrix = transposeB ? finiteNumbers(weights) : transposed(weights)
    const params = {
      inputChannels: weights.shape[inner]!,
      outputChannels: weights.shape[outer]!,
      weights: weightsOf(alpha === 1 ? matrix : matrix.map((weight) => weight * alpha)),
      hasBias: bias !== undefined,
      ...(bias !== undefined && { bias: weightsOf(finiteNumbers(bias).map((value) => value * beta)) }),
    }
    return step.emit('innerProduct', params, [step.value(0)])
  }
  const product = step.add('batchedMatmul', { transposeA, transposeB }, [step.value(0), step.value(1)])
  const scaled = step.add('activation', { linear: { alpha, beta: 0 } }, [product])
  if (!context.has(2)) return void reshaped(step, scaled, step.result, step.output)
  const addend = step.net.add('activation', { linear: { alpha: beta, beta: 0 } }, [step.value(2)], step.shape(2))
  step.emit('addBroadcastable', {}, [scaled, addend])
}
