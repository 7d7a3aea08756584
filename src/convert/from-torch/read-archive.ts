import { badRequest } from '../../domain/errors.ts'
import { detectFormat, titleOf } from '../../tensors/detect.ts'
import { readTensorBytes } from '../../tensors/elements.ts'
import { inflateMember } from '../../tensors/inflate.ts'
import { requireInside, requireShape, showName } from '../../tensors/shape.ts'
import { bytesSource, decodeText, readExactly } from '../../tensors/sources.ts'
import { findTorchPickle, looksExported, OLD_PROGRAM, readTorchZip } from '../../tensors/torch-zip.ts'
import { BYTES_OF, type ByteSource, type Tensor } from '../../tensors/weight-file.ts'
import { readZip, startsLikeZip, type ZipEntry } from '../../tensors/zip.ts'
import type { OnnxTensor } from '../onnx/model.ts'
import type { TorchProgram } from './exported-program.ts'
import { asObject, asText, damagedProgram, type Json, type JsonObject, parseJson } from './python-json.ts'
import { metaOf, programOf } from './read-program.ts'

/** An opened `.pt2` file. Weights are read on demand, by their state dict names. */
export interface TorchArchive {
  readonly program: TorchProgram
  weight(path: string): OnnxTensor | undefined
  /** Identifies the weight's data, equal for tied weights; undefined if unknown. */
  storageOf(path: string): string | undefined
}

const MAX_PROGRAM_BYTES = 256 * 1024 * 1024
export const HOW_TO_EXPORT =
  'Export the model where it was made: torch.export.save(torch.export.export(model.eval(), (x,)), "model.pt2").'

const within = (source: ByteSource, offset: number, size: number): ByteSource => ({
  size,
  read: (at, length) => {
    if (!(at >= 0 && length >= 0 && at + length <= size)) throw damagedProgram('a tensor lies outside of its member')
    return source.read(offset + at, length)
  },
})

/** The bytes of a member, inflated if necessary. */
const memberOf = (source: ByteSource, { name, method, dataOffset, compressedSize, size }: ZipEntry): ByteSource => {
  if (method === 'stored') return within(source, dataOffset, size)
  if (size > MAX_PROGRAM_BYTES) throw badRequest(`Member ${showName(name)} is compressed and too large to inflate.`)
  return bytesSource(inflateMember(source, { offset: dataOffset, compressedSize, size }, name))
}

interface Members {
  readonly names: readonly string[]
  get(name: string): ByteSource | undefined
}

const jsonOf = (members: Members, name: string): Json => {
  const member = members.get(name)
  if (member === undefined) throw damagedProgram(`it has no ${name}`)
  if (member.size > MAX_PROGRAM_BYTES) throw damagedProgram(`${name} is larger than any program needs`)
  return parseJson(decodeText(readExactly(member, 0, member.size, name), name), name)
}

const tensorFrom = (source: ByteSource, tensor: Tensor): OnnxTensor => ({
  type: tensor.dtype,
  shape: tensor.shape,
  data: readTensorBytes(source, tensor),
})

interface PickledTensor {
  readonly read: () => OnnxTensor
  readonly storage: string
}

/** The tensors of a file written by torch.save. */
const pickledTensors = (member: ByteSource, file = ''): Map<string, PickledTensor> =>
  new Map(
    readTorchZip(member, readZip(member)).tensors.map((tensor) => {
      const { name, dtype, shape, strides, byteOffset } = tensor
      const storage = JSON.stringify([file, dtype, shape, strides, byteOffset])
      return [name, { read: () => tensorFrom(member, tensor), storage }]
    }),
  )

const rawTensor = (member: ByteSource, path: string, entry: JsonObject, bigEndian: boolean): OnnxTensor => {
  const meta = metaOf(entry.tensor_meta)
  const fixed = (sizes: readonly unknown[]) =>
    sizes.map((size) => {
      if (typeof size !== 'number') throw damagedProgram(`the weight ${showName(path)} has a shape that is not fixed`)
      return size
    })
  const shape = requireShape(fixed(meta.shape), path)
  const [offset = 0, ...strides] = fixed([meta.offset, ...meta.strides])
  requireInside({ dtype: meta.type, shape, strides, offset }, member.size, path)
  const byteOffset = offset * BYTES_OF[meta.type]
  return tensorFrom(member, { name: path, dtype: meta.type, shape, strides, byteOffset, bigEndian, deflated: null })
}

