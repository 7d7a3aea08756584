// Operators of keras.ops that rearrange elements: slices, axes, and selection by index.
import { int, text } from '../../onnx/model.ts'
import { isObject, type Json, numbersIn } from '../keras-config.ts'
import type { Layer, LayerCall, Size, Value } from '../layer-call.ts'
import { plain } from './arithmetic-operators.ts'
import { elementsOf, inferred } from './dense.ts'

const rearranged =
  (orderOf: (call: LayerCall, rank: number) => readonly number[]): Layer =>
  (call) => {
    const value = plain(call)
    const order = orderOf(call, value.shape.length)
    const shape = order.map((axis) => value.shape[axis]!)
    return call.like(value, call.transpose(value.name, order), { shape })
  }

const moved = (rank: number, from: number, to: number): number[] => {
  const order = [...Array(rank).keys()].filter((axis) => axis !== from)
  order.splice(to, 0, from)
  return order
}

const slice = (call: LayerCall, x: string, axis: number, start: number, stop: number, step = 1): string =>
  call.emit('Slice', [x, ...[start, stop, axis, step].map((bound) => call.integers([bound]))])

const END = 2 ** 31

/** `x[:, 0]`, `x[..., ::2]`, `x[:, None]`: slices one axis after another, then removes and adds axes. */
const getItem: Layer = (call) => {
  const value = plain(call)
  const written = call.written?.args[1] ?? null
  const listed = Array.isArray(written) ? (written as readonly Json[]) : [written]
  const isEllipsis = (item: Json) => isObject(item) && item.class_name === '__ellipsis__'
  const given = listed.filter((item) => item !== null && !isEllipsis(item)).length
  const all = Array.from({ length: value.shape.length - given }, () => ({ class_name: '__slice__', config: {} }))
  const at = listed.findIndex(isEllipsis)
  const items: readonly Json[] =
    at < 0 ? [...listed, ...all] : [...listed.slice(0, at), ...all, ...listed.slice(at + 1)]
  let { name } = value
  const [shape, dropped, added]: [Size[], number[], number[]] = [[], [], []]
  let axis = 0
  for (const item of items) {
    if (item === null) {
      added.push(shape.length)
      shape.push(1)
    } else if (typeof item === 'number') {
      name = slice(call, name, axis, item, item === -1 ? END : item + 1)
      dropped.push(axis++)
    } else {
      if (!isObject(item) || item.class_name !== '__slice__')
        throw call.refuse('it takes elements by a tensor; use ops.take.')
      const size = value.shape[axis]!
      const { start = null, stop = null, step } = item.config as Record<string, number | null>
      const by = step ?? 1
      if (start === null && stop === null && by === 1) shape.push(size)
      else {
        name = slice(call, name, axis, start ?? (by < 0 ? END : 0), stop ?? (by < 0 ? -END : END), by)
        const bound = (index: number | null, open: number) =>
          index === null
            ? open
            : Math.min(Math.max(index < 0 ? index + Number(size) : index, by < 0 ? -1 : 0), Number(size))
        const length = (bound(stop, by < 0 ? -1 : Number(size)) - bound(start, by < 0 ? Number(size) - 1 : 0)) / by
        shape.push(call.sized(size, () => Math.max(0, Math.ceil(length))))
      }
      axis++
    }
  }
  if (dropped.length > 0) name = call.emit('Squeeze', [name, call.integers(dropped)])
  if (added.length > 0) name = call.unsqueeze(name, added)
  return call.like(value, name, { shape })
}

/** Parts of one axis, each [start, stop). */
const parts = (call: LayerCall, value: Value, axis: number, bounds: readonly number[]): Value[] =>
  bounds.slice(1).map((stop, at) => {
    const shape = value.shape.map((size, each) => (each === axis ? stop - bounds[at]! : size))
    return call.like(value, slice(call, value.name, axis, bounds[at]!, stop), { shape })
  })

export const axisOf = (call: LayerCall, value: Value, absent: number): [number, number] => {
  const axis = call.axis('axis', value.shape.length, absent)
  return [axis, call.fixed([value.shape[axis]!], 'the axis')[0]!]
}

const split: Layer = (call) => {
  const value = plain(call)
  const [axis, size] = axisOf(call, value, 0)
  const requested = call.config.indices_or_sections
  const bounds =
    typeof requested === 'number'
      ? Array.from({ length: requested + 1 }, (_, at) => (at * size) / requested)
      : [0, ...numbersIn(requested), size]
  return parts(call, value, axis, bounds)
}

const squeezed = (call: LayerCall, value: Value, axes: readonly number[]): Value =>
  call.like(value, call.emit('Squeeze', [value.name, call.integers(axes)]), {
    shape: value.shape.filter((_, axis) => !axes.includes(axis)),
  })

const unstack: Layer = (call) => {
  const value = plain(call)
  const [axis, size] = axisOf(call, value, 0)
  const single = parts(call, value, axis, [...Array(size + 1).keys()])
  return single.map((part) => squeezed(call, part, [axis]))
}

/** Adds a new axis to each input and joins them along it. */
const stack: Layer = (call) => {
  const values = call.inputs.map((_, at) => plain(call, call.input(at)))
  const rank = values[0]!.shape.length + 1
  const axis = call.axis('axis', rank, 0)
  const wide = values.map(({ name }) => call.unsqueeze(name, [axis]))
  const shape = values[0]!.shape.toSpliced(axis, 0, values.length)
  return call.like(values[0]!, call.emit('Concat', wide, { axis: int(axis) }), { shape })
}

