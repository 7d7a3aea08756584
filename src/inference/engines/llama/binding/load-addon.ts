import { existsSync } from 'node:fs'
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

/** Builds for graphics cards, which `svc engines install` brings: CUDA where NVIDIA's driver is, else Vulkan. */
const GPU_BUILDS: Readonly<
  Record<string, { readonly driver: string; readonly cuda: string; readonly vulkan: string }>
> = {
  'linux-x64': { driver: '/proc/driver/nvidia/version', cuda: 'linux-x64-cuda', vulkan: 'linux-x64-vulkan' },
  'win32-x64': { driver: 'C:\\Windows\\System32\\nvcuda.dll', cuda: 'win-x64-cuda', vulkan: 'win-x64-vulkan' },
}

interface Build {
  readonly name: string
  /** The file of node-llama-cpp that has it among its dependencies. */
  readonly of: string
  readonly mend: string
}

/** One process can hold one build, so that none can be tried out: the one that should run here. */
const buildFor = (platform: string, gpuModule: string | null): Build => {
  const gpu = GPU_BUILDS[platform]
  if (gpuModule !== null && gpu !== undefined) {
    const name = existsSync(gpu.driver) ? gpu.cuda : gpu.vulkan
    return { name, of: gpuModule, mend: 'svc engines install llama.cpp-cuda' }
  }
  const name = BUILDS[platform]
  if (name === undefined) throw new InferenceError('engine_missing', `There is no llama.cpp for ${platform}.`)
  const ours = createRequire(import.meta.url)
  return { name, of: ours.resolve('node-llama-cpp'), mend: `npm install @node-llama-cpp/${name}@${VERSION}` }
}

/**
 * Loads llama.cpp as node-llama-cpp's packages bring it: from `gpuModule`, an installed node-llama-cpp with builds for graphics
 * cards, where there is one. The library's own way there starts another process first, to see whether the addon crashes; this
 * process is that process.
 */
export const loadAddon = async (gpuModule: string | null): Promise<Addon> => {
  const build = buildFor(`${process.platform}-${process.arch}`, gpuModule)
  let addon: unknown
  let folder: string
  try {
    // The builds are dependencies of node-llama-cpp, and found from there.
    const theirs = createRequire(build.of)
    folder = join(dirname(theirs.resolve(`@node-llama-cpp/${build.name}`)), '..', 'bins', build.name)
    addon = theirs(join(folder, 'llama-addon.node'))
  } catch (error) {
    throw new InferenceError('engine_missing', `llama.cpp is not installed: run ${build.mend}. (${String(error)})`, {
      cause: error,
    })
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
