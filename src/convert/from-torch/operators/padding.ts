// Operators that pad.

import { ownEntry } from '../../../domain/own-entry.ts'
import { text } from '../../onnx/model.ts'
import type { Lowering, Operator } from '../lowering.ts'
import { forAxes } from './operands.ts'

/** Pads each axis at both ends with elements from the opposite end. */
const circular = (node: Lowering, pads: readonly number[]): string => {
  const rank = node.rank()
  return Array.from({ length: pads.length / 2 }, (_, at) => rank - 1 - at).reduce((value, axis, at) => {
    const [size] = node.fixed([node.shape()[axis]!], 'the size of the dimension')
    const [before, after] = [pads[2 * at]!, pads[2 * at + 1]!]
    const places = node.indices([size! + before + after], (place) => (((place - before) % size!) + size!) % size!)
    return node.gather(value, places, axis)
  }, node.input())
}

/** torch lists the pads of the last axis first. */
const pad =
  (fixedMode?: string): Operator =>
  (node) => {
    const requested = fixedMode ?? node.text('mode', 'constant')
    const named = fixedMode === undefined || node.has('pad') ? 'pad' : 'padding'
    if (requested === 'circular') return circular(node, node.numbers(named))
    const pads = node.sizeArguments(named)
    const mode = ownEntry(PAD_MODES, requested)
    if (mode === undefined)
      throw node.refuse(`its mode is '${requested}'; use constant, reflect, replicate, or circular.`)
    const rank = node.rank()
    const at = (axis: number, side: number) => pads[(rank - 1 - axis) * 2 + side] ?? 0
    const all = [0, 1].flatMap((side) => node.shape().map((_, axis) => at(axis, side)))
    const inputs = [node.input(), node.sizeList(all)]
    if (mode === 'constant') inputs.push(node.scalar(node.type(), node.number('value', 0)))
    return node.emit('Pad', inputs, { mode: text(mode) })
  }

const PAD_MODES: Readonly<Record<string, string>> = { constant: 'constant', reflect: 'reflect', replicate: 'edge' }

export const PADDING: Readonly<Record<string, Operator>> = {
  pad: pad(),
  constant_pad_nd: pad('constant'),
  ...forAxes('reflection_pad#d', () => pad('reflect')),
  ...forAxes('replication_pad#d', () => pad('replicate')),
}
