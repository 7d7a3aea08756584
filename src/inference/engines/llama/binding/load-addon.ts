import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { InferenceError } from '../../../errors.ts'
import { LLAMA_VERSION, llamaBuild } from '../../optional/optional-engine.ts'
import { type Addon, missingFromAddon } from './addon.ts'

// llama.cpp's levels: 1 fatal, 2 error, 3 warning.
const ERRORS = 2

const MAX_ERRORS = 10_000
let errors = ''

/** Returns llama.cpp's error messages since the last call. A process loads only one build of it. */
export const takeErrors = (): string => {
  const taken = errors
  errors = ''
  return taken
}

/** Returns a build's `dist/index.js`, which is next to `bins/<build>/llama-addon.node` and its libraries. */
const buildFile = (gpuModule: string | null): string => {
  if (gpuModule !== null) return gpuModule
  const name = llamaBuild()
  const platform = `${process.platform}-${process.arch}`
  if (name === null) throw new InferenceError('engine_missing', `There is no llama.cpp for ${platform}.`)
  try {
    return createRequire(import.meta.url).resolve(name)
  } catch (error) {
    const message = `llama.cpp is not installed: run npm install ${name}@${LLAMA_VERSION}.`
    throw new InferenceError('engine_missing', message, { cause: error })
  }
}

/**
 * Loads llama.cpp from the package of a build: the one for this CPU, or `gpuModule`, an installed one for graphics cards. A
 * process can load only one build, so it is not possible to try one first.
 */
export const loadAddon = async (gpuModule: string | null): Promise<Addon> => {
  const file = buildFile(gpuModule)
  const root = dirname(dirname(file))
  const folder = join(root, 'bins', basename(root))
  let addon: unknown
  try {
    addon = createRequire(file)(join(folder, 'llama-addon.node'))
  } catch (error) {
    throw new InferenceError('engine_missing', `llama.cpp in ${root} cannot be loaded: ${String(error)}`, {
      cause: error,
    })
  }
  const missing = missingFromAddon(addon)
  if (missing.length > 0) {
    throw new InferenceError(
      'engine_missing',
      `llama.cpp in ${root} lacks ${missing.join(', ')}. Version ${LLAMA_VERSION} of its package is needed.`,
    )
  }
  const loaded = addon as Addon
  loaded.markLoaded()
  loaded.setLogger((_level, message) => {
    errors = (errors + message).slice(-MAX_ERRORS)
    process.stderr.write(message)
  })
  loaded.setLoggerLogLevel(ERRORS)
  loaded.loadBackends()
  const lacksBackend = () => loaded.getGpuType() === undefined || (gpuModule !== null && loaded.getGpuType() === false)
  if (lacksBackend()) loaded.loadBackends(folder)
  // Backends for older graphics cards are in a separate package next to the build.
  const fallback = join(`${root}-ext`, 'bins', `${basename(root)}-ext`, 'fallback')
  if (lacksBackend() && existsSync(fallback)) loaded.loadBackends(fallback)
  await loaded.init()
  return loaded
}
