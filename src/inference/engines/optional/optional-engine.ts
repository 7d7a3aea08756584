import { join } from 'node:path'
import { serviceFolder } from '../../../platform/files/user-folder.ts'

/** A large optional component: npm packages in a separate folder, installed on demand. */
export interface OptionalEngine {
  /** The name of its folder. */
  readonly folder: string
  /** Its names for `svc engines install`. */
  readonly names: readonly string[]
  /** Exact versions, because newer ones have not been tested. */
  readonly packages: Readonly<Record<string, string>>
  /** The package and its file to import. */
  readonly module: { readonly name: string; readonly file: string }
  /** The approximate size on disk in megabytes, shown before installation. */
  readonly megabytes: number
  /** Lines of its .npmrc. */
  readonly npmrc: readonly string[]
  /** Files and folders under node_modules that are never loaded. */
  readonly unused: readonly string[]
}

const napi = (os: string, arch: string): string => `onnxruntime-node/bin/napi-v6/${os}/${arch}`

const OTHER_PLATFORMS = ['darwin', 'linux', 'win32']
  .flatMap((os) => ['arm64', 'x64'].map((arch) => ({ os, arch })))
  .filter(({ os, arch }) => os !== process.platform || arch !== process.arch)
  .map(({ os, arch }) => napi(os, arch))

export const ONNXRUNTIME: OptionalEngine = {
  folder: 'onnxruntime',
  names: ['onnxruntime'],
  packages: { '@huggingface/transformers': '4.3.1' },
  module: { name: '@huggingface/transformers', file: 'dist/transformers.node.mjs' },
  megabytes: 100,
  // Without this, the install script tries to download CUDA's files from elsewhere, and fails offline.
  npmrc: ['onnxruntime-node-install=skip'],
  // The build for web pages and the libraries of other systems are four fifths of what npm installs.
  unused: ['onnxruntime-web', ...OTHER_PLATFORMS],
}

/** The build that works with Node 20. */
const LITERT_BUILD = 'litert_wasm_compat_internal'

export const LITERT: OptionalEngine = {
  folder: 'litert',
  names: ['litert'],
  packages: { '@litertjs/core': '2.5.3' },
  module: { name: '@litertjs/core', file: `wasm/${LITERT_BUILD}.js` },
  megabytes: 10,
  npmrc: [],
  // The loader for web pages, and the builds for other browsers.
  unused: [
    '@litertjs/wasm-utils',
    '@litertjs/core/dist',
    ...['', '_jspi', '_threaded'].flatMap((build) =>
      ['js', 'wasm'].map((ending) => `@litertjs/core/wasm/litert_wasm${build}_internal.${ending}`),
    ),
  ],
}

/** The version of llama.cpp's builds, which node-llama-cpp publishes. It is also in package.json. */
export const LLAMA_VERSION = '3.22.1'

const CPU_BUILDS: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'linux-arm': 'linux-armv7l',
  'linux-riscv64': 'linux-riscv64',
  'darwin-arm64': 'mac-arm64-metal',
  'darwin-x64': 'mac-x64',
  'win32-x64': 'win-x64',
  'win32-arm64': 'win-arm64',
}

/** Returns the package with llama.cpp for this system's CPU; null if there is none. */
export const llamaBuild = (): string | null => {
  const system = CPU_BUILDS[`${process.platform}-${process.arch}`]
  return system === undefined ? null : `@node-llama-cpp/${system}`
}

/** The systems with llama.cpp builds for graphics cards, and their names in packages. */
const GPU_SYSTEMS: Readonly<Record<string, string>> = { 'linux-x64': 'linux-x64', 'win32-x64': 'win-x64' }
const GPU_SYSTEM = GPU_SYSTEMS[`${process.platform}-${process.arch}`]

const gpuBuild = (kind: 'cuda' | 'vulkan', megabytes: number): OptionalEngine => {
  const name = `@node-llama-cpp/${GPU_SYSTEM ?? 'linux-x64'}-${kind}`
  const names = kind === 'cuda' ? [name, `${name}-ext`] : [name]
  return {
    folder: `llama.cpp-${kind}`,
    names: [kind, `llama.cpp-${kind}`],
    packages: Object.fromEntries(names.map((each) => [each, LLAMA_VERSION])),
    module: { name, file: 'dist/index.js' },
    megabytes,
    npmrc: [],
    unused: [],
  }
}

export const CUDA = gpuBuild('cuda', 560)
export const VULKAN = gpuBuild('vulkan', 110)

export const OPTIONAL_ENGINES: readonly OptionalEngine[] = [
  ONNXRUNTIME,
  LITERT,
  ...(GPU_SYSTEM === undefined ? [] : [CUDA, VULKAN]),
]

export const optionalEngineNamed = (name: string): OptionalEngine | null =>
  OPTIONAL_ENGINES.find(({ names }) => names.includes(name)) ?? null

export const installLine = ({ names }: OptionalEngine): string => `svc engines install ${names[0]}`

/** Returns the folder of optional engines: `engines` in SERVICE_HOME, which defaults to ~/.svc. */
export const enginesFolder = (env: Readonly<Record<string, string | undefined>>): string =>
  join(serviceFolder(env.SERVICE_HOME), 'engines')
