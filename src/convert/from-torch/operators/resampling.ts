// Resizes images and samples them at positions.

import { cubicWeights } from '../../onnx/cubic-weights.ts'
import { elementCount, float, int, text } from '../../onnx/model.ts'
import type { Lowering, Operator } from '../lowering.ts'
import { forAxes, named } from './operands.ts'

/** A bicubic resize by products with the weights of rows and columns. */
const shrunk = (
  node: Lowering,
  from: readonly number[],
  to: readonly number[],
  factors: readonly number[],
  alignCorners: boolean,
): string => {
  const weightsOf = (axis: number): Float64Array => {
    const [before, after] = [from[axis]!, to[axis]!]
    const step = factors.length === 2 ? 1 / factors[axis]! : before / after
    const positionOf = (place: number): number => {
      if (alignCorners) return after === 1 ? 0 : (place * (before - 1)) / (after - 1)
      return (place + 0.5) * step - 0.5
    }
    node.constantSize([before, after])
    return cubicWeights(before, after, { coefficient: -0.75, excludesOutside: false, positionOf }, axis === 1)
  }
  const x = node.input(node.has('self') ? 'self' : 'input')
  const rows = node.constant('f32', [to[0]!, from[0]!], weightsOf(0))
  return node.emit('MatMul', [rows, node.emit('MatMul', [x, node.constant('f32', [from[1]!, to[1]!], weightsOf(1))])])
}

/** Resizes by the given factors, otherwise to the size of the result. */
const resize =
  (axes: number, mode: 'nearest' | 'linear' | 'cubic', nearest = 'floor'): Operator =>
  (node) => {
    const alignCorners = node.flag('align_corners')
    const name = node.has('self') ? 'self' : 'input'
    const single = ['scales', 'scales_d', 'scales_h', 'scales_w']
      .filter((name) => node.has(name))
      .map((name) => node.number(name))
    const factors = node.has('scale_factors') ? node.numbers('scale_factors') : single
    const isFixed = node.result().shape.every((size) => typeof size === 'number')
    const sizes = [node.shape(name), node.result().shape].map((shape) => shape.slice(2))
    const [from, to] = sizes.map((list) => list.filter((size) => typeof size === 'number'))
    if (mode === 'cubic' && from!.length === 2 && to!.length === 2 && to!.some((size, axis) => size < from![axis]!))
      return shrunk(node, from!, to!, factors, alignCorners)
    const isExact = factors.length !== axes || (alignCorners && isFixed)
    const x = node.input(name)
    const size = isExact ? node.sizeList(node.result().shape) : ''
    const scales = isExact ? '' : node.constant('f32', [axes + 2], [1, 1, ...factors])
    const place =
      nearest === 'floor' && mode === 'nearest' ? 'asymmetric' : alignCorners ? 'align_corners' : 'half_pixel'
    return node.emit('Resize', isExact ? [x, '', '', size] : [x, '', scales], {
      mode: text(mode),
      coordinate_transformation_mode: text(place),
      ...(mode === 'nearest' ? { nearest_mode: text(nearest) } : {}),
      ...(mode === 'cubic' ? { cubic_coeff_a: float(-0.75) } : {}),
    })
  }

const OUTSIDE = ['zeros', 'border', 'reflection']

const gridSample: Operator = (node) => {
  const mode = ['bilinear', 'nearest', 'bicubic'][node.number('interpolation_mode')]
  const outside = OUTSIDE[node.number('padding_mode')]
  if (node.rank('input') !== 4 || mode === undefined || outside === undefined) {
    throw node.refuse('only images are sampled (four dimensions).')
  }
  return node.emit('GridSample', [node.input('input'), node.input('grid')], {
    mode: text(mode),
    padding_mode: text(outside),
    align_corners: int(Number(node.flag('align_corners'))),
  })
}

/** The positions [batch, rows, columns, 2] to which affine maps send the points of an even grid from -1 to 1. */
const affineGrid: Operator = (node) => {
  const [rows, columns] = node.fixed(node.result().shape.slice(1, 3), 'the size of the grid')
  const isAligned = node.flag('align_corners')
  const at = (place: number, count: number): number => {
    if (!isAligned) return (2 * place + 1) / count - 1
    return count === 1 ? 0 : (2 * place) / (count - 1) - 1
  }
  const count = elementCount([rows!, columns!, 3])
  const points = Float32Array.from({ length: node.constantSize([count]) }, (_, place) => {
    const point = Math.floor(place / 3)
    return [at(point % columns!, columns!), at(Math.floor(point / columns!), rows!), 1][place % 3]!
  })
  const base = node.constant('f32', [rows! * columns!, 3], points)
  const maps = node.transpose(node.input('theta'), [0, 2, 1])
  return node.reshapeTo(node.emit('MatMul', [base, maps]), node.shape('theta').slice(0, 1), node.result().shape)
}

export const RESAMPLING: Readonly<Record<string, Operator>> = {
  ...named('grid_sampler grid_sampler_2d', gridSample),
  affine_grid_generator: affineGrid,
  ...forAxes('upsample_nearest#d', (axes) => resize(axes, 'nearest')),
  ...forAxes('_upsample_nearest_exact#d', (axes) => resize(axes, 'nearest', 'round_prefer_ceil')),
  upsample_trilinear3d: resize(3, 'linear'),
  upsample_linear1d: resize(1, 'linear'),
  upsample_bilinear2d: resize(2, 'linear'),
  upsample_bicubic2d: resize(2, 'cubic'),
}
