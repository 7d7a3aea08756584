import { readdirSync, readFileSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { ToolSyntax } from '../../structured-output/tool-syntax.ts'
import type { EngineProgram } from '../child/engine-process.ts'

/** The process of a GGUF model. */
export const LLAMA_PROGRAM: EngineProgram = {
  entry: { importMetaUrl: import.meta.url, file: 'engine.process' },
  // With more threads than one in libuv's pool each step may run on another one, and the cores' caches are cold.
  env: { UV_THREADPOOL_SIZE: '1' },
}

/** Weights of this size keep all cores busy; with smaller ones the cores mostly wait for each other and for the server. */
const LARGE_BYTES = 256 * 2 ** 20

const CPUS = '/sys/devices/system/cpu'

/** Two threads of one core are slower than one: they share what computes. Known on Linux; elsewhere every processor counts. */
const physicalCores = (): number => {
  try {
    const cpus = readdirSync(CPUS).filter((name) => /^cpu\d+$/.test(name))
    const cores = new Set(cpus.map((cpu) => readFileSync(`${CPUS}/${cpu}/topology/thread_siblings_list`, 'utf8')))
    return cores.size || availableParallelism()
  } catch {
    return availableParallelism()
  }
}

/** How many threads compute with the model in this file: all cores for a large one, else one is left to the server. */
export const threadCountFor = (path: string): number => {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const available = availableParallelism()
  return size >= LARGE_BYTES ? Math.min(physicalCores(), available) : Math.max(1, available - 1)
}

/** A second way to say several tokens at once. */
export interface DraftOptions {
  readonly kind: 'draft-model' | 'prompt-lookup' | 'first-layers'
  /** The GGUF file of the draft model; of no use to prompt lookup. */
  readonly path?: string
  /** How many tokens are proposed at most. */
  readonly tokens?: number
}

export interface LlamaOptions {
  /** As the user named it. */
  readonly name: string
  readonly path: string
  /** All cores for a model of 256 MiB or more, else one is left to the server, unless told otherwise. */
  readonly threads?: number
  /** Of one choice: prompt and answer. As many as the model was trained for, at most 4096 and what memory allows. */
  readonly contextTokens?: number
  /** Eight, or four where eight would take more than 256 MiB. */
  readonly slots?: number
  /** For states of prompts that are no longer running; 0 switches the reuse of prompts off. */
  readonly cacheMegabytes: number
  readonly draft?: DraftOptions | null
  /** LoRA adapters in GGUF files, whose changes are added up. */
  readonly lora?: readonly string[]
  /** The file of an installed build for graphics cards; null: the processor. */
  readonly gpuModule?: string | null
  readonly log: (line: string) => void
}

/** What the process in which the model runs is told at its start. */
export interface Settings {
  readonly path: string
  readonly threads: number
  readonly contextTokens: number | null
  readonly slots: number | null
  readonly cacheBytes: number
  readonly draft: DraftOptions | null
  readonly lora: readonly string[]
  readonly gpuModule: string | null
}

/** What that process found once the model was loaded. */
export interface ModelFacts {
  readonly parameters: number | null
  readonly contextTokens: number
  readonly slots: number
  readonly memoryBytes: number
  /** null: it makes embeddings, and does not chat. */
  readonly toolSyntax: ToolSyntax | null
}

export const settingsOf = (options: LlamaOptions): Settings => ({
  path: options.path,
  threads: options.threads ?? threadCountFor(options.path),
  contextTokens: options.contextTokens ?? null,
  slots: options.slots ?? null,
  cacheBytes: options.cacheMegabytes * 2 ** 20,
  draft: options.draft ?? null,
  lora: options.lora ?? [],
  gpuModule: options.gpuModule ?? null,
})
