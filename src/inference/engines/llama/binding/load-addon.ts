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

/** What llama.cpp said was wrong since this was last asked: one process holds one build of it. */
export const takeErrors = (): string => {
  const taken = errors
  errors = ''
  return taken
}

/** The file of a build's package: `dist/index.js`, beside `bins/<build>/llama-addon.node` and the libraries it loads. */
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
 * Loads llama.cpp from the package of a build: the one for this processor, or `gpuModule`, an installed one for graphics cards.
 * One process can hold one build, so none can be tried out first.
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
  // Backends for older graphics cards are in a package of their own, beside the build.
  const fallback = join(`${root}-ext`, 'bins', `${basename(root)}-ext`, 'fallback')
  if (lacksBackend() && existsSync(fallback)) loaded.loadBackends(fallback)
  await loaded.init()
  return loaded
}
