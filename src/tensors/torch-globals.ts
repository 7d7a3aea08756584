import { badRequest } from '../domain/errors.ts'
import { ownEntry } from '../domain/own-entry.ts'
import { MAX_PICKLE_DICTS, MAX_VISITED_VALUES } from './limits.ts'
import { isSize, modernName, type PickleHost, type PickleObject, type PickleValue } from './pickle-value.ts'
import { showName } from './shape.ts'
import {
  DTYPES,
  INERT,
  isCallable,
  isTensor,
  isType,
  isUnusable,
  STORAGES,
  type TorchObject,
  tensorOf,
  UNTYPED,
} from './torch-objects.ts'

const unusable = (what: string) => (): TorchObject => ({ kind: 'unusable', what })
const inert = (): TorchObject => INERT

/** The last argument of _rebuild_tensor_v2/v3 marks lazy views, whose bytes are not their values. */
const plainTensor = (args: readonly PickleValue[], metadata: PickleValue | undefined, dtype?: PickleValue) =>
  metadata instanceof Map && [...metadata.values()].includes(true)
    ? ({
        kind: 'unusable',
        what: 'a lazily negated or conjugated view (call .resolve_neg() or .resolve_conj())',
      } as const)
    : tensorOf(args, dtype)

const first = (args: readonly PickleValue[]): PickleValue => {
  const value = args[0]
  if (isTensor(value) || isUnusable(value)) return value
  throw badRequest('The pickle makes a parameter of something that is not a tensor.')
}

/** Builds objects from the arguments of each callable global, without side effects. */
const CALLS: Readonly<Record<string, (args: readonly PickleValue[], host: PickleHost) => PickleValue>> = {
  'torch._utils._rebuild_tensor': (args) => tensorOf(args),
  'torch._utils._rebuild_tensor_v2': (args) => plainTensor(args, args[6]),
  'torch._utils._rebuild_tensor_v3': (args) => plainTensor(args, args[7], args[6] ?? null),
  'torch._utils._rebuild_parameter': first,
  'torch._utils._rebuild_parameter_with_state': first,
  // (function, type, arguments, state): a tensor with Python attributes, which are dropped.
  'torch._tensor._rebuild_from_type_v2': ([callable, , args], host) => {
    if (!Array.isArray(args)) throw badRequest('The pickle rebuilds a tensor without arguments.')
    return host.call(callable ?? null, args)
  },
  'torch._utils._rebuild_qtensor': unusable('a quantized tensor (call .dequantize())'),
  'torch._utils._rebuild_sparse_tensor': unusable('a sparse tensor (call .to_dense())'),
  'torch._utils._rebuild_nested_tensor': unusable('a nested tensor'),
  'torch._utils._rebuild_meta_tensor_no_storage': unusable('a tensor on the meta device, which has no values'),
  'torch.Size': (args) => (Array.isArray(args[0]) ? args[0] : []),
  'torch.device': inert,
  'torch.serialization._get_layout': inert,
  'collections.Counter': inert,
  'builtins.set': inert,
  'builtins.frozenset': inert,
  'builtins.bytearray': inert,
  'builtins.complex': inert,
  'builtins.slice': inert,
  '_codecs.encode': inert,
  'numpy.dtype': inert,
  'numpy._core.multiarray.scalar': inert,
  'numpy._core.multiarray._reconstruct': unusable('a NumPy array (use torch.from_numpy)'),
}

/** Names that occur next to weights and are never called. */
const NAMES: ReadonlySet<string> = new Set([
  'torch.Tensor',
  'torch.nn.parameter.Parameter',
  'torch.nn.parameter.Buffer',
  'torch.per_tensor_affine',
  'torch.per_tensor_symmetric',
  'torch.per_channel_affine',
  'torch.per_channel_symmetric',
  'torch.per_channel_affine_float_qparams',
  'torch.strided',
  'numpy.ndarray',
])

const refusal = (name: string) => {
  const module = /^(__main__\.|torch\.nn\.modules\.|.*\bmodels?\b.*\.)/.test(name)
  return badRequest(
    `The file asks to run ${showName(name)} when it is opened. That is not part of a weight file and was not run. ${
      module ? 'It looks like a whole pickled module: save' : 'Save'
    } the weights alone with torch.save(model.state_dict(), path).`,
  )
}

const known = (module: string, name: string): TorchObject => {
  const storage = module === 'torch' || module === 'torch.cuda' ? STORAGES.get(name) : undefined
  const dtype = module === 'torch' ? DTYPES.get(name) : undefined
  const full = modernName(module, name)
  if (storage ?? dtype) return (storage ?? dtype) as TorchObject
  if (full === 'torch.storage.UntypedStorage' || full === 'torch.storage.TypedStorage') return UNTYPED
  if (NAMES.has(full)) return INERT
  if (full === 'collections.OrderedDict' || Object.hasOwn(CALLS, full)) return { kind: 'callable', name: full }
  throw refusal(`${module}.${name}`)
}

/** The host for pickles in .pt files. Throws bad_request for every global outside its list, before any use. */
export const torchHost = (): PickleHost => {
  let copied = 0
  let dicts = 0
  const orderedDict = (pairs: PickleValue | undefined): PickleValue => {
    if (++dicts > MAX_PICKLE_DICTS) throw badRequest(`The pickle contains more than ${MAX_PICKLE_DICTS} dicts.`)
    const dict = new Map<PickleValue, PickleValue>()
    if (pairs === undefined) return dict
    if (!Array.isArray(pairs)) throw badRequest('The pickle makes a dict of something that is not a list of pairs.')
    // The same list can be passed repeatedly, so the total copied by all calls is limited.
    copied += pairs.length
    if (copied > MAX_VISITED_VALUES) throw badRequest('The pickle copies more than any weight file needs.')
    for (const pair of pairs) {
      if (!Array.isArray(pair) || pair.length !== 2) throw badRequest('The pickle makes a dict of malformed pairs.')
      dict.set(pair[0]!, pair[1]!)
    }
    return dict
  }
  const host: PickleHost = {
    global: known,
    call(callable, args) {
      if (!isCallable(callable)) throw badRequest('The pickle calls a function that is not allowed in a weight file.')
      return callable.name === 'collections.OrderedDict'
        ? orderedDict(args[0])
        : ownEntry(CALLS, callable.name)!(args, host)
    },
    persistent(id) {
      const [tag, type, key, , elements, view] = Array.isArray(id) ? id : []
      if (tag !== 'storage' || !isType(type) || typeof key !== 'string' || !isSize(elements))
        throw badRequest('The pickle refers to an external object that is not a tensor storage; it was not opened.')
      const storage = { kind: 'storage', key, type, elements, offset: 0 } as const
      if (!Array.isArray(view)) return storage
      const [, offset, size] = view
      if (!isSize(offset) || !isSize(size) || offset + size > elements)
        throw badRequest(`The pickle takes a view outside of storage ${showName(key)}.`)
      return { ...storage, offset }
    },
    build(target) {
      // Drops attributes, such as a state dict's _metadata or the byte order of NumPy types, but only of data.
      if (!(target instanceof Map) && !isObject(target))
        throw badRequest('The pickle sets attributes of something that has none.')
      return target
    },
  }
  return host
}

const isObject = (value: PickleValue): value is PickleObject =>
  typeof value === 'object' && value !== null && 'kind' in value
