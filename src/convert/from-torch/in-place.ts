// Replaces operators that change their input in place with ones that create a new value, and updates all views of the input.
import { ints } from '../onnx/model.ts'
import type { Argument, TorchNode } from './exported-program.ts'
import { Lowering } from './lowering.ts'
import { labelOf, operatorOf, type Scope } from './node-arguments.ts'
import { scatterBounds, scatterIndex, scatterSlice } from './operators/scattering.ts'

/**
 * Computes the base of a view from the view's new elements; null if that is impossible. `at` is the result number of a view
 * with several results; `again` applies the view's operator to a value.
 */
type WriteBack = (node: Lowering, elements: string, at: number, again: (value: string) => string) => string | null

const reshaped: WriteBack = (node, elements, at) =>
  // If the elements are not in the order of the shape, the result may be a copy.
  node.isContiguous() ? node.reshapeTo(elements, node.result(at).shape, node.shape()) : null

const permuted: WriteBack = (node, elements) => {
  const order = node.axes('dims')
  return node.emit('Transpose', [elements], { perm: ints(order.map((_, axis) => order.indexOf(axis))) })
}

const axisOf = (node: Lowering): number => node.axis('dim', 0)

const selected: WriteBack = (node, elements, at) => {
  const index = node.has('index') ? node.number('index') : at
  return scatterIndex(node, elements, axisOf(node), index)
}

const part: WriteBack = (node, elements, at) => {
  const sizes = node.resultNames().map((_, index) => node.result(index).shape[axisOf(node)]!)
  const fixed = node.fixed(sizes.slice(0, at + 1), 'the size of its parts')
  const end = fixed.reduce((sum, size) => sum + size, 0)
  return scatterSlice(node, elements, axisOf(node), end - fixed[at]!, end)
}

const all = (names: string, back: WriteBack) => names.split(' ').map((name) => [name, back] as const)

/** Operators whose results share, or may share, their elements with their first argument. */
const VIEWS: ReadonlyMap<string, WriteBack> = new Map([
  ...all('alias detach dropout lift_fresh to type_as', (_, elements) => elements),
  ...all('contiguous flatten reshape reshape_as squeeze unflatten unsqueeze view view_as', reshaped),
  ...all('chunk split split_with_sizes tensor_split', part),
  ...all('select unbind', selected),
  ...all('slice narrow', scatterBounds),
  ...all('permute', permuted),
  ...all('transpose swapaxes swapdims t mT numpy_T', (_, elements, __, again) => again(elements)),
  ...all('broadcast_to diagonal expand expand_as movedim moveaxis unfold', () => null),
])

interface View {
  /** The tensor that it views. */
  readonly of: string
  /** null for another name of the same tensor. */
  readonly node: TorchNode | null
  readonly at: number
}

/** Tracks which tensors share elements while a program is lowered. */
export class Views {
  private readonly scope: Scope
  private readonly lower: (node: Lowering) => readonly string[]
  private readonly views = new Map<string, View>()
  private readonly viewsOf = new Map<string, Set<string>>()
  /** Views of changed tensors, to be recomputed before they are read. */
  private readonly stale = new Set<string>()

  constructor(scope: Scope, lower: (node: Lowering) => readonly string[]) {
    this.scope = scope
    this.lower = lower
  }

  add(name: string, of: string, node: TorchNode | null = null, at = 0): void {
    if (name === of) return
    this.views.set(name, { of, node, at })
    this.viewsOf.set(of, (this.viewsOf.get(of) ?? new Set()).add(name))
  }

  /** Must be called after a node is lowered, with its first result. */
  follow(node: TorchNode, value: string): void {
    const [of] = namesOf(node.inputs[0]?.value)
    const isChange = IN_PLACE.test(node.target)
    if (of === undefined || !(isChange || isView(this.scope, node, of))) return
    node.outputs.flatMap(namesOf).forEach((name, at) => {
      this.add(name, of, isChange ? null : node, at)
    })
    if (isChange) this.change(of, value, node)
  }

  /** Sets new elements of a tensor and of the tensor that it views, and marks all other views as stale. */
  private change(name: string, value: string | null, cause: TorchNode, from?: string): void {
    if (value === null) {
      this.scope.values.delete(name)
      this.scope.lost.set(name, `'${name}' shares elements with what ${labelOf(cause)} changes in place`)
    } else this.scope.values.set(name, value)
    this.stale.delete(name)
    for (const other of this.viewsOf.get(name) ?? []) if (other !== from) this.stale.add(other)
    const view = this.views.get(name)
    if (view === undefined) return
    this.refresh(view.of)
    this.change(view.of, value === null ? null : this.writtenBack(view, value), cause, name)
  }

  private writtenBack({ of, node, at }: View, elements: string): string | null {
    if (node === null || !this.scope.values.has(of)) return node === null ? elements : null
    const lowering = new Lowering(this.scope, node)
    return VIEWS.get(lowering.operator)!(lowering, elements, at, (value) => {
      const kept = this.scope.values.get(of)!
      this.scope.values.set(of, value)
      const [result] = this.lower(lowering)
      this.scope.values.set(of, kept)
      return result!
    })
  }

  /** Must be called before a tensor is read. */
  refresh(name: string): void {
    const view = this.views.get(name)
    if (view === undefined) return
    this.refresh(view.of)
    if (!this.stale.delete(name)) return
    for (const other of this.viewsOf.get(name) ?? []) this.stale.add(other)
    const whole = this.scope.values.get(view.of)
    const node = view.node && new Lowering(this.scope, view.node)
    const mayBeCopy = node !== null && VIEWS.get(node.operator) === reshaped && !node.isContiguous()
    const value = whole === undefined || mayBeCopy ? undefined : node === null ? whole : this.lower(node)[view.at]
    if (value !== undefined) this.scope.values.set(name, value)
    else {
      this.scope.values.delete(name)
      this.scope.lost.set(
        name,
        this.scope.lost.get(view.of) ?? `'${name}' may be a copy or a view of what was changed in place`,
      )
    }
  }
}

const IN_PLACE = /^torch\.ops\.aten\.\w*[^_]_\./

const isView = ({ metas }: Scope, node: TorchNode, of: string): boolean => {
  const operator = operatorOf(node.target)
  if (!VIEWS.has(operator)) return false
  const [result] = node.outputs.flatMap(namesOf)
  // A tensor of another type is a copy.
  return metas.get(of)?.type === metas.get(result ?? '')?.type
}

export const namesOf = (argument: Argument | undefined): readonly string[] => {
  if (argument?.kind === 'tensor') return [argument.name]
  return argument?.kind === 'tensors' ? argument.names.filter((name) => name !== null) : []
}
