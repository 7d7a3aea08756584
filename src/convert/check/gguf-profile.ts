import { closeSync, fstatSync, openSync } from 'node:fs'
import { ownEntry } from '../../domain/own-entry.ts'
import { CHAT_ARCHITECTURES, OTHER_ARCHITECTURES } from '../../inference/models/gguf/architectures.ts'
import { type GgufContainer, readContainer } from '../../inference/models/gguf/container.ts'
import { readGgufHeader } from '../../inference/models/gguf/header.ts'
import { HeaderReader } from '../../inference/models/gguf/header-reader.ts'
import type { LanguageModel, ModelProfile } from './model-profile.ts'

/** The number of prompt tokens that llama.cpp processes at a time. */
const BATCH = 512

/** Throws InferenceError invalid_model for a damaged file. */
export const ggufProfile = async (path: string): Promise<ModelProfile> => {
  const container = readFile(path)
  const named = container.metadata.get('general.architecture')?.value
  const architecture = String(named)
  const isAdapter = container.metadata.get('general.type')?.value === 'adapter'
  const sum = (of: (tensor: GgufContainer['tensors'][number]) => number) =>
    container.tensors.reduce((total, tensor) => total + of(tensor), 0)
  const common = {
    title: isAdapter ? 'a LoRA adapter for GGUF models' : 'a GGUF model',
    parameters: sum(({ elements }) => elements),
    weightBytes: sum(({ bytes }) => bytes),
    operators: null,
    multiplications: sum(({ name, elements }) =>
      name === 'token_embd.weight' ? 0 : elements * activeShare(name, container),
    ),
  }
  const role = Object.hasOwn(OTHER_ARCHITECTURES, architecture)
    ? ownEntry(OTHER_ARCHITECTURES, architecture)
    : undefined
  const isKnown = CHAT_ARCHITECTURES.has(architecture)
  if (!isKnown || isAdapter) {
    const reason =
      named === undefined
        ? 'The file does not name its architecture (general.architecture): convert or download it again.'
        : `llama.cpp does not know the architecture '${architecture}'.`
    const note = isAdapter ? 'It runs with its base model.' : role === undefined ? reason : `It is ${role}.`
    const isSupported = isAdapter || role !== undefined
    const runtimes = [{ runtime: 'llama.cpp' as const, isSupported, unsupportedOperators: [], note }]
    return { ...common, multiplications: null, activationBytes: null, languageModel: null, runtimes, notes: [] }
  }
  const header = await readGgufHeader(path)
  const widest = Math.max(...header.feedForward, header.embedding)
  const languageModel: LanguageModel = {
    architecture,
    contextTokens: header.contextTokens,
    cacheBytesPerToken: header.keyValueHeads.reduce(
      (total, heads) => total + heads * (header.keyLength + header.valueLength) * 2,
      0,
    ),
    // Each token reads only one row of the embedding, unless the embedding is also the output.
    bytesPerToken: sum(({ name, bytes }) =>
      name === 'token_embd.weight' && hasOutput(container) ? 0 : bytes * activeShare(name, container),
    ),
  }
  const split = header.files > 1 ? [`It is the first of ${header.files} files; the others are not counted.`] : []
  return {
    ...common,
    activationBytes: BATCH * (header.embedding * 4 + widest * 2) * 4 + header.vocabulary * 4,
    languageModel,
    runtimes: [{ runtime: 'llama.cpp', isSupported: true, unsupportedOperators: [], note: null }],
    notes: split,
  }
}

const readFile = (path: string): GgufContainer => {
  const file = openSync(path, 'r')
  try {
    return readContainer(new HeaderReader(path, file, fstatSync(file).size))
  } finally {
    closeSync(file)
  }
}

const hasOutput = ({ tensors }: GgufContainer): boolean => tensors.some(({ name }) => name === 'output.weight')

/** The share of a tensor that is multiplied per token: for a mixture of experts, the share of active experts. */
const activeShare = (name: string, { metadata }: GgufContainer): number => {
  if (!name.includes('_exps.')) return 1
  const architecture = String(metadata.get('general.architecture')?.value)
  const all = Number(metadata.get(`${architecture}.expert_count`)?.value ?? 1)
  const used = Number(metadata.get(`${architecture}.expert_used_count`)?.value ?? all)
  return all > 0 ? Math.min(1, used / all) : 1
}
