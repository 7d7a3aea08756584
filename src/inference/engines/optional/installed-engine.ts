import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../../../domain/is-object.ts'
import { jsonOrNull } from '../../../domain/parse-json.ts'
import { exists } from '../../../platform/files/missing-file.ts'
import { InferenceError } from '../../errors.ts'
import { CUDA, installLine, type OptionalEngine, VULKAN } from './optional-engine.ts'

/** The state of an optional engine. */
export type EngineState =
  | { readonly state: 'installed'; readonly folder: string; readonly modulePath: string; readonly bytes: number | null }
  | { readonly state: 'missing' }
  | { readonly state: 'damaged'; readonly folder: string; readonly fault: string }

const readJson = async (path: string): Promise<Readonly<Record<string, unknown>> | null> => {
  const value = jsonOrNull(await readFile(path, 'utf8').catch(() => ''))
  return isObject(value) ? value : null
}

/** Returns the fault of the packages in an engine's folder; null if they are the ones that this program was made for. */
export const faultOf = async (part: OptionalEngine, folder: string): Promise<string | null> => {
  for (const [name, requested] of Object.entries(part.packages)) {
    const version = (await readJson(join(folder, 'node_modules', name, 'package.json')))?.version
    if (version === undefined) return `${name} ${requested} is missing`
    if (version !== requested) return `it has ${name} ${String(version)} instead of ${requested}`
  }
  const path = modulePathOf(part, folder)
  return (await stat(path).catch(() => null))?.isFile() ? null : `${path} is missing`
}

export const modulePathOf = ({ module }: OptionalEngine, folder: string): string =>
  join(folder, 'node_modules', module.name, module.file)

/** @param engines the folder of optional engines */
export const engineState = async (part: OptionalEngine, engines: string): Promise<EngineState> => {
  const folder = join(engines, part.folder)
  if (!(await exists(folder))) return { state: 'missing' }
  const fault = await faultOf(part, folder)
  if (fault !== null) return { state: 'damaged', folder, fault }
  const bytes = (await readJson(join(folder, 'part.json')))?.bytes
  return {
    state: 'installed',
    folder,
    modulePath: modulePathOf(part, folder),
    bytes: typeof bytes === 'number' ? bytes : null,
  }
}

/**
 * Returns the file to import an engine from.
 * @throws InferenceError engine_missing, with the install command
 */
export const requireEngine = async (part: OptionalEngine, engines: string): Promise<string> => {
  const found = await engineState(part, engines)
  if (found.state === 'installed') return found.modulePath
  const what = part.names[0]!
  throw new InferenceError(
    'engine_missing',
    found.state === 'missing'
      ? `${what} is not installed. Install it: ${installLine(part)}`
      : `${what} in ${found.folder} is damaged: ${found.fault}. Install it again: ${installLine(part)}`,
  )
}

const NVIDIA_DRIVERS = ['/proc/driver/nvidia/version', 'C:\\Windows\\System32\\nvcuda.dll']

/** Returns the module of an installed GPU build of llama.cpp: CUDA with an NVIDIA driver, otherwise Vulkan; null if none. */
export const llamaGpuModule = async (engines: string): Promise<string | null> => {
  for (const part of NVIDIA_DRIVERS.some((path) => existsSync(path)) ? [CUDA, VULKAN] : [VULKAN]) {
    const found = await engineState(part, engines)
    if (found.state === 'installed') return found.modulePath
  }
  return null
}
