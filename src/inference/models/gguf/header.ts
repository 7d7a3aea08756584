import { closeSync, fstatSync, openSync } from 'node:fs'
import { ownEntry } from '../../../domain/own-entry.ts'
import { InferenceError } from '../../errors.ts'
import {
  CHAT_ARCHITECTURES,
  EMBEDDING_ARCHITECTURES,
  OTHER_ARCHITECTURES,
  RECURRENT_ARCHITECTURES,
} from './architectures.ts'
import { type GgufContainer, readContainer, readMagic } from './container.ts'
import { type Dimensions, metadataOf, readDimensions } from './dimensions.ts'
import { HeaderReader } from './header-reader.ts'
import { invalidModel, quoted } from './invalid-model.ts'
import { checkType } from './tensors.ts'
import { readVocabulary } from './vocabulary.ts'

/** The header of a chat or embedding model. What llama.cpp itself refuses, such as a missing tensor, is not checked. */
export interface GgufHeader extends GgufContainer, Dimensions {
  readonly path: string
  readonly architecture: string
  /** The display name in the file. */
  readonly modelName: string | null
  /** The total number of weights. */
  readonly parameters: number
  readonly vocabulary: number
  readonly chatTemplate: string | null
  /** Some blocks keep state, so sequences cannot be cut back to an earlier token. */
  readonly recurrent: boolean
  /** It computes embeddings and cannot chat. */
  readonly embeds: boolean
  /** Above 1, the weights continue in further files, whose tensors are not listed here. */
  readonly files: number
}

/**
 * Reads the header of a GGUF file (version 2 or 3), and checks everything that would make llama.cpp abort or read out of
 * bounds.
 * @throws InferenceError invalid_model that names the file, the key or tensor, and the fault
 */
export const readGgufHeader = async (path: string): Promise<GgufHeader> => reading(path, readHeader)

/** @throws InferenceError invalid_model if the file does not begin as a GGUF file */
export const requireGguf = (path: string): void => reading(path, readMagic)

/** Returns how many files the model of a GGUF file is split into; 1 if its header cannot be read, which an engine explains. */
export const readSplitCount = (path: string): number => {
  try {
    return reading(path, (reader) => splitCountIn(readContainer(reader)))
  } catch (error) {
    if (error instanceof InferenceError) return 1
    throw error
  }
}

export const reading = <Result>(path: string, read: (reader: HeaderReader) => Result, open = openModel): Result => {
  const file = open(path)
  try {
    const status = fstatSync(file)
    if (!status.isFile()) throw invalidModel(path, 'is a folder or a device, not a file.')
    return read(new HeaderReader(path, file, status.size))
  } finally {
    closeSync(file)
  }
}

function openModel(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    if (code === 'ENOENT')
      throw new InferenceError('model_not_found', `There is no model file at '${path}'.`, { cause })
    throw new InferenceError('invalid_model', `The model file '${path}' cannot be opened (${code}).`, { cause })
  }
}

const readHeader = (reader: HeaderReader): GgufHeader => {
  const { path } = reader
  const container = readContainer(reader)
  const metadata = metadataOf(path, container)
  const architecture = readArchitecture(path, metadata)
  const recurrent = RECURRENT_ARCHITECTURES.has(architecture)
  const dimensions = readDimensions(path, metadata, architecture, recurrent)
  const vocabulary = readVocabulary(reader, container, metadata)
  const files = readFileCount(path, container)
  for (const tensor of container.tensors) checkType(path, tensor)
  return {
    ...container,
    ...dimensions,
    path,
    architecture,
    modelName: metadata.text('general.name') ?? null,
    parameters: container.tensors.reduce((sum, { elements }) => sum + elements, 0),
    vocabulary,
    chatTemplate: metadata.text('tokenizer.chat_template') ?? null,
    recurrent,
    embeds: readEmbeds(path, metadata, architecture),
    files,
  }
}

const readArchitecture = (path: string, metadata: ReturnType<typeof metadataOf>): string => {
  const kind = metadata.text('general.type')
  if (kind === 'adapter')
    throw invalidModel(path, 'is a LoRA adapter, not a model. Name its base model, and give the adapter with --lora.')
  const architecture = metadata.text('general.architecture')
  if (architecture === undefined) throw metadata.missing('general.architecture')
  if (CHAT_ARCHITECTURES.has(architecture) || EMBEDDING_ARCHITECTURES.has(architecture)) return architecture
  const other = ownEntry(OTHER_ARCHITECTURES, architecture)
  throw invalidModel(
    path,
    other === undefined
      ? `has the architecture ${quoted(architecture)}, which this llama.cpp does not know. It knows ${[...CHAT_ARCHITECTURES].join(', ')}.`
      : `has the architecture '${architecture}': it is ${other} and cannot be used for chat.`,
  )
}

/** llama.h: LLAMA_POOLING_TYPE_RANK. Lower types are none, mean, CLS, and last. llama.cpp aborts on higher ones. */
const RANK = 4

const readEmbeds = (path: string, metadata: ReturnType<typeof metadataOf>, architecture: string): boolean => {
  const key = `${architecture}.pooling_type`
  const type = metadata.count(key, 0, RANK) ?? 0
  const isEmbedding = EMBEDDING_ARCHITECTURES.has(architecture)
  if (isEmbedding && type === RANK)
    throw invalidModel(path, `is a reranker (${RANK} for '${key}'), which is not supported: it computes no embeddings.`)
  return isEmbedding || (type > 0 && type < RANK)
}

const splitCountIn = ({ metadata }: GgufContainer): number =>
  Math.max(1, Number(metadata.get('split.count')?.value ?? 1))

const readFileCount = (path: string, container: GgufContainer): number => {
  const count = splitCountIn(container)
  const number = Number(container.metadata.get('split.no')?.value ?? 0)
  if (count > 1 && number !== 0)
    throw invalidModel(
      path,
      `is part ${number + 1} of ${count}. Give the path of the first part; the others are found next to it.`,
    )
  return count
}
