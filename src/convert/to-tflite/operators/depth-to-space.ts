// Moves channels to image positions and back.
import { badRequest } from '../../../domain/errors.ts'
import type { Lower } from '../lowering.ts'

export const rearranged =
  (name: 'DEPTH_TO_SPACE' | 'SPACE_TO_DEPTH'): Lower =>
  (node) => {
    const block = node.int('blocksize', 1)
    if (name === 'SPACE_TO_DEPTH' && node.text('mode', 'DCR') !== 'DCR')
      throw badRequest('Only the mode DCR is supported.')
    const { shape } = node.result()
    const [batch, channels, height, width] = shape as [number, number, number, number]
    const own = name === 'DEPTH_TO_SPACE' && node.text('mode', 'DCR') === 'DCR'
    const x = node.value(0, [0, 2, 3, 1])
    if (own || name === 'SPACE_TO_DEPTH') {
      const table = name === 'DEPTH_TO_SPACE' ? 'DepthToSpaceOptions' : 'SpaceToDepthOptions'
      const result = node.graph.operator(
        name,
        [x],
        { shape: [batch, height, width, channels] },
        { table, value: { blockSize: block } },
      )
      return node.define(result, [0, 2, 3, 1])
    }
    // CRD: depth is ordered by channel, not by position in the block.
    const places = Array.from({ length: block * block }, (_, place) => place)
    const order = places.flatMap((place) =>
      Array.from({ length: channels }, (_, channel) => channel * places.length + place),
    )
    const moved = node.graph.operator(
      'GATHER',
      [x, node.integers(order)],
      {},
      { table: 'GatherOptions', value: { axis: 3 } },
    )
    const result = node.graph.operator(
      name,
      [moved],
      { shape: [batch, height, width, channels] },
      {
        table: 'DepthToSpaceOptions',
        value: { blockSize: block },
      },
    )
    node.define(result, [0, 2, 3, 1])
  }
