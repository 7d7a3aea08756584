import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { InferenceError } from '../../../errors.ts'
import { type Addon, missingFromAddon } from './addon.ts'

const VERSION = '3.22.1'
// llama.cpp's levels: 1 fatal, 2 error, 3 warning.
const ERRORS = 2

const BUILDS: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'linux-arm': 'linux-armv7l',
  'linux-riscv64': 'linux-riscv64',
  'darwin-arm64': 'mac-arm64-metal',
  'darwin-x64': 'mac-x64',
  'win32-x64': 'win-x64',
  'win32-arm64': 'win-arm64',
}

/** Apple's builds for its own processors compute on Metal. */
export const onMetal = process.platform === 'darwin' && process.arch === 'arm64'

/**
 * Loads llama.cpp as node-llama-cpp's packages bring it. The library's own way there starts another process first, to see
 * whether the addon crashes; this process is that process.
 */
export const loadAddon = async (): Promise<Addon> => {
  const platform = `${process.platform}-${process.arch}`
  const build = BUILDS[platform]
  if (build === undefined) throw new InferenceError('engine_missing', `There is no llama.cpp for ${platform}.`)
  const ours = createRequire(import.meta.url)
  let addon: unknown
  let folder: string
  try {
    // The builds are dependencies of node-llama-cpp, and found from there.
    const theirs = createRequire(ours.resolve('node-llama-cpp'))
    folder = join(dirname(theirs.resolve(`@node-llama-cpp/${build}`)), '..', 'bins', build)
    addon = theirs(join(folder, 'llama-addon.node'))
  } catch (error) {
    throw new InferenceError(
      'engine_missing',
      `llama.cpp is not installed: run npm install @node-llama-cpp/${build}@${VERSION}. (${String(error)})`,
      { cause: error },
    )
  }
  const missing = missingFromAddon(addon)
  if (missing.length > 0) {
    throw new InferenceError(
      'engine_missing',
      `node-llama-cpp ${VERSION} is needed; the one that is installed lacks ${missing.join(', ')}. Run npm ci.`,
    )
  }
  const loaded = addon as Addon
  loaded.markLoaded()
  loaded.setLogger((_level, message) => process.stderr.write(message))
  loaded.setLoggerLogLevel(ERRORS)
  loaded.loadBackends()
  if (loaded.getGpuType() === undefined) loaded.loadBackends(folder)
  await loaded.init()
  return loaded
}