const flip: Layer = (call) => {
  const value = plain(call)
  const axes = call.axes('axis', value.shape.length)
  const name = axes.reduce((x, axis) => slice(call, x, axis, END, -END, -1), value.name)
  return call.like(value, name)
}

const roll: Layer = (call) => {
  const value = plain(call)
  const [axis, size] = axisOf(call, value, 0)
  const cut = (((-call.number('shift') % size) + size) % size) as number
  const [head, tail] = parts(call, value, axis, [0, cut, size])
  return call.like(value, call.emit('Concat', [tail!.name, head!.name], { axis: int(axis) }))
}

/** Repeats each element of an axis. */
const repeat: Layer = (call) => {
  const value = plain(call)
  const [axis, size] = axisOf(call, value, 0)
  const count = call.number('repeats')
  const index = Array.from({ length: size * count }, (_, at) => Math.floor(at / count))
  const name = call.emit('Gather', [value.name, call.integers(index)], { axis: int(axis) })
  return call.like(value, name, { shape: value.shape.with(axis, size * count) })
}

const tile: Layer = (call) => {
  const value = plain(call)
  const repeats = numbersIn(call.config.repeats)
  if (repeats.length !== value.shape.length) throw call.refuse('its repeats are not one for each axis.')
  const shape = value.shape.map((size, axis) =>
    repeats[axis] === 1 ? size : call.sized(size, (count) => count * repeats[axis]!),
  )
  return call.like(value, call.emit('Tile', [value.name, call.integers(repeats)]), { shape })
}

const pad: Layer = (call) => {
  const value = plain(call)
  const mode = call.text('mode', 'constant')
  const widths = numbersIn(call.config.pad_width)
  if (widths.length !== 2 * value.shape.length) throw call.refuse('its pad_width is not a pair for each axis.')
  const [before, after] = [0, 1].map((side) => widths.filter((_, at) => at % 2 === side))
  const shape = value.shape.map((size, axis) => {
    const more = before![axis]! + after![axis]!
    return more === 0 ? size : call.sized(size, (count) => count + more)
  })
  const given = call.written?.kwargs.constant_values
  const fill = call.scalar(typeof given === 'number' ? given : 0, value.type)
  if (!['constant', 'reflect', 'edge'].includes(mode))
    throw call.refuse(`its mode is '${mode}'; use constant, reflect, or edge.`)
  const inputs = [value.name, call.integers([...before!, ...after!]), ...(mode === 'constant' ? [fill] : [])]
  return call.like(value, call.emit('Pad', inputs, { mode: text(mode) }), { shape })
}

const reshape: Layer = (call) => {
  const value = plain(call)
  const target = numbersIn(call.config.newshape)
  const [first, ...rest] = target
  const elements = elementsOf(value.shape.slice(1))
  // The remaining size comes first because that axis is the batch.
  const known = elementsOf(rest)
  if (first === -1 && known === elements) {
    return call.like(value, call.reshape(value.name, [-1, ...rest]), { shape: [value.shape[0]!, ...rest] })
  }
  return call.like(value, call.reshape(value.name, target), { shape: inferred(target, elementsOf(value.shape)) })
}

const take: Layer = (call) => {
  const value = plain(call)
  const [, index] = call.inputs
  const axis = call.axis('axis', value.shape.length)
  if (call.config.axis === null) throw call.refuse('it has no axis.')
  const indices =
    typeof index === 'number' ? call.scalar(index, 'i64') : call.cast(plain(call, call.input(1)), 'i64').name
  const between = typeof index === 'number' ? [] : call.input(1).shape
  const name = call.emit('Gather', [value.name, indices], { axis: int(axis) })
  return call.like(value, name, { shape: value.shape.toSpliced(axis, 1, ...between) })
}

export const ARRANGEMENT: Readonly<Record<string, Layer>> = {
  GetItem: getItem,
  Transpose: rearranged((call, rank) =>
    (call.config.axes ?? null) === null ? [...Array(rank).keys()].reverse() : call.axes('axes', rank),
  ),
  Swapaxes: rearranged((call, rank) => {
    const [one, other] = [call.axis('axis1', rank), call.axis('axis2', rank)]
    return Array.from({ length: rank }, (_, axis) => (axis === one ? other : axis === other ? one : axis))
  }),
  Moveaxis: rearranged((call, rank) => moved(rank, call.axis('source', rank), call.axis('destination', rank))),
  ExpandDims: (call) => {
    const value = plain(call)
    const axes = call.axes('axis', value.shape.length + 1)
    return call.like(value, call.unsqueeze(value.name, axes), { shape: value.shape.toSpliced(axes[0]!, 0, 1) })
  },
  Squeeze: (call) => {
    const value = plain(call)
    const single = value.shape.flatMap((size, axis) => (size === 1 ? [axis] : []))
    return squeezed(call, value, call.config.axis === null ? single : call.axes('axis', value.shape.length))
  },
  ...{ Reshape: reshape, Stack: stack, Split: split, Unstack: unstack, Tile: tile, Repeat: repeat },
  ...{ Flip: flip, Roll: roll, Pad: pad, Take: take },
  BroadcastTo: (call) => {
    const value = plain(call)
    const shape = numbersIn(call.config.shape)
    return call.like(value, call.emit('Expand', [value.name, call.integers(shape)]), { shape })
  },
  TakeAlongAxis: (call) => {
    const [value, index] = [plain(call), call.cast(plain(call, call.input(1)), 'i64')]
    const axis = int(call.axis('axis', value.shape.length))
    const name = call.emit('GatherElements', [value.name, index.name], { axis })
    return call.like(value, name, { shape: index.shape })
  },
}
