// Padding in sequences, which recurrent layers skip.
import { int } from '../../onnx/model.ts'
import { scalarOf, tensorOf } from '../../onnx/tensors.ts'
import type { LayerCall, Value } from '../layer-call.ts'

interface Steps {
  /** The steps that are not padding, in order, followed by the padding. */
  readonly compact: string
  /** The number of steps, [batch]. */
  readonly lengths: string
  /** Moves results of compact steps back to their positions; at padding, repeats the previous step's, or zeros. */
  expand(sequence: string): string
}

/** Moves padding to the end, the only position where ONNX can skip it. */
export const compactSteps = (call: LayerCall, value: Value, mask: string): Steps => {
  const one = call.integers([1])
  const numbers = call.castTo(mask, 'i32')
  const axis = call.scope.builder.constant('axis', scalarOf('i64', 1))
  const through = call.emit('CumSum', [numbers, axis])
  // Earlier steps have larger keys; the key of padding is 0.
  const [steps] = call.fixed([value.shape[1]!], 'the number of its steps')
  const late = Array.from({ length: steps! }, (_, at) => steps! - at)
  const places = call.constant('late', tensorOf('f32', [steps!], late))
  const keys = call.emit('Mul', [call.castTo(mask, 'f32'), places])
  const [, order] = call.emitSeveral('TopK', [keys, call.integers([steps!])], 2, { axis: int(1) })
  const pick = (data: string, index: string): string =>
    call.emit('GatherND', [data, call.unsqueeze(index, [2])], { batch_dims: int(1) })
  const lengths = call.emit('ReduceSum', [numbers, one], { keepdims: int(0) })
  return {
    compact: pick(call.last(value), order!),
    lengths,
    expand: (sequence) => {
      const isBackward = call.flag('go_backwards')
      const at = call.emit('Sub', [through, isBackward ? numbers : int32(call, 1)])
      const ends = call.emit('Unsqueeze', [lengths, one])
      const inside = isBackward ? call.emit('Less', [at, ends]) : call.emit('Greater', [through, int32(call, 0)])
      const last = call.emit('Sub', [ends, int32(call, 1)])
      const near = call.emit('Max', [call.emit('Min', [at, last]), int32(call, 0)])
      const held = pick(sequence, call.castTo(near, 'i64'))
      const shown = call.flag('zero_output_for_mask') ? call.emit('And', [inside, mask]) : inside
      const factor = call.unsqueeze(call.castTo(shown, 'f32'), [2])
      return call.emit('Mul', [held, factor])
    },
  }
}

const int32 = (call: LayerCall, value: number): string => call.constant('number', tensorOf('i32', [1], [value]))