/** PyTorch 2.8 and later: `models/model.json`, and each weight's storage as its own member. */
const readNew = (members: Members, model: string): TorchArchive => {
  const order = members.get('byteorder')
  const bigEndian = order !== undefined && decodeText(order.read(0, Math.min(order.size, 3)), 'byteorder') === 'big'
  const readers = new Map<string, () => OnnxTensor | undefined>()
  const storages = new Map<string, () => string>()
  for (const folder of ['constants', 'weights']) {
    const config = `data/${folder}/${model}_${folder}_config.json`
    if (!members.names.includes(config)) continue
    for (const [path, value] of Object.entries(asObject(asObject(jsonOf(members, config), config).config, config))) {
      const entry = asObject(value, `the weight ${showName(path)}`)
      const member = members.get(`data/${folder}/${asText(entry.path_name, 'the place of a weight')}`)
      if (entry.use_pickle !== true)
        storages.set(path, () => JSON.stringify([folder, entry.path_name, metaOf(entry.tensor_meta)]))
      readers.set(path, () => {
        if (member === undefined) throw damagedProgram(`the data of the weight ${showName(path)} is missing`)
        if (entry.use_pickle !== true) return rawTensor(member, path, entry, bigEndian)
        return [...pickledTensors(member).values()][0]?.read()
      })
    }
  }
  return {
    program: programOf(jsonOf(members, `models/${model}.json`)),
    weight: (path) => readers.get(path)?.(),
    storageOf: (path) => storages.get(path)?.(),
  }
}

/** PyTorch 2.1 to 2.7: the program next to files of torch.save. */
const readOld = (members: Members): TorchArchive => {
  let opened: Map<string, PickledTensor> | undefined
  const open = () => {
    const found = ['serialized_constants.pt', 'serialized_state_dict.pt'].flatMap((file) => {
      const member = members.get(file)
      // A file without tensors is an empty dictionary, which is not a weight file.
      if (member === undefined || !readZip(member).some(({ name }) => /\/data\/\d+$/.test(name))) return []
      return [...pickledTensors(member, file)]
    })
    return new Map(found)
  }
  const find = (path: string) => {
    opened ??= open()
    return opened.get(path)
  }
  return {
    program: programOf(jsonOf(members, OLD_PROGRAM)),
    weight: (path) => find(path)?.read(),
    storageOf: (path) => find(path)?.storage,
  }
}

const modelIn = (names: readonly string[]): string | undefined =>
  names.map((name) => /^models\/([^/]+)\.json$/.exec(name)?.[1]).find((model) => model !== undefined)

/** True for TorchScript, which is refused with advice on what to export instead. */
export const isTorchScript = (names: readonly string[]): boolean =>
  names.some((name) => /^[^/]+\/(constants\.pkl$|code\/)/.test(name))

const whatInstead = (source: ByteSource, entries: readonly ZipEntry[]): string => {
  if (isTorchScript(entries.map(({ name }) => name))) {
    return `The file is TorchScript, whose code is not run here. ${HOW_TO_EXPORT}`
  }
  if (findTorchPickle(entries) !== undefined) {
    return (
      `The file is a state dict: weights without a graph. ${HOW_TO_EXPORT} ` +
      'One such file is enough: the weights of others are put into its graph.'
    )
  }
  return `The file is ${titleOf(detectFormat(source))}, not an exported PyTorch program. ${HOW_TO_EXPORT}`
}

/** Opens a `.pt2` file of torch.export.save. Throws bad_request; for other PyTorch files, says what they are and what works. */
export const readArchive = (source: ByteSource): TorchArchive => {
  const entries = source.size >= 4 && startsLikeZip(source.read(0, 4)) ? readZip(source) : []
  if (!looksExported(entries.map(({ name }) => name))) throw badRequest(whatInstead(source, entries))
  const isOld = entries.some(({ name }) => name === OLD_PROGRAM)
  // The new format has a single top-level folder named like the file.
  const plain = (name: string) => (isOld ? name : name.replace(/^[^/]+\/(?=(?:data|models)\/|byteorder$)/, ''))
  const byName = new Map(entries.map((entry) => [plain(entry.name), entry]))
  const members: Members = {
    names: [...byName.keys()],
    get: (name) => {
      const entry = byName.get(name)
      return entry && memberOf(source, entry)
    },
  }
  if (isOld) return readOld(members)
  const model = modelIn(members.names)
  if (model === undefined) throw damagedProgram('it has no program')
  return readNew(members, model)
}
