import { readdirSync, readFileSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { ToolSyntax } from '../../structured-output/tool-syntax.ts'
import type { EngineProgram } from '../child/engine-process.ts'

/** The process for a GGUF model. */
export const LLAMA_PROGRAM: EngineProgram = {
  entry: { importMetaUrl: import.meta.url, file: 'engine.process' },
  // With more than one libuv thread, steps could run on different threads with cold CPU caches.
  env: { UV_THREADPOOL_SIZE: '1' },
}

/** Weights of this size keep all cores busy. With smaller ones, cores mostly wait for each other and for the server. */
const LARGE_BYTES = 256 * 2 ** 20

const CPUS = '/sys/devices/system/cpu'

/** Counts cores rather than hardware threads, which share a core's units and are slower together. Only Linux reports cores. */
const physicalCores = (): number => {
  try {
    const cpus = readdirSync(CPUS).filter((name) => /^cpu\d+$/.test(name))
    const cores = new Set(cpus.map((cpu) => readFileSync(`${CPUS}/${cpu}/topology/thread_siblings_list`, 'utf8')))
    return cores.size || availableParallelism()
  } catch {
    return availableParallelism()
  }
}

/** Returns the number of compute threads for a model: all cores for a large one, otherwise one less, for the server. */
export const threadCountFor = (path: string): number => {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const available = availableParallelism()
  return size >= LARGE_BYTES ? Math.min(physicalCores(), available) : Math.max(1, available - 1)
}

/** Settings of speculative decoding. */
export interface DraftOptions {
  readonly kind: 'draft-model' | 'prompt-lookup' | 'first-layers'
  /** The draft model's GGUF file; prompt lookup ignores it. */
  readonly path?: string
  /** The maximum number of proposed tokens. */
  readonly tokens?: number
}

export interface LlamaOptions {
  /** As the user named it. */
  readonly name: string
  readonly path: string
  /** By default all cores for a model of 256 MiB or more, otherwise one less, for the server. */
  readonly threads?: number
  /** For the prompt and answer of one choice. By default as many as in training, up to 4096 and what memory allows. */
  readonly contextTokens?: number
  /** By default eight, or four if eight would take more than 256 MiB. */
  readonly slots?: number
  /** For saved states of prompts that are no longer running; 0 disables the prompt cache. */
  readonly cacheMegabytes: number
  readonly draft?: DraftOptions | null
  /** GGUF files of LoRA adapters; their changes are added up. */
  readonly lora?: readonly string[]
  /** The module of an installed build for graphics cards; null for the CPU. */
  readonly gpuModule?: string | null
  readonly log: (line: string) => void
}

/** The settings sent to the model's process when it starts. */
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

/** The model's properties that the process reports after loading. */
export interface ModelFacts {
  readonly parameters: number | null
  readonly contextTokens: number
  readonly slots: number
  readonly memoryBytes: number
  /** null for an embedding model, which cannot chat. */
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
